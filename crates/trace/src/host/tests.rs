//! What tools said on one machine (Linux 6.18, iproute2 6.1, sysstat 12.6, procps 4.0, net-tools 2.10, ethtool 6.1) while
//! `recorded/record` put known loads on it; other forms from the tools' documents.

use super::stamp::SECOND_NS;
use super::*;
use std::net::{IpAddr, Ipv4Addr};

macro_rules! recorded {
    ($name:literal) => {
        read_bytes($name, include_bytes!(concat!("recorded/", $name))).unwrap()
    };
}

/// 2026-11-24T16:55:37Z, and when the burner and the writes began, a second later for sure.
const START_NS: i64 = 1_795_539_337 * SECOND_NS;
const BURNS: (i64, i64) = (START_NS + 6 * SECOND_NS, START_NS + 10 * SECOND_NS);
const WRITES: (i64, i64) = (START_NS + 11 * SECOND_NS, START_NS + 15 * SECOND_NS);

fn series<'a>(host: &'a Host, counter: Counter, device: &str) -> &'a Series {
    let mut all = host.series.iter();
    let found = all.find(|s| s.counter == counter && &*s.device == device);
    found.unwrap_or_else(|| panic!("{counter:?} of {device:?} in {}", host.file))
}

/// Mean of the samples that lie within, and of the others before.
fn within_and_before(series: &Series, (from, to): (i64, i64)) -> [i64; 2] {
    let mean = |keep: &dyn Fn(&Sample) -> bool| {
        let kept: Vec<i64> = series
            .samples
            .iter()
            .filter(|s| keep(s))
            .map(|s| s.milli)
            .collect();
        assert!(kept.len() >= 3, "{:?}: {}", series.counter, kept.len());
        kept.iter().sum::<i64>() / kept.len() as i64
    };
    [
        mean(&|s| s.from_ns >= from && s.until_ns <= to),
        mean(&|s| s.until_ns < BURNS.0 - SECOND_NS),
    ]
}

#[test]
fn tcp_s_own_account_says_that_a_slow_reader_held_it_up() {
    let host = recorded!("ss");
    let [c] = host.connections.as_slice() else {
        panic!("{:?}", host.connections);
    };
    assert_eq!(
        (c.peer.to_string().as_str(), c.samples.len()),
        ("10.77.0.2:5001", 15)
    );
    let own: IpAddr = Ipv4Addr::new(10, 77, 0, 1).into();
    assert!(host.addresses.contains(&own));
    let first = c.samples[0];
    assert_eq!(first.at_ns, Some(1_795_539_338_146_000_000));
    assert_eq!(
        (first.busy_ns, first.rwnd_limited_ns),
        (852_000_000, 852_000_000)
    );
    assert_eq!(
        (first.rto_ns, first.rtt_ns),
        (Some(208_000_000), Some(5_382_000))
    );
    assert_eq!(
        (first.cwnd, first.mss, first.retransmits),
        (Some(230), Some(1_448), 3)
    );
    assert_eq!(first.window_shifts, Some([10, 1]));
    let last = c.samples[14];
    assert!(last.rwnd_limited_ns >= last.busy_ns / 10 * 9);
    assert_eq!(host.skipped_lines, 0);
}

#[test]
fn pressure_is_what_was_added_between_two_samples() {
    let host = recorded!("psi-cpu");
    let cpu = series(&host, Counter::CpuPressure, "");
    assert_eq!(cpu.samples.len(), 16);
    // Of the ten seconds before.
    assert_eq!(cpu.samples[0].milli, 99_060);
    // 1,004,263 us of 1.021 s.
    assert_eq!(cpu.samples[1].milli, 98_360);
    assert_eq!(
        series(&recorded!("psi-io"), Counter::IoPressure, "")
            .samples
            .len(),
        16
    );
    assert_eq!(
        series(&recorded!("psi-memory"), Counter::MemoryPressure, "")
            .samples
            .len(),
        16
    );
    let whose = read_bytes(
        "some",
        b"# 1795539337 cat x\nsome avg10=1.00 avg60=0.00 avg300=0.00 total=7\n",
    );
    assert!(
        whose
            .unwrap_err()
            .to_string()
            .contains("pressure of what is not said")
    );
}

