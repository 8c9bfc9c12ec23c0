# Three members of a cluster on this machine for other scripts, which source this file after scripts/exchange.sh has set ringside, with
# folder naming a folder of theirs.
#
#   make_members HOST PORT     makes them on six ports in a row from PORT: three for clients, three for each other. What RINGSIDE_*
#                              says in the environment holds for all of them. Sets urls, an array
#   start_member N             starts member N (1 to 3); its log is $folder/N.log, its process $folder/N.pid and members[N]
#   leading                    says which one takes orders now; nothing where none does
#   await_leader               sets leader to that, once there is one
#   end_members                asks all to stop, and verifies what they left

members=() urls=() member_addresses=()

# What member $1 is started with.
member_settings() {
    member_vars=(RINGSIDE_DATA_DIR="$folder/$1" RINGSIDE_LISTEN="${member_addresses[$1 - 1]}" RINGSIDE_CLUSTER_MEMBER="$1"
        RINGSIDE_CLUSTER_LISTEN="${member_addresses[$1 + 2]}")
}

make_members() {
    local number key said cluster=()
    for number in {0..5}; do member_addresses+=("$1:$(($2 + number))"); done
    export RINGSIDE_CLUSTER_MEMBERS=
    for number in 1 2 3; do
        key=$(RINGSIDE_CLUSTER_MEMBERS='' RINGSIDE_DATA_DIR="$folder/$number" "$ringside" mirror-key)
        said=${said:-}${said:+,}$number@${member_addresses[number + 2]}=$key
        urls+=("http://${member_addresses[number - 1]}")
    done
    RINGSIDE_CLUSTER_MEMBERS=$said
    for number in 1 2 3; do
        member_settings "$number"
        said=$(env "${member_vars[@]}" "$ringside" cluster init "${cluster[@]}")
        cluster=(--cluster "$(grep -o 'of cluster [0-9a-f]*' <<<"$said" | cut -d' ' -f3)")
    done
}

start_member() {
    member_settings "$1"
    env "${member_vars[@]}" "$ringside" >>"$folder/$1.log" 2>&1 &
    members[$1]=$!
    echo $! >"$folder/$1.pid"
}

leading() {
    local number
    for number in 1 2 3; do
        [ "$(curl -s -o /dev/null -w '%{http_code}' --max-time 1 "${urls[number - 1]}/leaderz")" != 200 ] || { echo "$number"; return; }
    done
}

await_leader() {
    local _
    for _ in $(seq 300); do
        leader=$(leading)
        [ -z "$leader" ] || return 0
        sleep 0.1
    done
    echo "nobody leads"
    tail -n 20 "$folder"/[123].log
    exit 1
}

end_members() {
    local number
    for number in 1 2 3; do kill "${members[number]}"; done
    for number in 1 2 3; do
        wait "${members[number]}" || { echo "member $number ended with $?"; cat "$folder/$number.log"; exit 1; }
        "$ringside" verify "$folder/$number"
    done
    if grep panicked "$folder"/[123].log; then exit 1; fi
}
