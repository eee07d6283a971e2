LC_ALL=C TZ=UTC0
export LC_ALL TZ
PATH=$PATH:/usr/sbin:/sbin:/usr/local/sbin
# Solaris 10 keeps what POSIX says in a place of its own.
[ -d /usr/xpg4/bin ] && PATH=/usr/xpg4/bin:$PATH
export PATH
have() { command -v "$1" >/dev/null 2>&1; }
say() { printf '%s %s\n' "$1" "$2"; }
# A tenth of a second, where there are such.
nap() { sleep 0.1 2>/dev/null || sleep 1; }
