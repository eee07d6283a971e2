//! A database's trace as application evidence: `--app orcl_ora_4711.trc`.

use super::capture;
use super::contract::{assert_integers, json};
use crate::kit::{file, refused, root, slowside, text};
use serde_json::Value;
use std::fmt::Write;
use std::path::PathBuf;
use testkit::{Conversation, TestPacket, faults, rpc};

const MS: i64 = 1_000_000;
const READS: u32 = 60;

/// 2026, since when a log's times count from 1970.
const BEGAN: i64 = 1_795_366_702_000 * MS;

/// When, for a client that is 200 µs away from its server, a read begins, and how long the server takes.
fn read(i: u32) -> (i64, i64) {
    let i = i64::from(i);
    let begins = (10 + 12 * i + i * i % 7) * MS;
    (begins, (1 + i % 5) * MS)
}

fn block(i: u32) -> u32 {
    1_000 + i * 37 % 1_009
}

/// The reads as the server's capture and the client's hold them; the last reads 4 blocks in two READs.
fn captures(test: &str) -> [PathBuf; 2] {
    captures_of(test, 0)
}

/// The same, so much later.
fn captures_of(test: &str, later_ns: i64) -> [PathBuf; 2] {
    let mut c = Conversation::nfs();
    c.handshake().spacing(0);
    for i in 0..READS {
        let (begins, takes) = read(i);
        let offset = u64::from(block(i)) * 8_192;
        let sizes: &[u32] = if i + 1 == READS {
            &[16_384; 2]
        } else {
            &[8_192]
        };
        c.at(2_000 * MS + begins + MS / 10);
        for (&size, k) in sizes.iter().zip(0..) {
            let offset = offset + u64::from(k * size);
            c.client(&rpc::record(&rpc::read_call(
                2 * i + k,
                b"users01",
                offset,
                size,
            )));
        }
        c.server_ack().after(takes);
        for (&size, k) in sizes.iter().zip(0..) {
            let data = vec![7; size as usize];
            c.server(&rpc::record(&rpc::read_reply(2 * i + k, &data, false)));
        }
        c.after(MS / 5).client_ack();
    }
    let server: Vec<TestPacket> = c.packets();
    let (from, to) = (([10, 0, 0, 1], 1000).into(), ([10, 0, 0, 2], 2049).into());
    let client = faults::delay(&faults::delay(&server, from, -MS / 10), to, MS / 10);
    [("client.pcap", client), ("server.pcap", server)].map(|(name, mut packets)| {
        for packet in &mut packets {
            packet.time += later_ns;
        }
        file(test, name, &capture(&packets))
    })
}

/// What the database notes of them: its clock began long ago and gains 50 ppm, its host takes 30 µs before
/// and 70 µs behind each read.
fn trace(later_ns: i64) -> String {
    let mut t = String::from(
        "Trace file /u01/app/oracle/diag/rdbms/orcl/orcl/trace/orcl_ora_4711.trc\n\
         Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production\n\
         \n\
         =====================\n\
         PARSING IN CURSOR #140 len=22 dep=0 uid=106 oct=3 lid=106 tim=5793511830834 hv=1 ad='7' sqlid='1'\n\
         select * from orders t\n\
         END OF STMT\n",
    );
    for i in 0..READS {
        let (begins, takes) = read(i);
        let start = begins - 30_000;
        // Both READs of the last wait leave at once and come back at once.
        let end = begins + takes + MS / 5 + 70_000;
        let tim = |t: i64| (777_777 * MS + later_ns + t + t / 20_000) / 1_000;
        let (event, blocks) = match i + 1 == READS {
            true => ("db file scattered read", 4),
            false => ("db file sequential read", 1),
        };
        let _ = writeln!(
            t,
            "WAIT #140: nam='{event}' ela= {} file#=7 block#={} blocks={blocks} obj#=1 tim={}",
            (end - start) / 1_000,
            block(i),
            tim(end)
        );
    }
    t.push_str("FETCH #140:c=1,e=2,p=60,cr=60,cu=0,mis=0,r=1,dep=0,og=1,plh=1,tim=5793511830999\n");
    t
}

