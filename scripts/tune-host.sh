#!/usr/bin/env bash
# Prepares a host for pinned stages: cores that nothing else runs on, the highest frequency, huge pages, interrupts elsewhere.
# Prints what it finds and what it would change, and changes nothing without --apply.
#
#   scripts/tune-host.sh                      what would change, with cores 2 to the last for the exchange
#   scripts/tune-host.sh --cores 2-7          these cores
#   scripts/tune-host.sh --huge-pages 2048    so many pages of 2 MiB, default 1024
#   sudo scripts/tune-host.sh --apply         changes it, until the next boot; prints what must go onto the kernel's command line
# ROOT names another root folder, for trying this out on a copy of /sys and /proc.
set -euo pipefail

cores= pages=1024 apply=
while [ $# -gt 0 ]; do
    case $1 in
    --cores) cores=$2 && shift ;;
    --huge-pages) pages=$2 && shift ;;
    --apply) apply=yes ;;
    *) sed -n '2,10s/^# \{0,1\}//p' "$0" && exit 2 ;;
    esac
    shift
done
root=${ROOT:-}
last=$(($(ls -d "$root"/sys/devices/system/cpu/cpu[0-9]* | wc -l) - 1))
if [ -z "$cores" ]; then
    if [ "$last" -lt 3 ]; then
        echo "this host has $((last + 1)) cores: too few to give any away; use scripts/operations/two-cores.toml and change nothing"
        exit 0
    fi
    cores=2-$last
fi
[[ $cores =~ ^[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*$ ]] || { echo "--cores wants a list such as 2-5,7"; exit 2; }
[[ $pages =~ ^[0-9]+$ ]] || { echo "--huge-pages wants a number"; exit 2; }

# The list as one number per line, and what is left for everything else.
expand() { tr , '\n' <<<"$1" | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done; }
mine=$(expand "$cores")
others=$(comm -23 <(seq 0 "$last" | sort) <(sort <<<"$mine") | sort -n | paste -sd,)
[ -n "$others" ] || { echo "a core must be left for the system"; exit 2; }
[ "$(sort -n <<<"$mine" | tail -1)" -le "$last" ] || { echo "this host has cores 0 to $last only"; exit 2; }

changes=0
# want FILE VALUE REASON: the file is to hold the value.
want() {
    local path=$root$1 now
    [ -e "$path" ] || return 0
    now=$(sed 's/.*\[\(.*\)\].*/\1/' "$path" 2>/dev/null || echo "?")
    [ "$now" != "$2" ] && [[ $now != not* ]] || return 0
    changes=$((changes + 1))
    printf '%s: %s -> %s   # %s\n' "$1" "$now" "$2" "$3"
    if [ -n "$apply" ]; then
        printf '%s\n' "$2" >"$path" || printf '  not changed: the kernel refused\n'
    fi
}

for core in $mine; do
    want "/sys/devices/system/cpu/cpu$core/cpufreq/scaling_governor" performance "no ramp of the frequency"
    for state in "$root/sys/devices/system/cpu/cpu$core/cpuidle"/state[1-9]*; do
        [ -e "$state/disable" ] || continue
        want "${state#"$root"}/disable" 1 "no deep sleep that takes long to leave"
    done
done
want /sys/devices/system/cpu/smt/control off "a sibling shares its core's caches and ports"
want /proc/sys/vm/nr_hugepages "$pages" "pages of 2 MiB for the engine's tables (setting huge_pages)"
want /sys/kernel/mm/transparent_hugepage/enabled madvise "huge pages where they are asked for, no scan of everything"
want /sys/kernel/mm/transparent_hugepage/defrag never "no stall for compaction"
want /proc/sys/vm/swappiness 0 "a page that comes back from a disk is a pause of milliseconds"
want /proc/sys/kernel/numa_balancing 0 "no faults to find out who uses a page"
want /proc/sys/kernel/timer_migration 0 "timers stay where they were set"
want /proc/sys/vm/stat_interval 120 "the statistics of memory do not wake isolated cores every second"
want /proc/sys/kernel/watchdog 0 "nor does the lockup detector"
for interrupt in "$root"/proc/irq/[0-9]*; do
    [ -e "$interrupt/smp_affinity_list" ] || continue
    now=$(expand "$(cat "$interrupt/smp_affinity_list")" | sort)
    if [ -n "$(comm -12 <(echo "$now") <(sort <<<"$mine"))" ]; then
        want "${interrupt#"$root"}/smp_affinity_list" "$others" "interrupts on other cores"
    fi
done

wanted="isolcpus=managed_irq,domain,$cores nohz_full=$cores rcu_nocbs=$cores irqaffinity=$others"
for word in $wanted; do
    if ! grep -qwF -- "$word" "$root/proc/cmdline"; then
        changes=$((changes + 1))
        echo "kernel command line: + $word   # by your boot loader, then a reboot"
    fi
done
if command -v systemctl >/dev/null 2>&1; then
    echo "to keep services off these cores: systemctl set-property system.slice AllowedCPUs=$others (and init.scope, user.slice)"
fi
if [ "$changes" = 0 ]; then
    echo "nothing to change"
elif [ -z "$apply" ]; then
    echo "$changes changes; none was made, --apply makes those above that are files"
fi
