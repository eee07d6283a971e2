//! What tools said of the hosts beside the captures: `--host`.

use super::capture;
use super::contract::{assert_integers, json};
use crate::kit::{file, refused, slowside, text};
use serde_json::Value;
use std::ffi::OsString;
use std::fmt::Write;
use std::ops::Range;
use testkit::{Conversation, TestPacket, faults, rpc};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1_000 * MS;

/// 2026-11-22T16:58:22Z, and how long it goes on.
const BEGAN_S: i64 = 1_795_366_702;
const SECONDS: i64 = 60;

/// When the server takes 50 ms of each call, and not 1 ms.
const SLOW: Range<i64> = 20..32;

/// Its client is so far away.
const AWAY: i64 = MS / 5;

/// Both ends' captures of eight reads a second, as arguments.
fn captures(test: &str) -> Vec<OsString> {
    let mut c = Conversation::nfs();
    c.handshake().spacing(0);
    for i in 0..8 * SECONDS {
        let at = i * SECOND / 8 + i * i % 7 * MS;
        c.at(2 * SECOND + at);
        let id = i as u32;
        c.client(&rpc::record(&rpc::read_call(
            id,
            b"users01",
            8_192 * i as u64,
            8_192,
        )));
        let held = if SLOW.contains(&(at / SECOND)) {
            50 * MS
        } else {
            MS
        };
        c.server_ack().after(held);
        c.server(&rpc::record(&rpc::read_reply(id, &[7; 8_192], false)));
        c.after(MS / 5).client_ack();
    }
    let server: Vec<TestPacket> = c.packets();
    let (from, to) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
    let client = faults::delay(&faults::delay(&server, from, -AWAY), to, AWAY);
    let mut words: Vec<OsString> = vec!["diagnose".into()];
    for (side, mut packets) in [("client", client), ("server", server)] {
        for packet in &mut packets {
            packet.time += (BEGAN_S - 2) * SECOND;
        }
        words.push(format!("--{side}").into());
        words.push(file(test, &format!("{side}.pcap"), &capture(&packets)).into());
    }
    words
}

/// Pressure on the processors, a sample a second: 80 % in these seconds, else 4 %.
fn pressure(high: Range<i64>, later_s: i64) -> String {
    let mut total = 1_000_000;
    let mut text = String::new();
    for second in 0..=SECONDS {
        let at = BEGAN_S + second + later_s;
        let _ = writeln!(text, "# {at}.000 cat /proc/pressure/cpu");
        let _ = writeln!(text, "some avg10=0.00 avg60=0.00 avg300=0.00 total={total}");
        let _ = writeln!(text, "full avg10=0.00 avg60=0.00 avg300=0.00 total=0");
        total += if high.contains(&second) {
            800_000
        } else {
            40_000
        };
    }
    text
}

fn with(test: &str, host: &str, name: &str, said: &str) -> Vec<OsString> {
    let mut words = captures(test);
    let path = file(test, name, said.as_bytes());
    words.push(format!("--host={host}{}", path.display()).into());
    words
}

fn diagnosed(mut words: Vec<OsString>) -> Value {
    words.push("--format=json".into());
    let d = json(words);
    assert_integers("hosts", &d["hosts"]);
    d
}

fn codes(d: &Value) -> Vec<&str> {
    let findings = d["findings"].as_array().expect("findings");
    findings.iter().filter_map(|f| f["code"].as_str()).collect()
}

fn fit(d: &Value) -> &str {
    d["hosts"][0]["series"][0]["fit"].as_str().unwrap_or("null")
}

#[test]
fn a_server_that_is_slow_while_its_processors_are_wanted_has_host_cpu_beside_its_verdict() {
    let words = with("hosts-cpu", "server=", "psi.txt", &pressure(SLOW, 0));
    let d = diagnosed(words.clone());
    assert_eq!(
        (&d["verdict"]["side"], &d["verdict"]["cause"]),
        (&"server".into(), &"server-slow".into())
    );
    let found = d["findings"].as_array().expect("findings").iter();
    let cpu = found
        .clone()
        .find(|f| f["code"] == "host-cpu")
        .expect("host-cpu");
    assert_eq!(
        (&cpu["side"], &cpu["cost_ns"]),
        (&"server".into(), &Value::Null)
    );
    let near = |key: &str, want: i64| {
        let ns = cpu["facts"][key].as_i64().unwrap_or(-1);
        assert!((ns - want).abs() <= 4 * MS, "{key} {ns}");
    };
    near("mean_while_high_ns", 50 * MS);
    near("mean_else_ns", MS);
    let series = &d["hosts"][0]["series"][0];
    assert_eq!(series["counter"], "cpu-pressure");
    assert_eq!(
        (
            series["max_milli"].as_i64(),
            series["shifts_as_good"].as_i64()
        ),
        (Some(80_000), Some(1))
    );
    assert_eq!(d["hosts"][0]["side_from"], "said");
    let page = text(&slowside(&words).stdout);
    for said in [
        "goes with slow calls",
        "host-cpu   server   no cost of its own",
        "What tools say of the hosts",
    ] {
        assert!(page.contains(said), "{page}");
    }
    // The same verdict and costs without.
    let without = diagnosed(captures("hosts-cpu"));
    assert_eq!(d["verdict"], without["verdict"]);
    assert_eq!(without["hosts"], serde_json::json!([]));
}