#[test]
fn a_burner_is_a_longer_run_queue_and_other_programs_time() {
    let host = recorded!("vmstat");
    let queue = series(&host, Counter::RunQueue, "");
    assert_eq!(queue.samples.len(), 15);
    assert!(!queue.is_local, "its heading says UTC");
    assert_eq!(
        (queue.samples[0].from_ns, queue.samples[0].milli),
        (START_NS, 7_000)
    );
    let [burning, before] = within_and_before(queue, BURNS);
    assert!(burning >= before + 2_000, "{burning} {before}");
}

#[test]
fn direct_writes_are_a_busy_disk() {
    for host in [
        recorded!("iostat"),
        recorded!("sar"),
        recorded!("sadf.json"),
    ] {
        let used = series(&host, Counter::DiskUtilization, "vda");
        let [writing, before] = within_and_before(used, WRITES);
        assert!(writing >= 2 * before, "{}: {writing} {before}", host.file);
    }
    let host = recorded!("iostat");
    // 13 reads of 0.23 ms and no write.
    assert_eq!(
        series(&host, Counter::DiskAwait, "vda").samples[0].milli,
        230
    );
    assert_eq!(
        series(&host, Counter::CpuBusy, "").samples[0].milli,
        100_000
    );
    assert!(series(&host, Counter::CpuBusy, "").is_local);
}

#[test]
fn sar_says_the_same_as_text_and_as_json_and_mpstat_nearly() {
    let (text, json) = (recorded!("sar"), recorded!("sadf.json"));
    assert_eq!(
        (text.name.as_deref(), text.processors),
        (Some("vm"), Some(2))
    );
    assert_eq!(
        (json.name.as_deref(), json.processors),
        (Some("vm"), Some(2))
    );
    let mut compared = 0;
    for one in &text.series {
        let other = series(&json, one.counter, &one.device);
        assert_eq!(
            one.samples, other.samples,
            "{:?} {}",
            one.counter, one.device
        );
        assert_eq!((one.is_local, other.is_local), (true, false));
        compared += 1;
    }
    assert!(compared >= 9, "{compared}");
    let mpstat = recorded!("mpstat");
    let busy = &series(&mpstat, Counter::CpuBusy, "").samples;
    assert_eq!(busy.len(), 15);
    assert_eq!(busy[0], series(&text, Counter::CpuBusy, "").samples[0]);
}

#[test]
fn nstat_and_netstat_count_the_same_segments() {
    let added = |host: &Host| {
        let s = series(host, Counter::Retransmits, "");
        let all = s
            .samples
            .iter()
            .map(|s| i128::from(s.milli) * i128::from(s.until_ns - s.from_ns));
        (all.sum::<i128>() + 500_000_000_000) / 1_000_000_000_000
    };
    let (nstat, netstat) = (recorded!("nstat"), recorded!("netstat"));
    assert_eq!((added(&nstat), added(&netstat)), (4, 4));
}

#[test]
fn what_nstat_does_not_print_is_zero() {
    let text =
        b"# 2026-03-01T14:00:00Z nstat -as\n#kernel\n# 2026-03-01T14:00:30Z nstat -as\n#kernel\n";
    let host = read_bytes("nstat", text).expect("an idle host");
    let samples = &series(&host, Counter::Retransmits, "").samples;
    assert_eq!(samples.len(), 1);
    assert_eq!(
        (samples[0].milli, samples[0].until_ns - samples[0].from_ns),
        (0, 30_000_000_000)
    );
    // Without -a nothing is known of what was before.
    let since = String::from_utf8_lossy(text).replace(" -as", " -s");
    assert!(read_bytes("nstat", since.as_bytes()).is_err());
}

#[test]
fn interfaces_that_drop_nothing_say_so() {
    let host = recorded!("ethtool");
    let drops = series(&host, Counter::NicDrops, "veth0");
    assert_eq!(drops.samples.len(), 15);
    assert!(drops.samples.iter().all(|s| s.milli == 0));
    let twice =
        b"# 100000000 ethtool -S eth0\nNIC statistics:\n rx_dropped: 5\n rx_queue_0_drops: 2\n\
        # 100000002 ethtool -S eth0\nNIC statistics:\n rx_dropped: 25\n rx_queue_0_drops: 12\n";
    let host = read_bytes("e", twice).unwrap();
    // 20 in two seconds; those of its queue are among them.
    assert_eq!(
        series(&host, Counter::NicDrops, "eth0").samples[0].milli,
        10_000
    );
}

