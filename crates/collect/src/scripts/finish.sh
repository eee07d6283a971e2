# Waits until what runs has ended, and says how: lines of a name and a value.
cd "$folder" || exit 1
: >stop
waited=0
while [ ! -e done ] && [ "$waited" -lt 300 ]; do
    nap
    waited=$((waited + 1))
done
say ended "$(cat done 2>/dev/null)"
sed 's/^/said /' said | tail -n 20
say capture "$(ls -ln capture.pcap 2>/dev/null | awk '{ print $5 }')"
exit 0
