# What runs on a host while its packets are captured. It ends by itself: behind so many seconds, at so many bytes, where the
# disk fills up, or when it is told to; and where nobody fetches what it made, that is removed. Nobody has to stay
# connected for any of that.
#
# $folder: its own, private; $seconds, $max_kb, $reserve_kb, $keep_s: bounds; $capture: a program's line, and $output, where
# its standard output goes; $port, $interface: what counters are asked of.
stamp() { date -u "+$form"; }
form=%Y-%m-%dT%H:%M:%S.%3NZ
case $(stamp) in *[!0-9TZ:.-]*) form=%Y-%m-%dT%H:%M:%SZ ;; esac
gently=
have nice && gently='nice -n 19'
lines=
have stdbuf && lines='stdbuf -oL'
set_of_connections="( sport = :$port or dport = :$port )"

# A print of a tool into its file, its time before it: a file's name, then the tool.
print() {
    into=samples/$1
    shift
    have "$1" || return 0
    { printf '# %s %s\n' "$(stamp)" "$*"; $gently "$@" 2>&1; } >>"$into"
}
print_file() { if [ -r "$2" ]; then print "$1" cat "$2"; fi; }
# Of a print those lines that say this.
print_lines() {
    pattern=$1 into=samples/$2
    shift 2
    have "$1" || return 0
    { printf '# %s %s\n' "$(stamp)" "$*"; $gently "$@" 2>/dev/null | grep -iE "$pattern"; } >>"$into"
}

print_nfsd() {
    for file in /proc/net/rpc/nfsd /proc/fs/nfsd/pool_stats; do print_file nfsd.txt $file; done
}

at_begin_and_end() {
    if have nstat; then print nstat.txt nstat -as; else print netstat.txt netstat -s; fi
    print_file nfs.txt /proc/net/rpc/nfs
    print_nfsd
    if grep -q ' fstype nfs' /proc/self/mountstats 2>/dev/null; then
        print_file mountstats.txt /proc/self/mountstats
    fi
    # Of some interfaces nothing is counted.
    if ethtool -S "$interface" >/dev/null 2>&1; then print ethtool.txt ethtool -S "$interface"; fi
}

# What the kernel and the interface's driver call what is sent again, and what is dropped for want of room.
dropped='retrans|listen|backlogdrop|rcvqdrop|prune|rcvbuferrors|discard'
dropped_by_driver='drop|miss|no_buf|out_of_buf|fifo_err|discard'

# What is only told from the calls as it comes and goes with them.
each_second() {
    # shellcheck disable=SC2086
    print ss.txt ss -tinm $set_of_connections
    for what in cpu io memory; do print_file psi-$what.txt /proc/pressure/$what; done
    print_lines "$dropped" nstat.txt nstat -as
    if [ -s samples/ethtool.txt ]; then print_lines "$dropped_by_driver" ethtool.txt ethtool -S "$interface"; fi
    print_nfsd
}

# Tools that print by themselves, each second, with their own times.
others=
other() {
    into=samples/$1
    shift
    have "$1" || return 0
    printf '# %s %s\n' "$(stamp)" "$*" >"$into"
    # shellcheck disable=SC2086
    $gently $lines "$@" >>"$into" 2>&1 &
    others="$others $!"
}

free_kb() { df -Pk . 2>/dev/null | awk 'NR == 2 { print $4 }'; }

# Why it ends: nothing yet, or a word.
why() {
    [ -e stop ] || [ ! -d "$folder" ] && { echo stopped; return; }
    [ "$(elapsed)" -ge "$seconds" ] || [ "$turns" -ge "$seconds" ] && { echo time; return; }
    [ "${size:-0}" -ge "$max_kb" ] && { echo size; return; }
    [ "${free:-$reserve_kb}" -lt "$reserve_kb" ] && { echo disk; return; }
    [ -e exited ] && { echo died; return; }
    echo
}

end_of_capture() {
    # TERM ends both programs in order: what is in the buffer is written, drops are told.
    for signal in TERM INT KILL; do
        [ -e exited ] && break
        kill -$signal "$(cat pid)" 2>/dev/null
        waited=0
        while [ ! -e exited ] && [ "$waited" -lt 50 ]; do
            nap
            waited=$((waited + 1))
        done
    done
    code=$(cat exited 2>/dev/null)
}

main() {
    cd "$folder" || exit 1
    mkdir samples || exit 1
    # Beyond any other bound (blocks are of 512 bytes): no file grows to more than twice what it may and 64 MB.
    ulimit -f $((max_kb * 4 + 131072)) 2>/dev/null
    tell begins
    at_begin_and_end
    bounded=
    if have timeout; then bounded="timeout -k 10 $((seconds + 10))"; fi
    slightly=
    have nice && slightly='nice -n 5'
    # Its end leaves a file: a process that has ended and was not waited for looks as if it ran.
    (
        sh -c "echo \$\$ >pid; exec $slightly $bounded $capture" >"$output" 2>said
        echo $? >exited
    ) &
    if [ -z "$bounded" ]; then
        (
            sleep $((seconds + 10))
            kill -KILL "$(cat pid)"
        ) >/dev/null 2>&1 &
        others=" $!"
    fi
    other vmstat.txt vmstat -t 1
    other iostat.txt iostat -x -t 1
    other mpstat.txt mpstat -P ALL 1
    turns=0
    while reason=$(why) && [ -z "$reason" ]; do
        tell runs
        each_second
        sleep 1
        turns=$((turns + 1))
        size=$(size_kb .)
        free=$(free_kb)
    done
    end_of_capture
    # shellcheck disable=SC2086
    [ -z "$others" ] || kill $others 2>/dev/null
    at_begin_and_end
    size=$(size_kb .)
    tell ended
    ends "$reason" "$code" "$(elapsed)"
}
main
exit