#[test]
fn a_file_may_hold_several_tools_and_a_header_tells_the_zone() {
    let text = "# 2026-11-24T15:55:37.2Z iostat -x -t 1\n\
        Linux 6.1 (db1) \t11/24/26 \t_x86_64_\t(4 CPU)\n\n\
        11/24/26 16:55:37\nDevice r/s w/s r_await w_await aqu-sz %util\nsda 1 1 9 9 1 9\n\n\
        11/24/26 16:55:38\nDevice r/s w/s r_await w_await aqu-sz %util\nsda 30.00 10.00 2.00 6.00 0.1 5\n\
        # 2026-11-24T15:55:39Z cat /proc/pressure/cpu /proc/pressure/io\n\
        some avg10=1.00 avg60=0 avg300=0 total=7\nfull avg10=0 avg60=0 avg300=0 total=0\n\
        some avg10=2.50 avg60=0 avg300=0 total=7\n";
    let host = read_bytes("db1", text.as_bytes()).unwrap();
    let disk = series(&host, Counter::DiskAwait, "sda");
    assert_eq!(
        (disk.is_local, disk.samples.len()),
        (false, 1),
        "the first is of the time since the start"
    );
    let sample = disk.samples[0];
    assert_eq!(
        (sample.from_ns, sample.milli),
        (START_NS - 3_600 * SECOND_NS, 3_000)
    );
    assert_eq!(
        series(&host, Counter::IoPressure, "").samples[0].milli,
        2_500
    );
    assert_eq!(host.tools.len(), 2);
}

#[test]
fn times_follow_from_the_command_where_the_tool_prints_none() {
    let text = "# 100000000 vmstat 2 3\nprocs ---\n r  b swpd si so us sy id wa st\n\
        1 0 0 0 0 1 1 98 0 0\n5 1 0 3 4 60 30 10 0 0\n7 0 0 0 0 60 40 0 0 0\n";
    let host = read_bytes("v", text.as_bytes()).unwrap();
    let busy = &series(&host, Counter::CpuBusy, "").samples;
    let at = |s: i64| (100_000_000 + s) * SECOND_NS;
    assert_eq!(
        busy[0],
        Sample {
            from_ns: at(0),
            until_ns: at(2),
            milli: 90_000
        }
    );
    assert_eq!(
        busy[1],
        Sample {
            from_ns: at(2),
            until_ns: at(4),
            milli: 100_000
        }
    );
    assert_eq!(series(&host, Counter::Swap, "").samples[0].milli, 7_000);
    let plain = read_bytes("v", text.split_once('\n').unwrap().1.as_bytes());
    assert!(plain.unwrap_err().to_string().contains("take vmstat -t"));
}

#[test]
fn sections_and_midnight_keep_their_days() {
    let text = "Linux 6.1 (db1) \t11/24/26 \t_x86_64_\t(4 CPU)\n\n\
        23:59:58 CPU %user %nice %system %iowait %steal %idle\n23:59:59 all 1 0 0 0 0 99\n00:00:00 all 1 0 0 0 0 98\n\
        00:00:01 all 1 0 0 0 0 97\nAverage: all 1 0 0 0 0 98\n\n\
        23:59:58 runq-sz plist-sz ldavg-1 ldavg-5 ldavg-15 blocked\n23:59:59 3 1 1 1 1 0\n00:00:00 4 1 1 1 1 0\n";
    let host = read_bytes("s", text.as_bytes()).unwrap();
    let days = |n: i64| 20_781 * stamp::DAY_NS + n * SECOND_NS;
    let ends = |c| {
        series(&host, c, "")
            .samples
            .iter()
            .map(|s| s.until_ns)
            .collect::<Vec<_>>()
    };
    let last = 86_399;
    assert_eq!(
        ends(Counter::CpuBusy),
        [days(last), days(last + 1), days(last + 2)]
    );
    assert_eq!(ends(Counter::RunQueue), [days(last), days(last + 1)]);
}

