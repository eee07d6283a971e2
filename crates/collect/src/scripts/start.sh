# Starts what runs on its own, away from the shell that starts it.
cd "$folder" || exit 1
if have setsid; then setsid sh ./run.sh </dev/null >/dev/null 2>wrong &
else nohup sh ./run.sh </dev/null >/dev/null 2>wrong &
fi
waited=0
while :; do
    grep -q -e 'listening on' -e 'Using device' said 2>/dev/null && { echo runs; exit; }
    [ -e done ] && break
    [ "$waited" -ge 100 ] && break
    nap
    waited=$((waited + 1))
done
tail -n 1 said 2>/dev/null | grep . || cat wrong
exit