#[test]
fn pressure_at_other_times_all_the_time_or_of_the_other_host_is_named_nowhere() {
    for (name, host, high, want) in [
        ("other", "server=", 40..52, "not-slower"),
        ("always", "server=", 0..SECONDS + 1, "always-high"),
        ("never", "server=", 0..0, "never-high"),
        ("client", "client=", SLOW, "not-slower"),
    ] {
        let words = with(
            &format!("hosts-{name}"),
            host,
            "psi.txt",
            &pressure(high, 0),
        );
        let d = diagnosed(words);
        assert_eq!(d["verdict"]["side"], "server", "{name}");
        assert_eq!(fit(&d), want, "{name}");
        assert!(
            !codes(&d).iter().any(|c| c.starts_with("host-")),
            "{name}: {:?}",
            codes(&d)
        );
    }
}

#[test]
fn samples_of_another_hour_are_refused_with_how_much_later_they_are() {
    let words = with(
        "hosts-later",
        "",
        "server-psi-cpu.txt",
        &pressure(SLOW, 66 * 60 + SECONDS),
    );
    let page = text(&slowside(&words).stdout);
    let flat = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("is the server's by the file's name; none of its samples lies within the capture: they are 1 h 6 min later"), "{page}");
    assert!(!page.contains("host-cpu"), "{page}");
}

#[test]
fn disks_that_are_slow_with_the_calls_explain_them_and_are_the_last_layer() {
    // Without -t times follow from the header.
    let mut iostat = format!("# {}.000 iostat -x 1\n", BEGAN_S - 1);
    for second in -1..SECONDS {
        let took = if SLOW.contains(&second) {
            "45.00"
        } else {
            "0.50"
        };
        let _ = write!(
            iostat,
            "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n 1.00 0.00 1.00 0.00 0.00 98.00\n\n\
             Device r/s w/s r_await w_await aqu-sz %util\nsda 8.00 0.00 {took} 0.00 0.10 9.00\n\n"
        );
    }
    let d = diagnosed(with("hosts-disk", "server=", "iostat.txt", &iostat));
    assert_eq!(d["verdict"]["side"], "server");
    assert!(codes(&d).contains(&"disk-slow"), "{:?}", codes(&d));
    assert!(!codes(&d).contains(&"host-cpu"), "{:?}", codes(&d));
    let layers = d["layers"].as_array().expect("layers");
    let last = layers.last().expect("a disk");
    assert_eq!(
        (&last["layer"], &last["source"]),
        (&"disk".into(), &"iostat of a disk".into())
    );
    let mean = last["mean_ns"].as_i64().unwrap_or(0);
    let want = (45 * 12 * MS + 48 * MS / 2) / SECONDS;
    assert!((mean - want).abs() < MS, "{mean} {want}");
}

#[test]
fn what_the_client_s_system_counted_is_its_layer_beside_what_the_application_noted() {
    let mount = |age: i64, n: i64| {
        let (queue, rtt) = (n * 6, n * 11);
        format!(
            "device nfs:/srv mounted on /mnt with fstype nfs4 statvers=1.1\n age: {age}\n per-op statistics\n READ: {n} {n} 0 1 1 {queue} {rtt} {}\n",
            queue + rtt
        )
    };
    let snapshots = format!(
        "# {BEGAN_S} cat /proc/self/mountstats\n{}# {} cat /proc/self/mountstats\n{}",
        mount(100, 0),
        BEGAN_S + SECONDS,
        mount(160, 480)
    );
    let mut words = with("hosts-kernel", "", "mounts.txt", &snapshots);
    let mut rows = String::from("op,t_start_ns,t_end_ns\n");
    for i in 0..8 * SECONDS {
        let at = i * SECOND / 8 + i * i % 7 * MS;
        let held = if SLOW.contains(&(at / SECOND)) {
            50 * MS
        } else {
            MS
        };
        let start = BEGAN_S * SECOND + at - AWAY - 20 * MS;
        let _ = writeln!(rows, "READ,{start},{}", start + held + 2 * AWAY + 21 * MS);
    }
    let app = file("hosts-kernel", "app.csv", rows.as_bytes());
    words.extend(["--app".into(), app.into()]);
    let d = diagnosed(words);
    let layers: Vec<_> = d["layers"]
        .as_array()
        .expect("layers")
        .iter()
        .filter_map(|l| l["layer"].as_str())
        .collect();
    assert_eq!(
        layers,
        ["application", "client-kernel", "client-wire", "server-wire"]
    );
    let kernel = &d["layers"][1];
    assert_eq!(
        (
            kernel["mean_ns"].as_i64(),
            kernel["beyond_next_ns"].as_i64()
        ),
        (Some(17 * MS), Some(6 * MS))
    );
    assert_eq!(d["hosts"][0]["side_from"], "tool");
}