#[test]
fn a_server_of_nfs_counts_calls_threads_and_who_waited_for_one() {
    let text = "# 100000000 cat /proc/net/rpc/nfsd\nrc 0 0 0\nio 0 0\nth 8 0 0.000\nnet 9 0 9 1\nrpc 1000 0 0 0 0\n\
        # 100000000 cat /proc/fs/nfsd/pool_stats\n# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 100 40 60 0\n\
        # 100000002 cat /proc/net/rpc/nfsd\nrc 0 0 0\nth 8 0 0.000\nrpc 3000 0 0 0 0\n\
        # 100000002 cat /proc/fs/nfsd/pool_stats\n# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 300 140 160 0\n";
    let host = read_bytes("n", text.as_bytes()).unwrap();
    let value = |counter, device| series(&host, counter, device).samples[0].milli;
    assert_eq!(value(Counter::NfsdCalls, ""), 1_000_000);
    assert_eq!(value(Counter::NfsdThreads, ""), 8_000);
    assert_eq!(value(Counter::NfsdQueued, "0"), 50_000);
}

/// What `pool_stats` grew by in two seconds: arrived, queued, woken; and what waited, a second.
#[test]
fn what_found_no_thread_free_is_told_for_either_kind_of_kernel() {
    let waited = |[arrived, queued, woken]: [u64; 3]| {
        let print = |at: u64, n: [u64; 3]| {
            format!(
                "# {at} cat /proc/fs/nfsd/pool_stats\n# pool packets-arrived sockets-enqueued threads-woken threads-timedout\n0 {} {} {} 0\n",
                n[0], n[1], n[2]
            )
        };
        let text =
            print(100_000_000, [5; 3]) + &print(100_000_002, [arrived + 5, queued + 5, woken + 5]);
        let host = read_bytes("n", text.as_bytes()).unwrap();
        series(&host, Counter::NfsdQueued, "0").samples[0].milli
    };
    // Until 3.18 either a thread was woken or the connection was queued.
    assert_eq!(waited([200, 60, 140]), 30_000);
    assert_eq!(waited([200, 0, 200]), 0);
    // Since then all are queued.
    assert_eq!(waited([200, 200, 200]), 0);
    assert_eq!(waited([200, 200, 140]), 30_000);
    assert_eq!(waited([200, 200, 0]), 100_000);
}

#[test]
fn events_of_tcp_name_connections_and_the_host_s_own_addresses() {
    let text = "Tracing retransmits ... Hit Ctrl-C to end\nTIME     PID    IP LADDR:LPORT          T> RADDR:RPORT          STATE\n\
        01:55:05 0      4  10.0.0.2:2049   R> 10.0.0.1:1000   ESTABLISHED\n\
        01:55:06 0      4  10.0.0.2:2049   R> 10.0.0.1:1000   ESTABLISHED\n\
        01:55:17 0      4  10.0.0.2:2049   L> 10.0.0.1:1000   ESTABLISHED\n";
    let host = read_bytes("t", text.as_bytes()).unwrap();
    let samples = &host.connections[0].samples;
    assert_eq!(
        (samples.len(), samples[1].retransmits, samples[1].at_ns),
        (2, 2, None)
    );
    assert_eq!(host.connections[0].local.to_string(), "10.0.0.2:2049");
}

#[test]
fn how_long_the_kernel_waited_for_a_handshake_is_its_connection_s_round_trip() {
    let text = "TIME(s)  PID    COMM         IP SADDR            LPORT  DADDR            DPORT LAT(ms)\n\
        0.000    1201   wget         4  10.153.223.157   51002  52.39.122.191    80    5.62\n\
        0.213    1203   a curl       4  10.153.223.157   51004  52.39.122.191    80    x\n";
    let host = read_bytes("t", text.as_bytes()).unwrap();
    let [one] = host.connections.as_slice() else {
        panic!("{:?}", host.connections);
    };
    assert_eq!(one.local.to_string(), "10.153.223.157:51002");
    assert_eq!(one.peer.to_string(), "52.39.122.191:80");
    assert_eq!(one.samples[0].rtt_ns, Some(5_620_000));
    assert_eq!(host.skipped_lines, 1);
    // Of no connection: the host's address is known, and why no more is.
    let text = "PID    COMM         IP SADDR            DADDR            DPORT LAT(ms)\n\
        1201   wget         4  10.153.223.157   52.39.122.191    80    5.62\n";
    let alone = read_bytes("t", text.as_bytes());
    let told = format!("{alone:?}");
    assert!(told.contains("tcpconnlat -L"), "{told}");
}

