# What runs on a host while somebody waits for something to happen: captures that overlap, each by a runner of its own in a
# folder of its own. The next begins when the last has lasted $ring_s seconds, or has half of what it may have; then the one
# before the last ends and is removed. So at any time the older of two has all that passed in the last $ring_s seconds,
# without a seam. Told to end, it keeps the older one. Nobody has to stay connected for any of that.
#
# $folder: its own, private, with one.sh, which is told the folder of one capture; $seconds, $ring_s, $max_kb, $keep_s.
older=1
newest=0
dropped=

begin() {
    newest=$((newest + 1))
    mkdir "$newest" || return
    sh ./one.sh "$folder/$newest" </dev/null >/dev/null 2>"$newest/wrong" &
}

# One that nobody needs.
drop() {
    : >"$1/stop"
    wait_for "$1/done" 300
    rm -rf "$1"
}

wait_for() {
    waited=0
    while [ ! -e "$1" ] && [ "$waited" -lt "$2" ]; do
        nap
        waited=$((waited + 1))
    done
}

# Whether the last has what a host is asked to keep.
is_full() {
    # shellcheck disable=SC2046
    set -- $(cat "$newest/state" 2>/dev/null)
    [ "${2:-0}" -ge "$ring_s" ] || [ $((${3:-0} * 2)) -ge "$max_kb" ]
}

# Why it ends: nothing yet, or a word.
why() {
    [ -e stop ] || [ ! -d "$folder" ] && { echo stopped; return; }
    [ "$(elapsed)" -ge "$seconds" ] && { echo time; return; }
    for one in "$older" "$newest"; do
        [ -e "$one/done" ] && { read -r word rest <"$one/done"; echo "$word"; return; }
    done
    echo
}

main() {
    cd "$folder" || exit 1
    begin
    # Who started this looks there for its first words.
    ln -s 1/said said
    while reason=$(why) && [ -z "$reason" ]; do
        if is_full; then
            if [ "$older" -ne "$newest" ]; then
                drop "$older" &
                older=$newest
            fi
            begin
        fi
        size=$(size_kb "$older")
        tell runs
        sleep 1
    done
    if [ "$older" -ne "$newest" ]; then
        drop "$newest" &
        dropped=$!
    fi
    : >"$older/stop"
    wait_for "$older/done" 250
    # Runners stay until what they have is gone.
    [ -z "$dropped" ] || wait "$dropped"
    rm -f said
    mv "$older/capture.pcap" "$older/samples" "$older/said" .
    size=$(size_kb .)
    tell ended
    read -r word code lasted <"$older/done"
    ends "$reason" "$code" "$lasted"
}
main
exit
