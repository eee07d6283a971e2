# What both runners of a host have in common: how they say what they do, and how they end. $folder, $keep_s.
umask 077
# Whoever started it may go.
trap '' HUP PIPE
begun=$(date +%s)
elapsed() { echo $(($(date +%s) - begun)); }
size_kb() { ls -ln "$1/capture.pcap" 2>/dev/null | awk '{ printf "%d", ($5 + 1023) / 1024 }'; }

# What it is doing, in one line: seconds, bytes, what is free.
tell() {
    printf '%s %s %s %s\n' "$1" "$(elapsed)" "${size:-0}" "${free:--1}" >state.new
    mv -f state.new state
}

# It has ended, with this reason, code and length; what nobody fetches is removed.
ends() {
    printf '%s %s %s\n' "$1" "$2" "$3" >done.new
    mv -f done.new done
    waited=0
    while [ -d "$folder" ] && [ "$waited" -lt "$keep_s" ]; do
        sleep 2
        waited=$((waited + 2))
    done
    cd / && rm -rf "$folder"
}