#[test]
fn sums_of_an_nfs_client_are_those_of_app() {
    let mount = |age, n: u32| {
        format!(
            "device server:/export mounted on /mnt with fstype nfs4 statvers=1.1\n age: {age}\n per-op statistics\n READ: {n} {n} 0 1 1 {} {} {}\n",
            n * 50,
            n * 2,
            n * 52
        )
    };
    let text = format!(
        "# 100000000 cat /proc/self/mountstats\n{}# 100000010 cat /proc/self/mountstats\n{}",
        mount(100, 10),
        mount(110, 20)
    );
    let host = read_bytes("m", text.as_bytes()).unwrap();
    let sums = host.sums.unwrap();
    let [read] = sums.summaries.as_slice() else {
        panic!()
    };
    assert_eq!(
        (read.count, read.queue_ns, sums.skipped_lines),
        (10, 500_000_000, 0)
    );
}

#[test]
fn what_is_nothing_of_a_host_is_refused_with_its_line() {
    let wrong = |text: &str| read_bytes("w", text.as_bytes()).unwrap_err().to_string();
    assert!(
        wrong("hello\nworld\n").starts_with("w, line 1: \"hello\" is nothing that --host reads")
    );
    assert!(wrong("").starts_with("w is empty"));
    assert!(wrong("# 100000000 cat /proc/net/rpc/nfsd\nrpc 1 0 0 0 0\n").contains("two samples"));
    assert!(wrong("{\"sysstat\": 7}").contains("no JSON of sadf -j"));
}

proptest::proptest! {
    /// Cut, damaged, put together: nothing panics, and samples are in order and not less than nothing.
    #[test]
    fn whatever_a_file_holds_what_comes_out_is_sound(
        pieces in proptest::collection::vec((0..13_usize, 0..6_000_usize, 0..400_usize), 1..6),
        damage in proptest::collection::vec((0..2_000_usize, 0..128_u8), 0..20),
    ) {
        const FILES: [&[u8]; 13] = [
            include_bytes!("recorded/ss"),
            include_bytes!("recorded/psi-cpu"),
            include_bytes!("recorded/vmstat"),
            include_bytes!("recorded/mpstat"),
            include_bytes!("recorded/iostat"),
            include_bytes!("recorded/sar"),
            include_bytes!("recorded/sadf.json"),
            include_bytes!("recorded/nstat"),
            include_bytes!("recorded/netstat"),
            include_bytes!("recorded/ethtool"),
            b"# 2026-11-24T16:55:38.085Z cat /proc/net/rpc/nfsd\nth 8 0\nrpc 18446744073709551615 0 0\n",
            b"TIME PID IP LADDR:LPORT T> RADDR:RPORT STATE\n01:55:05 0 4 10.0.0.2:9 R> 10.0.0.1:1 X\n",
            b"# 2199-12-31T23:59:59.9Z vmstat -t 86400\n r b swpd si so us sy id wa st\n1 1 9 9 9 9 9 99999999999999999 9 9\n",
        ];
        let mut bytes = Vec::new();
        for (file, from, length) in pieces {
            let file = FILES[file];
            let from = from.min(file.len());
            bytes.extend_from_slice(&file[from..(from + length * 8).min(file.len())]);
            bytes.push(b'\n');
        }
        for (at, byte) in damage {
            if let Some(own) = bytes.get_mut(at) {
                *own = byte;
            }
        }
        match read_bytes("server-cpu", &bytes) {
            Ok(host) => {
                for series in &host.series {
                    assert!(series.samples.is_sorted());
                    assert!(series.samples.iter().all(|s| s.from_ns < s.until_ns && s.milli >= 0));
                }
                assert_eq!(host.skipped_lines > 0, host.first_skipped.is_some());
            }
            Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
        }
    }
}
