#!/usr/bin/env bash
# A real nginx in front of an exchange: thousands of sockets of fifty addresses get through it, none of them can take what is
# another's, and what one address sends over sockets does not hold up whoever trades from another. What is sent, and what is
# measured beside it, is in scripts/proxy.py. nginx is Debian's package, installed where it is absent.
#
#   scripts/proxy.sh                        5,000 sockets; the attacks, timed: an order's p99 at most doubles
#   SOCKETS=500 ROUNDS=0 scripts/proxy.sh   fewer, and the attacks once, untimed: whatever the machine does beside it
# RINGSIDE names a binary; without it one is built here. Wants a machine of its own where it is timed.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/exchange.sh
sockets=${SOCKETS:-5000}
if ! command -v nginx >/dev/null 2>&1; then
    # The level of a machine that is going down: the package then starts no server of its own.
    if ! { RUNLEVEL=1 apt-get install -y --no-install-recommends nginx-light; } >/dev/null 2>&1; then
        echo "skipped: the package nginx-light cannot be installed from here"
        exit 0
    fi
fi
# Each socket is one descriptor of the client, two of nginx and one of the exchange.
if ! ulimit -n $((sockets * 3 + 2000)) 2>/dev/null; then
    echo "skipped: $sockets sockets want $((sockets * 3 + 2000)) descriptors, and a process may have $(ulimit -Hn) here"
    exit 0
fi
build_exchange "${RINGSIDE:-}"
# A fifth of the sockets is what one address may have: of 5,000 the shipped 1,000.
start_exchange RINGSIDE_TRUSTED_PROXIES=127.0.0.1 RINGSIDE_MAX_CONNECTIONS_PER_IP=$((sockets / 5)) RINGSIDE_ACKNOWLEDGE=written \
    RINGSIDE_ORDERS_PER_MINUTE=1000000 RINGSIDE_ORDERS_PER_TEN_SECONDS=1000000
fund_traders 1000000 proxy
own_host
cat >"$folder/nginx.conf" <<NGINX
daemon off;
pid $folder/nginx.pid;
error_log $folder/nginx.log crit;
worker_processes 1;
worker_rlimit_nofile $((sockets * 3 + 2000));
events { worker_connections $((sockets * 3 + 1000)); }
http {
    access_log off;
    client_body_temp_path $folder/body;
    proxy_temp_path $folder/proxy;
    fastcgi_temp_path $folder/fastcgi;
    uwsgi_temp_path $folder/uwsgi;
    scgi_temp_path $folder/scgi;
    server {
        listen $host:20000 backlog=4096;
        location / {
            proxy_pass ${url};
            proxy_http_version 1.1;
            proxy_set_header Upgrade \$http_upgrade;
            proxy_set_header Connection \$http_connection;
            proxy_set_header X-Forwarded-For \$proxy_add_x_forwarded_for;
            proxy_read_timeout 600s;
        }
    }
}
NGINX
nginx -p "$folder" -e "$folder/nginx.log" -c "$folder/nginx.conf" &
nginx=$!
trap 'kill "$nginx" 2>/dev/null && wait "$nginx" 2>/dev/null || true
    [ -z "$exchange" ] || { kill "$exchange" && wait "$exchange"; } 2>/dev/null || true; rm -rf "$folder"' EXIT
for _ in $(seq 100); do
    ! curl -fsS "http://$host:20000/livez" >/dev/null 2>&1 || break
    sleep 0.1
done
python3 scripts/proxy.py "$url" "$host:20000" "$nginx" "$sockets" "${ROUNDS:-5}" "${keys[0]}"
kill "$nginx"
wait "$nginx" || true
end_exchange
