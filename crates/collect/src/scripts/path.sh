# How a host reaches its peer, and whether it may capture there: lines of a name and a value. The filter is compiled and
# the interface opened, but no packet is taken (tcpdump -d).
# $peer: an address; $interface: one that somebody named; $port: 0 if not known; $tool, $snaplen, $buffer_kb, $filter.
say uid "$(id -u 2>/dev/null || id | sed 's/^uid=\([0-9]*\).*/\1/')"
source=
if have ip; then
    route=$(ip -o route get "$peer" 2>&1) || say no_route "$(printf '%s' "$route" | tr '\n' ' ')"
    found=$(printf '%s\n' "$route" | awk 'NR == 1 { for (i = 1; i < NF; i++) if ($i == "dev") print $(i + 1) }')
    source=$(printf '%s\n' "$route" | awk 'NR == 1 { for (i = 1; i < NF; i++) if ($i == "src") print $(i + 1) }')
elif have route && route -n get "$peer" >/dev/null 2>&1; then
    # Solaris, illumos, AIX, BSD.
    found=$(route -n get "$peer" 2>/dev/null | awk '$1 == "interface:" { print $2 }')
elif [ -r /proc/net/route ]; then
    found=$(awk '$2 == "00000000" { print $1; exit }' /proc/net/route)
fi
: "${interface:=${found:-}}"
if [ -z "$source" ] && [ -n "$interface" ]; then
    source=$(ifconfig "$interface" 2>/dev/null | awk '$1 == "inet" { sub(/^addr:/, "", $2); print $2; exit }')
fi
say interface "$interface"
say source "$source"
if have ss; then
    if [ "$port" = 0 ]; then only="dst $peer"; else only="( sport = :$port or dport = :$port )"; fi
    # shellcheck disable=SC2086
    ss -Htn state established $only 2>/dev/null | head -n 500 | awk '{ print "connection", $3, $4 }'
fi
have ethtool && ethtool -k "$interface" 2>/dev/null |
    awk '/^(tcp-segmentation-offload|generic-segmentation-offload|generic-receive-offload|large-receive-offload): on/ { sub(/:/, "", $1); print "offload", $1 }'
case $tool in
tcpdump)
    try() { said=$(tcpdump -p -n -i "${interface:-any}" -s "$snaplen" -B "$buffer_kb" "$@" -d "$filter" 2>&1 >/dev/null); }
    if try --time-stamp-precision=nano; then
        say precision nano
    elif try; then
        say precision micro
    else
        say refused "$(printf '%s' "$said" | tr '\n' ' ')"
    fi
    ;;
esac
