//! What tools say of hosts, as it was recorded, for `host`.

use crate::write;

pub fn write_all() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../crates/trace/src/host/recorded");
    for (named, name) in [
        (0, "ethtool"),
        (0, "iostat"),
        (0, "mpstat"),
        (0, "netstat"),
        (0, "nstat"),
        (1, "psi-cpu"),
        (2, "psi-io"),
        (3, "psi-memory"),
        (0, "sadf.json"),
        (0, "sar"),
        (0, "ss"),
        (0, "vmstat"),
    ] {
        let text = std::fs::read(format!("{folder}/{name}")).expect("a recording");
        // A few samples tell as much as all.
        let text = match name {
            "sadf.json" => &text[..],
            _ => &text[..text.len().min(4_000)],
        };
        write("host", name, &[&[named], text].concat());
    }
    for (name, text) in [
        ("nfsd", "# 100000000 cat /proc/net/rpc/nfsd\nrc 0 0 0\nth 8 0 0.0\nrpc 10 0 0 0 0\n# 100000002 cat /proc/net/rpc/nfsd\nth 8 0\nrpc 3000 0 0 0 0\n"),
        ("pool_stats", "# 100000000 cat /proc/fs/nfsd/pool_stats\n# pool packets-arrived sockets-enqueued threads-woken\n0 1 4 6\n# 100000001 cat pool_stats\n# pool packets-arrived sockets-enqueued threads-woken\n0 3 14 16\n"),
        ("tcpretrans", "TIME PID IP LADDR:LPORT T> RADDR:RPORT STATE\n01:55:05 0 4 10.0.0.2:2049 R> 10.0.0.1:1000 ESTABLISHED\n01:55:05 0 6 fe80::1:22 L> fe80::2:9 X\n"),
        ("tcplife", "PID COMM LADDR LPORT RADDR RPORT TX_KB RX_KB MS\n22597 recordProg 127.0.0.1 46644 127.0.0.1 28527 0 0 0.23\n"),
        ("vmstat-header", "# 100000000 vmstat 2 3\nprocs ---\n r  b swpd si so us sy id wa st\n1 0 0 0 0 1 1 98 0 0\n5 1 0 3 4 60 30 10 0 0\n"),
        ("mounts", "# 100000000 cat /proc/self/mountstats\ndevice s:/e mounted on /m with fstype nfs4 statvers=1.1\n age: 10\n per-op statistics\n READ: 1 1 0 1 1 5 6 11\n"),
    ] {
        write("host", name, &[&[0], text.as_bytes()].concat());
    }
}