#[test]
fn a_trace_is_joined_with_reads_io_by_io() {
    let [client, server] = captures("app-trace");
    let app = file("app-trace", "orcl_ora_4711.trc", trace(0).as_bytes());
    let arguments = |format: &str| {
        let mut words: Vec<std::ffi::OsString> = vec!["diagnose".into()];
        words.extend(["--client".into(), client.clone().into()]);
        words.extend(["--server".into(), server.clone().into()]);
        words.extend([
            "--app".into(),
            app.clone().into(),
            format!("--format={format}").into(),
        ]);
        words
    };
    let d = json(arguments("json"));
    assert_integers("", &d);
    let a = &d["app"];
    assert_eq!(a["waits"]["joined"], READS);
    assert_eq!(a["block_bytes"], 8_192);
    assert_eq!(a["files"][0]["file"], 7);
    assert!(a["files"][0]["handle"].is_string());
    // 100 µs above the wire, as far as microseconds and the acknowledged last byte tell.
    let host = d["budget"]["client_host_ns"]
        .as_i64()
        .expect("the client's host");
    assert!((98_000..=102_000).contains(&host), "{host}");
    // The capture began 2 s after the zero of the script's times, the trace's clock 777.777 s after it.
    let clock = &a["clock"];
    let [offset, at, uncertainty] = ["offset_ns", "offset_at_ns", "uncertainty_ns"]
        .map(|k| clock[k].as_i64().expect("a number"));
    let passed = at - 2_000 * MS;
    let truth = 777_777 * MS - 2_000 * MS + passed / 20_000;
    assert!(
        (offset - truth).abs() <= uncertainty,
        "{clock}, truly {truth}"
    );
    assert!(uncertainty < 60_000, "{clock}");
    let drift = clock["drift_ppm"].as_f64().expect("a number");
    let open = clock["drift_uncertainty_ppm"].as_f64().expect("a number");
    assert!((drift - 50.0).abs() <= open + 1.0, "{clock}");

    let joined = a["joined"].as_array().expect("a list");
    assert_eq!(joined.len(), READS as usize);
    let large: Vec<&Value> = joined.iter().filter(|j| j["reads"] == 2).collect();
    assert_eq!(large.len(), 1);
    assert_eq!(large[0]["event"], "db file scattered read");
    assert_eq!(large[0]["block"], block(READS - 1));
    let ns = |j: &Value, key: &str| j[key].as_i64().expect("a number");
    for j in joined {
        let wire = ns(j, "client_wire_ns");
        assert!(
            (98_000..=102_000).contains(&(ns(j, "oracle_ns") - wire)),
            "{j}"
        );
        assert_eq!(wire - ns(j, "server_wire_ns"), MS / 5, "{j}");
        let evidence = &j["evidence"][0];
        let frames = evidence["frames"].as_array().expect("frames");
        assert!(frames.len() >= 2, "{j}");
        assert!(
            evidence["filter"]
                .as_str()
                .is_some_and(|f| f.starts_with("frame.number in {"))
        );
    }
    let times: Vec<i64> = joined.iter().map(|j| ns(j, "oracle_ns")).collect();
    assert!(times.is_sorted_by(|a, b| a >= b));

    let page = slowside(arguments("text"));
    let page = text(&page.stdout);
    assert!(
        page.lines()
            .all(|l| l.chars().count() <= 80 || l.contains("tshark")),
        "{page}"
    );
    let section = page.split("\n\n").find(|s| s.starts_with("Oracle's waits"));
    expect_test::expect![[r#"
        Oracle's waits for blocks of 8,192 bytes and the READs that served them
          mean, in ms              waits  joined  Oracle  client  server      sum
          db file sequential read     59      59   3.266   3.166   2.966   193 ms
          db file scattered read       1       1   5.300   5.200   5.000  5.30 ms
          longest, in ms  block  blocks  Oracle  client  server  frames
          file 7           1148       1   5.300   5.200   5.000  40,47
          file 7           1333       1   5.300   5.200   5.000  85,92
          file 7           1518       1   5.300   5.200   5.000  130,137
          file 7           1703       1   5.300   5.200   5.000  175,182
          file 7           1888       1   5.300   5.200   5.000  220,227
          file 7           1064       1   5.300   5.200   5.000  265,272
          file 7           1249       1   5.300   5.200   5.000  310,317
          file 7           1434       1   5.300   5.200   5.000  355,362
          file 7           1619       1   5.300   5.200   5.000  400,407
          file 7           1804       1   5.300   5.200   5.000  445,452
          60 of 60 waits while the capture ran were joined. The trace's clock is 12 min
          56 s ahead of the client capture's (±51.5 µs) and drifts by 49.9 ppm (±145.8),
          by 60 pairs."#]]
    .assert_eq(section.unwrap_or(&page));
}

/// With the client's capture alone there are no times at the server, and a trace of another hour is left
/// out, in words.
#[test]
fn a_trace_that_does_not_fit_is_left_out_in_words() {
    let [client, _] = captures("app-alone");
    let app = file("app-alone", "a.trc", trace(0).as_bytes());
    let one = |app: &PathBuf| {
        json([
            "--client".as_ref(),
            client.as_os_str(),
            "--app".as_ref(),
            app.as_os_str(),
            "--format=json".as_ref(),
        ])
    };
    let d = one(&app);
    assert_eq!(d["app"]["waits"]["joined"], READS);
    assert_eq!(d["app"]["joined"][0]["server_wire_ns"], Value::Null);

    // Waits that take turns with each other's blocks.
    let mut lines: Vec<String> = trace(0).lines().map(str::to_owned).collect();
    let blocks: Vec<String> = (0..READS)
        .map(|i| format!("block#={} ", block(i)))
        .collect();
    for line in &mut lines {
        if let Some(at) = blocks.iter().position(|b| line.contains(b.as_str())) {
            let other = &blocks[(at * 23 + 11) % blocks.len()];
            *line = line.replace(&blocks[at], other);
        }
    }
    let other = file("app-alone", "b.trc", lines.join("\n").as_bytes());
    let d = one(&other);
    assert_eq!(d["app"], Value::Null);
    let notes = d["notes"].to_string();
    assert!(notes.contains("clock could not be found"), "{notes}");
}

/// When reads were asked for and done, by a host that takes 300 µs before and 100 µs behind each.
fn rows(later_ns: i64) -> String {
    let mut rows = String::from("start_ns,end_ns,op\n");
    for i in 0..READS {
        let (begins, takes) = read(i);
        // As the script's packets have it: its capture begins 2 s after the zero of its times.
        let start = BEGAN + later_ns + begins - 3 * MS / 10;
        let end = BEGAN + later_ns + begins + takes + MS / 5 + MS / 10;
        let _ = writeln!(rows, "{start},{end},READ");
    }
    rows
}

#[test]
fn rows_without_offsets_are_joined_by_time_or_refused_and_nothing_is_dropped_in_silence() {
    let [client, server] = captures_of("app-rows", BEGAN - 2_000 * MS);
    let with = |name: &str, text: &str| {
        let app = file("app-rows", name, text.as_bytes());
        let mut words: Vec<std::ffi::OsString> = vec!["--client".into(), client.clone().into()];
        words.extend(["--server".into(), server.clone().into()]);
        words.extend(["--app".into(), app.into(), "--format=json".into()]);
        let d = json(words);
        assert_integers("", &d);
        d
    };
    let more = rows(0) + "1795366702403934341,0,READ\nx,1,READ\n";
    let d = with("rows.csv", &more);
    assert_eq!(d["app"]["compared_by"], "time", "{}", d["notes"]);
    let notes = d["notes"].to_string();
    for said in [
        "1 lines of the CSV",
        "1 operations without an end",
        "operations found on the wire by time",
    ] {
        assert!(notes.contains(said), "{said}: {notes}");
    }

    let d = with("hour.csv", &rows(3_960_000 * MS));
    assert_eq!(d["app"], Value::Null);
    let notes = d["notes"].to_string();
    assert!(
        notes.contains("none of 60 rows lies within the capture: they begin 1 h 6 min later"),
        "{notes}"
    );

    let d = with("list.csv", "latency_ms\n0.1\n0.1\n");
    assert_eq!(d["budget"]["client_host_ns"], Value::Null);
    assert!(d["notes"].to_string().contains("contradict the capture"));
}

#[test]
fn a_trace_without_waits_for_blocks_is_refused() {
    let [client, _] = captures("app-nothing");
    let calls: String = trace(0)
        .lines()
        .filter(|l| !l.starts_with("WAIT"))
        .map(|l| format!("{l}\n"))
        .collect();
    let app = file("app-nothing", "a.trc", calls.as_bytes());
    let message = refused([client.as_os_str(), "--app".as_ref(), app.as_os_str()]);
    assert!(
        message.contains("no wait for blocks of a data file"),
        "{message}"
    );
}

/// What a real client noted of its READs, written as a database would: on another clock.
#[test]
fn the_clock_of_a_real_client_s_times_is_found() {
    let lab = root().join("tests/lab/client-cap");
    let packed = std::fs::File::open(lab.join("client_ops.csv.gz")).expect("the lab's pair");
    let mut rows = String::new();
    std::io::Read::read_to_string(&mut flate2::read::GzDecoder::new(packed), &mut rows)
        .expect("the lab's pair");
    let clock = |ns: i64, from: i64| ns - 1_111_222_333_444_555 - (ns - from) / 12_000;
    let mut from = None;
    let mut trace = String::from("Trace file /u01/orcl_ora_4711.trc\n");
    let mut waits = 0;
    // id,op,offset,len,t_enq_ns,t_issue_ns,t_done_ns,status
    for row in rows.lines().filter(|r| r.contains(",READ,")) {
        let numbers: Vec<i64> = row.split(',').map(|n| n.parse().unwrap_or(0)).collect();
        let [_, _, offset, size, _, start, end, _] = numbers[..] else {
            panic!("{row}");
        };
        let from = *from.get_or_insert(start);
        let _ = writeln!(
            trace,
            "WAIT #1: nam='db file sequential read' ela= {} file#=9 block#={} blocks={} obj#=1 tim={}",
            (end - start) / 1_000,
            offset / 8_192,
            size / 8_192,
            clock(end, from).div_euclid(1_000)
        );
        waits += 1;
    }
    let app = file("app-lab", "a.trc", trace.as_bytes());
    let d = json([
        "--client".as_ref(),
        lab.join("client.pcap.zst").as_os_str(),
        "--server".as_ref(),
        lab.join("server.pcap.zst").as_os_str(),
        "--app".as_ref(),
        app.as_os_str(),
        "--format=json".as_ref(),
    ]);
    let a = &d["app"];
    assert_eq!(a["waits"]["trace"], waits);
    let joined = a["waits"]["joined"].as_i64().expect("a number");
    assert!(joined * 100 > waits * 98, "{joined} of {waits}");
    let number = |key: &str| a["clock"][key].as_i64().expect("a number");
    let at = number("offset_at_ns");
    let truth = clock(at, from.expect("a READ")) - at;
    let miss = (number("offset_ns") - truth).abs();
    assert!(miss <= number("uncertainty_ns"), "{}", a["clock"]);
    assert!(number("uncertainty_ns") < 20_000, "{}", a["clock"]);
}
