#!/usr/bin/env bash
# What an operator installs, in <target>/packages: one static, stripped binary that says its commit, a Debian package with the
# services, and checksums. Each is tried before it counts.
#
#   scripts/dist.sh [<ringside>]        the binary; default: built here with profile dist
#
# Static is the C library as well: musl's where rustup has that target and there is a musl-gcc, else glibc's, whose names of hosts
# come from /etc/hosts and DNS alone. Wants dpkg-deb for the package.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/build.sh
find_target
commit=$(git rev-parse --short=12 HEAD)
# Later commits are later versions.
made=$(git log -1 --format=%cd --date=format:%Y%m%d%H%M%S)
[ -z "$(git status --porcelain --untracked-files=no)" ] || commit=$commit-changed
machine=$(uname -m)
kind=gnu
if rustup target list --installed | grep -q "^$machine-unknown-linux-musl$" && command -v musl-gcc >/dev/null 2>&1; then kind=musl; fi
built=${1:-}
if [ -z "$built" ]; then
    CARGO_INCREMENTAL=0 RUSTFLAGS="-C target-feature=+crt-static" CARGO_PROFILE_DIST_STRIP=symbols CARGO_PROFILE_DIST_DEBUG=false BUILD_COMMIT=$commit \
        cargo build --quiet --locked --profile dist --target "$machine-unknown-linux-$kind" -p ringside-gateway --bin ringside
    built=$target/$machine-unknown-linux-$kind/dist/ringside
fi

packages=$target/packages
rm -rf "$packages"
mkdir -p "$packages"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
name=ringside-$version-$machine-linux
install -m 0755 "$built" "$packages/$name"
said=$("$packages/$name" --version)
[ "$said" = "ringside $version ($commit)" ] || { echo "--version says: $said"; exit 1; }
if readelf -d "$packages/$name" | grep -q NEEDED; then echo "$name wants libraries of the host"; exit 1; fi

# The package: services that are not started, settings that are to be filled in, the manual.
package() {
    local root=$packages/root architecture file
    architecture=$(dpkg --print-architecture)
    install -D -m 0755 "$packages/$name" "$root/usr/bin/ringside"
    install -D -m 0644 scripts/operations/production.toml "$root/etc/ringside/ringside.toml"
    for file in ringside ringside-signer; do
        mkdir -p "$root/lib/systemd/system"
        sed 's|/usr/local/bin/ringside|/usr/bin/ringside|' "scripts/operations/$file.service" >"$root/lib/systemd/system/$file.service"
    done
    mkdir -p "$root/usr/lib/sysusers.d" "$root/usr/share/man/man1" "$root/usr/share/doc/ringside"
    echo 'u ringside - "Ringside, an exchange" /var/lib/ringside' >"$root/usr/lib/sysusers.d/ringside.conf"
    "$packages/$name" manual | gzip -9n >"$root/usr/share/man/man1/ringside.1.gz"
    install -m 0644 README.md LICENSE-MIT LICENSE-APACHE scripts/operations/{README.md,runbook.md,two-cores.toml,pinned.toml,alerts.yml,grafana.json} \
        gateway/web/dist/licenses.txt "$root/usr/share/doc/ringside/" --backup=numbered
    mv "$root/usr/share/doc/ringside/README.md" "$root/usr/share/doc/ringside/operations.md"
    mv "$root/usr/share/doc/ringside/README.md.~1~" "$root/usr/share/doc/ringside/README.md"
    mkdir "$root/DEBIAN"
    cat >"$root/DEBIAN/control" <<END
Package: ringside
Version: $version+$made.$commit
Architecture: $architecture
Maintainer: Ringside
Section: net
Priority: optional
Depends: systemd
Description: an exchange in one binary: perpetual futures and spot
 Fill in /etc/ringside/ringside.toml, then: systemctl enable --now ringside.
 What is to be decided is marked "yours" there; runbook.md opens a venue step by step.
END
    echo /etc/ringside/ringside.toml >"$root/DEBIAN/conffiles"
    printf '#!/bin/sh\nset -e\nsystemd-sysusers ringside.conf\n[ ! -d /run/systemd/system ] || systemctl daemon-reload\n' >"$root/DEBIAN/postinst"
    chmod 0755 "$root/DEBIAN/postinst"
    dpkg-deb --root-owner-group --build "$root" "$packages/ringside_${version}_$architecture.deb" >/dev/null
    rm -rf "$root"
    # What is installed starts with the settings that are installed.
    dpkg-deb --extract "$packages/ringside_${version}_$architecture.deb" "$root"
    "$root/usr/bin/ringside" settings --config "$root/etc/ringside/ringside.toml" | grep -q '^\* test_deployment .* false$'
    for file in lib/systemd/system/ringside.service usr/share/man/man1/ringside.1.gz usr/share/doc/ringside/operations.md; do
        [ -s "$root/$file" ] || { echo "the package has no $file"; exit 1; }
    done
    rm -rf "$root"
}
if command -v dpkg-deb >/dev/null 2>&1; then package; else echo "skipped: the package, since there is no dpkg-deb here"; fi
(cd "$packages" && sha256sum ringside* >SHA256SUMS && sha256sum --quiet --check SHA256SUMS)
echo "$said, static by $kind, in $packages:"
(cd "$packages" && du -h --apparent-size ringside*)
