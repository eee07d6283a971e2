//! What tools say of hosts, as it was recorded, for `host`.

use crate::write;

pub fn write_all() {
    let folder = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../crates/trace/src/host/recorded"
    );
    for (named, name) in [
        (0, "ethtool"),
        (0, "iostat"),
        (0, "mpstat"),
        (0, "netstat"),
        (0, "nstat"),
        (1, "psi-cpu"),
        (2, "psi-io"),
        (3, "psi-memory"),
        (0, "sar"),
        (0, "ss"),
        (0, "vmstat"),
    ] {
        let text = std::fs::read(format!("{folder}/{name}")).expect("a recording");
        // A few samples tell as much as all.
        let text = &text[..text.len().min(4_000)];
        write("host", name, &[&[named], text].concat());
    }
    for (name, text) in [
        (
            "nfsd",
            "# 100000000 cat /proc/net/rpc/nfsd\nrc 0 0 0\nth 8 0 0.0\nrpc 10 0 0 0 0\n# 100000002 cat /proc/net/rpc/nfsd\nth 8 0\nrpc 3000 0 0 0 0\n",
        ),
        (
            "pool_stats",
            "# 100000000 cat /proc/fs/nfsd/pool_stats\n# pool packets-arrived sockets-enqueued threads-woken\n0 1 4 6\n# 100000001 cat pool_stats\n# pool packets-arrived sockets-enqueued threads-woken\n0 3 14 16\n",
        ),
        (
            "tcpretrans",
            "TIME PID IP LADDR:LPORT T> RADDR:RPORT STATE\n01:55:05 0 4 10.0.0.2:2049 R> 10.0.0.1:1000 ESTABLISHED\n01:55:05 0 6 fe80::1:22 L> fe80::2:9 X\n",
        ),
        (
            "tcplife",
            "PID COMM LADDR LPORT RADDR RPORT TX_KB RX_KB MS\n22597 recordProg 127.0.0.1 46644 127.0.0.1 28527 0 0 0.23\n",
        ),
        (
            "tcpdump",
            "tcpdump: listening on eth0, link-type EN10MB (Ethernet), snapshot length 512 bytes\n1 packet captured\n3 packets dropped by kernel\nPackets received/dropped on interface 'eth0': 51/4 (pcap:4)\n",
        ),
        (
            "vmstat-header",
            "# 100000000 vmstat 2 3\nprocs ---\n r  b swpd si so us sy id wa st\n1 0 0 0 0 1 1 98 0 0\n5 1 0 3 4 60 30 10 0 0\n",
        ),
        (
            "sadf",
            r#"{"sysstat": {"hosts": [{"nodename": "vm", "number-of-cpus": 2, "statistics": [{"timestamp": {"date": "2026-11-24", "time": "16:55:38", "utc": 1, "interval": 1}, "cpu-load": [{"cpu": "all", "idle": 9.50, "iowait": 0.00, "steal": 0.10}], "queue": {"runq-sz": 6, "blocked": 0}, "disk": [{"disk-device": "vda", "tps": 12.0, "aqu-sz": 0.0, "await": 0.33, "util-percent": 0.0}], "network": {"net-edev": [{"iface": "lo", "rxdrop": 0.0, "txdrop": 1.0}]}, "psi": {"psi-cpu": {"some_avg": 99.97}}}]}]}}"#,
        ),
        (
            "mounts",
            "# 100000000 cat /proc/self/mountstats\ndevice s:/e mounted on /m with fstype nfs4 statvers=1.1\n age: 10\n per-op statistics\n READ: 1 1 0 1 1 5 6 11\n",
        ),
    ] {
        write("host", name, &[&[0], text.as_bytes()].concat());
    }
}
