# Ends what may still run, and removes all of it.
[ -d "$folder" ] || exit 0
: >"$folder/stop"
waited=0
while [ -e "$folder/state" ] && [ ! -e "$folder/done" ] && [ "$waited" -lt 200 ]; do
    nap
    waited=$((waited + 1))
done
rm -rf "$folder"
[ ! -d "$folder" ]