/// A sample a second of the server's connection, whose client's window held it up for so long of each second.
fn ss(limited_ms: i64) -> String {
    let mut ss = String::new();
    for second in 1..SECONDS {
        let _ = write!(
            ss,
            "# {}.500 ss -tinm\nState Recv-Q Send-Q Local Address:Port Peer Address:PortProcess\n\
             ESTAB 0 0 10.0.0.2:2049 10.0.0.1:1000\n\t cubic wscale:7,7 rto:204 rtt:0.4/0.1 mss:1448 cwnd:{} \
             busy:{}ms rwnd_limited:{}ms(50.0%) retrans:0/2\n",
            BEGAN_S + second,
            10 + second,
            second * 980,
            second * limited_ms
        );
    }
    ss
}

#[test]
fn what_tcp_says_stands_beside_what_packets_say() {
    let d = diagnosed(with("hosts-tcp", "", "ss.txt", &ss(10)));
    let host = &d["hosts"][0];
    assert_eq!(
        (&host["side"], &host["side_from"]),
        (&"server".into(), &"addresses".into())
    );
    let k = &host["connections"][0];
    assert_eq!(
        (&k["client"], &k["direction"]),
        (&"10.0.0.1:1000".into(), &"server_to_client".into())
    );
    let n = |key: &str| k[key].as_i64();
    assert_eq!(
        (n("busy_ns"), n("rwnd_limited_ns")),
        (Some(58 * 980 * MS), Some(58 * 10 * MS))
    );
    assert_eq!(
        (n("cwnd_least_segments"), n("cwnd_most_segments")),
        (Some(11), Some(69))
    );
    assert_eq!(
        (n("rto_most_ns"), n("retransmits")),
        (Some(204 * MS), Some(0))
    );
    // What held segments of known protocols up is not accounted by when.
    assert_eq!(n("window_most_ns"), None);
    assert_eq!(k["contradicts"], false);
}

#[test]
fn what_is_nothing_of_a_host_is_refused_with_the_cure() {
    let wrong = |host: &str, said: &str| refused(with("hosts-wrong", host, "w.txt", said));
    let message = wrong("", "hello\n");
    assert!(
        message.contains("line 1: \"hello\" is nothing that --host reads"),
        "{message}"
    );
    let message = wrong(
        "server=",
        "procs ---\n r  b swpd si so us sy id wa st\n1 0 0 0 0 1 1 98 0 0\n",
    );
    assert!(message.contains("take vmstat -t"), "{message}");
    let mut words = captures("hosts-wrong");
    words.push("--host=server=".into());
    assert!(text(&slowside(&words).stderr).contains("no file is named"));
}

#[test]
fn names_of_hosts_and_volumes_become_pseudonyms() {
    let sar = "Linux 6.1 (payroll-db) \t11/22/26 \t_x86_64_\t(2 CPU)\n\n\
        16:58:30 DEV tps await %util\n16:58:31 vg_payroll-data 1.00 3.00 4.00\n16:58:32 vg_payroll-data 1.00 3.00 4.00\n";
    let mut words = with("hosts-names", "server=", "payroll.txt", sar);
    words.push("--anonymise=a long enough key".into());
    for format in ["json", "text", "markdown"] {
        let mut words = words.clone();
        words.push(format!("--format={format}").into());
        let said = text(&slowside(&words).stdout);
        assert!(
            said.contains("disk-await") && !said.contains("payroll"),
            "{said}"
        );
    }
}

#[test]
fn rows_of_calls_say_which_counter_was_high_as_they_began() {
    let mut words = with("hosts-calls", "server=", "psi.txt", &pressure(SLOW, 0));
    words[0] = "calls".into();
    words.extend([
        "--format=jsonl".into(),
        "--columns=response_time_ns,host_pressure".into(),
    ]);
    let rows = |words: &[OsString]| -> Vec<(bool, String)> {
        let lines = text(&slowside(words).stdout);
        let rows = lines
            .lines()
            .map(|l| serde_json::from_str::<Value>(l).expect("JSON"));
        let is_slow = |r: &Value| {
            r["response_time_ns"]
                .as_i64()
                .is_some_and(|ns| ns > 10 * MS)
        };
        rows.map(|r| (is_slow(&r), r["host_pressure"].to_string()))
            .collect()
    };
    let all = rows(&words);
    let high = r#"[{"side":"server","counter":"cpu-pressure","device":""}]"#;
    for (is_slow, pressure) in &all {
        assert_eq!(pressure, if *is_slow { high } else { "[]" });
    }
    assert!(all.iter().filter(|(slow, _)| *slow).count() > 80);
    // What comes and goes with no regard to the calls is of none.
    let last = words.len() - 3;
    let apart = file("hosts-calls", "apart.txt", pressure(40..52, 0).as_bytes());
    words[last] = format!("--host=server={}", apart.display()).into();
    assert!(rows(&words).iter().all(|(_, pressure)| pressure == "[]"));
}
