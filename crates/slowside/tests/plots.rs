//! Pictures of connections: what they show is what `conns` counts and what tshark sees, packet by
//! packet, on the captures of `tests/lab`.

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests fail by panicking"
)]

use analysis::results::{ConnectionPlot, ConnectionResult, ConnsResult};
use model::{DirectionPlot, Endpoint, LinkType, PacketRef, SegmentKind, limits};
use slowside::{Captures, Config, conns, plots, points_within, spool};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use testkit::at_hand::{has_known_tshark, nanoseconds, root, sample};
use testkit::{Conversation, Format, TestPacket, pcap, rpc};

/// More points than any capture here has.
const EVERYTHING: usize = limits::PLOT_POINTS;

fn lab() -> PathBuf {
    root().join("tests/lab")
}

fn cases() -> Vec<PathBuf> {
    let cases = std::fs::read_dir(lab()).expect("tests/lab").flatten();
    let mut cases: Vec<PathBuf> = cases.map(|case| case.path()).collect();
    cases.retain(|case| case.is_dir());
    cases.sort();
    cases
}

fn files(case: &Path) -> Vec<PathBuf> {
    let files = ["client", "server"].map(|side| case.join(format!("{side}.pcap.zst")));
    files.into_iter().filter(|file| file.exists()).collect()
}

/// All connections of captures, and their pictures.
fn drawn(captures: &Captures, points: usize) -> (ConnsResult, Vec<ConnectionPlot>) {
    let result = conns(captures, &Config::default(), &mut |_| ()).expect("captures");
    let chosen: Vec<ConnectionResult> = result.connections.iter().collect();
    let plots = plots(captures, &result, &chosen, points, &mut |_| ()).expect("captures");
    (result, plots)
}

fn alone(file: &Path, points: usize) -> Vec<(ConnectionResult, [DirectionPlot; 2])> {
    let (result, plots) = drawn(&Captures::One(vec![file.to_owned()]), points);
    let plots = plots.into_iter().map(|p| {
        assert_eq!(p.views.len(), 1, "{}", file.display());
        p.views.into_iter().next().expect("a view").plot.directions
    });
    result.connections.iter().zip(plots).collect()
}

/// Holds the pictures of a file against the account of each connection.
fn hold(file: &Path, points: usize) {
    for (c, directions) in alone(file, points) {
        for (result, plot) in c.directions.iter().zip(&directions) {
            let what = format!("{} connection {}", file.display(), c.number);
            let (account, counts) = (&result.account, &result.counts);
            assert_eq!(plot.band.time_ns, account.time_ns, "{what}");
            let ends = plot.band.stretches.first().zip(plot.band.stretches.last());
            let ends = ends.map(|(first, last)| (first.first, last.until));
            assert_eq!(
                ends,
                (c.first < c.last).then_some((c.first, c.last)),
                "{what}"
            );
            let gapless = plot.band.stretches.windows(2);
            assert!(
                gapless.into_iter().all(|w| w[0].until == w[1].first),
                "{what}"
            );
            assert_eq!(plot.round_trips.seen, account.rtt.count, "{what}");
            let slowest = plot.round_trips.points.iter().map(|p| p.ns).max();
            assert_eq!(slowest.unwrap_or(0), account.rtt.max_ns, "{what}");
            let flight = plot.flight.points.iter().map(|p| p.bytes).max();
            assert_eq!(flight.unwrap_or(0), account.flight_max_bytes, "{what}");
            assert_eq!(plot.retransmissions, counts.retransmitted_packets, "{what}");
            let sent: u64 = plot.throughput.used().map(|(_, i)| i.payload_bytes).sum();
            assert_eq!(sent, counts.payload_bytes, "{what}");
            if points == EVERYTHING {
                assert_eq!(plot.points().0, plot.points().1, "{what}");
                assert_eq!((plot.bucket_ns(), plot.band.bucket_ns), (None, None));
                assert_eq!(plot.retransmissions_kept, plot.retransmissions, "{what}");
            } else {
                let lists = [
                    plot.segments.points.len(),
                    plot.acks.points.len(),
                    plot.flight.points.len(),
                    plot.round_trips.points.len(),
                    plot.band.stretches.len(),
                ];
                assert!(lists.iter().all(|n| *n <= points), "{what}: {lists:?}");
            }
        }
    }
}

#[test]
fn pictures_of_the_lab_show_what_conns_counts() {
    for file in cases().iter().flat_map(|case| files(case)) {
        hold(&file, 100);
        hold(&file, EVERYTHING);
    }
}

#[test]
fn pictures_of_public_captures_show_what_conns_counts() {
    let Some(samples) = sample("") else { return };
    let mut held = 0;
    for folder in ["tcp", "nfs", "db"] {
        let files = std::fs::read_dir(samples.join(folder)).expect("a folder");
        for file in files.flatten().map(|f| f.path()).filter(|f| f.is_file()) {
            let captures = Captures::One(vec![file.clone()]);
            if conns(&captures, &Config::default(), &mut |_| ()).is_ok() {
                hold(&file, 100);
                held += 1;
            }
        }
    }
    assert!(held > 100, "{held}");
}

#[test]
fn both_captures_have_their_own_pictures_in_any_order() {
    let mut exchanged = 0;
    for case in ["packet-loss", "loss-download", "server-cap"] {
        let [client, server] = &files(&lab().join(case))[..] else {
            panic!("{case} is a pair");
        };
        let paths = |file: &PathBuf| vec![file.clone()];
        let given = Captures::Two(paths(client), paths(server));
        let turned = Captures::Two(paths(server), paths(client));
        let (result, plots) = drawn(&given, 500);
        let (other, same) = drawn(&turned, 500);
        exchanged += usize::from(other.exchanged);
        let views = |result: &ConnsResult, plots: Vec<ConnectionPlot>| {
            let views = plots.into_iter().flat_map(|p| p.views).map(|view| {
                let file = result.captures[view.capture].files[0].clone();
                ((file, view.plot.connection), view.plot)
            });
            views.collect::<BTreeMap<_, _>>()
        };
        let expected: BTreeMap<_, _> = [client, server]
            .into_iter()
            .flat_map(|file| {
                let (result, plots) = drawn(&Captures::One(paths(file)), 500);
                views(&result, plots)
            })
            .collect();
        assert_eq!(views(&result, plots), expected, "{case}");
        assert_eq!(views(&other, same), expected, "{case} turned");
    }
    assert!(exchanged > 0, "the wrong order is noticed");
}

#[test]
fn one_chosen_connection_is_drawn_as_among_all() {
    let file = files(&lab().join("loss-download")).remove(0);
    let captures = Captures::One(vec![file]);
    let (result, all) = drawn(&captures, 300);
    for (c, expected) in result.connections.iter().zip(&all) {
        let one = plots(&captures, &result, &[c], 300, &mut |_| ()).expect("a capture");
        assert_eq!(one[0].number, expected.number);
        assert_eq!(one[0].views[0].plot, expected.views[0].plot);
    }
}

#[test]
fn points_are_shared_out_where_they_are_needed() {
    for case in ["chatty", "loss-download", "server-cap"].map(|case| lab().join(case)) {
        let captures = match &files(&case)[..] {
            [client, server] => Captures::Two(vec![client.clone()], vec![server.clone()]),
            files => Captures::One(files.to_vec()),
        };
        let result = conns(&captures, &Config::default(), &mut |_| ()).expect("captures");
        let chosen: Vec<ConnectionResult> = result.connections.iter().collect();
        for all in [2_000, 20_000, 2_000_000] {
            let points = points_within(all, &chosen);
            let plots = plots(&captures, &result, &chosen, points, &mut |_| ()).expect("captures");
            let views = plots.iter().flat_map(|p| &p.views);
            let (kept, seen) = views
                .map(|v| v.plot.points())
                .fold((0, 0), |sum, (kept, seen)| (sum.0 + kept, sum.1 + seen));
            let what = format!("{}: {kept} of {seen}, {points} a curve", case.display());
            assert!(kept <= all as u64, "{what}");
            assert!(all < 2_000_000 || kept == seen, "{what}");
        }
    }
}

#[test]
fn points_name_the_file_and_the_frame_in_it() {
    let mut c = Conversation::nfs();
    c.handshake();
    for id in 0..40 {
        c.client(&rpc::record(&rpc::read_call(id, b"file", 0, 512)));
        c.server(&rpc::record(&rpc::read_reply(id, &[1; 512], false)));
        c.client_ack();
    }
    let packets = c.packets();
    let format = Format {
        nanoseconds: true,
        ..Format::default()
    };
    let write = |name: &str, packets: &[TestPacket]| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("plots-{}-{name}.pcap", std::process::id()));
        std::fs::write(&path, pcap(packets, LinkType(1), format)).expect("cargo's folder");
        path
    };
    let whole = write("whole", &packets);
    let (before, behind) = packets.split_at(50);
    let rotated = vec![write("1", before), write("2", behind)];
    let points = |inputs: &[PathBuf]| {
        let (_, plots) = drawn(&Captures::One(inputs.to_vec()), EVERYTHING);
        let [there, back] = plots[0].views[0].plot.directions.clone();
        let segments = there
            .segments
            .points
            .into_iter()
            .chain(back.segments.points);
        segments.map(|s| (s.time, s.packet)).collect::<Vec<_>>()
    };
    let split = points(&rotated).into_iter().map(|(time, at)| {
        let frame = at.frame + if at.file == 1 { 50 } else { 0 };
        (time, PacketRef { file: 0, frame })
    });
    let split: Vec<_> = split.collect();
    assert_eq!(
        (split.len(), &split),
        (80, &points(std::slice::from_ref(&whole)))
    );
    for file in rotated.iter().chain([&whole]) {
        std::fs::remove_file(file).expect("the file");
    }
}

#[test]
#[cfg(unix)]
fn a_named_pipe_can_be_read_twice_once_it_is_kept() {
    let file = files(&lab().join("packet-loss")).remove(0);
    let expected = alone(&file, 200);
    let pipe = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pipe-{}", std::process::id()));
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::copy(file, pipe)
    });
    let mut notes = Vec::new();
    let captures = Captures::One(vec![pipe.clone()]);
    spool(&captures, &mut |event| {
        if let slowside::Event::Note(note) = event {
            notes.push(note);
        }
    })
    .expect("a pipe");
    writer
        .join()
        .expect("the writer")
        .expect("the pipe takes all");
    assert!(
        notes[0].contains("kept in") && notes.len() == 1,
        "{notes:?}"
    );
    assert_eq!(
        alone(&pipe, 200)
            .into_iter()
            .map(|(_, d)| d)
            .collect::<Vec<_>>(),
        expected.into_iter().map(|(_, d)| d).collect::<Vec<_>>()
    );
    spool(&captures, &mut |event| panic!("{event:?}: it is kept")).expect("nothing to do");
    std::fs::remove_file(pipe).expect("the pipe");
}

/// A packet as tshark shows it.
#[derive(Debug)]
struct Shown {
    time_ns: i64,
    source: String,
    /// Counted from the first byte of data.
    from: i64,
    bytes: i64,
    acknowledged: Option<i64>,
    window: i64,
    ack_rtt_ns: Option<i64>,
    /// The window field as it is, before any scale.
    window_field: i64,
    /// It was sent again, or late, or asks.
    again: bool,
    late: bool,
    probe: bool,
}

fn tshark(path: &Path) -> BTreeMap<u32, Shown> {
    const FIELDS: [&str; 15] = [
        "frame.number",
        "frame.time_epoch",
        "ip.src",
        "ipv6.src",
        "tcp.srcport",
        "tcp.seq",
        "tcp.len",
        "tcp.ack",
        "tcp.window_size",
        "tcp.analysis.ack_rtt",
        "tcp.window_size_value",
        "tcp.analysis.retransmission",
        "tcp.analysis.out_of_order",
        "tcp.analysis.keep_alive",
        "tcp.analysis.zero_window_probe",
    ];
    let output = Command::new("tshark")
        .args(["-n", "-Y", "tcp && !icmp && !icmpv6", "-T", "fields"])
        .args(["-E", "occurrence=f", "-r"])
        .arg(path)
        .args(FIELDS.iter().flat_map(|f| ["-e", f]))
        .stderr(Stdio::null())
        .output()
        .expect("tshark");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let rows = text.lines().map(|line| {
        let f: Vec<&str> = line.split('\t').collect();
        let number = |i: usize| f[i].parse::<i64>().ok();
        let shown = Shown {
            time_ns: nanoseconds(f[1]),
            source: format!("{}{}:{}", f[2], f[3], f[4]),
            from: number(5).expect("a sequence number") - 1,
            bytes: number(6).expect("a length"),
            acknowledged: number(7).map(|n| n - 1),
            window: number(8).expect("a window"),
            ack_rtt_ns: (!f[9].is_empty()).then(|| nanoseconds(f[9])),
            window_field: number(10).expect("a window"),
            again: !f[11].is_empty(),
            late: !f[12].is_empty(),
            probe: !(f[13].is_empty() && f[14].is_empty()),
        };
        (number(0).expect("a frame") as u32, shown)
    });
    rows.collect()
}

fn name(end: Endpoint) -> String {
    format!("{}:{}", end.address, end.port)
}

#[test]
fn every_point_is_the_packet_that_tshark_sees() {
    if !has_known_tshark() {
        return;
    }
    let (mut segments, mut acks, mut retransmissions) = (0, 0, 0);
    let (mut round_trips, mut by_rule) = (0, 0);
    for case in [
        "packet-loss",
        "loss-download",
        "full-link",
        "small-window",
        "nfs-server-reads-late",
        "nagle-delayed-ack",
        "outage",
    ] {
        let loses = ["packet-loss", "loss-download", "full-link", "outage"].contains(&case);
        for file in files(&lab().join(case)) {
            let seen = tshark(&file);
            for (c, directions) in alone(&file, EVERYTHING) {
                for (i, plot) in directions.iter().enumerate() {
                    let [sender, receiver] = match i {
                        0 => [c.client, c.server],
                        _ => [c.server, c.client],
                    };
                    for s in &plot.segments.points {
                        let shown = &seen[&s.packet.frame];
                        let ours = (
                            s.time.0,
                            name(sender),
                            s.from as i64,
                            (s.to - s.from) as i64,
                        );
                        let theirs = (shown.time_ns, shown.source.clone(), shown.from, shown.bytes);
                        assert_eq!(ours, theirs, "{} frame {}", file.display(), s.packet.frame);
                        segments += 1;
                        let kind = match s.kind {
                            SegmentKind::New => [false, false, false],
                            // What fills a hole soon is overtaken for tshark, also behind acknowledgements
                            // that ask for it.
                            SegmentKind::Retransmission if shown.late => [false, true, false],
                            SegmentKind::Retransmission | SegmentKind::SpuriousRetransmission => {
                                retransmissions += 1;
                                [true, false, false]
                            }
                            SegmentKind::OutOfOrder => [false, true, false],
                            SegmentKind::Probe => [false, false, true],
                        };
                        let theirs = [shown.again, shown.late, shown.probe];
                        assert_eq!(kind, theirs, "{} frame {}", file.display(), s.packet.frame);
                    }
                    for a in &plot.acks.points {
                        let shown = &seen[&a.packet.frame];
                        assert_eq!(
                            (a.time.0, name(receiver)),
                            (shown.time_ns, shown.source.clone())
                        );
                        let said = shown.acknowledged.expect("an acknowledgement");
                        // One that was overtaken tells of the window alone.
                        assert!(
                            a.acknowledged as i64 >= said,
                            "{} frame {}",
                            file.display(),
                            a.packet.frame
                        );
                        if let Some(end) = a.window_end
                            && a.acknowledged as i64 == said
                        {
                            assert!(
                                [shown.window, shown.window_field].contains(&(end as i64 - said)),
                                "{} frame {}: {a:?} {shown:?}",
                                file.display(),
                                a.packet.frame
                            );
                            acks += 1;
                        }
                    }
                    for r in &plot.round_trips.points {
                        let shown = &seen[&r.packet.frame];
                        assert_eq!(
                            (r.time.0, name(receiver)),
                            (shown.time_ns, shown.source.clone())
                        );
                        // Where something was lost, timestamps and selective acknowledgements tell
                        // round trips that tshark does not take: net has the rules, each by name.
                        if Some(r.ns) != shown.ack_rtt_ns {
                            assert!(loses, "{} frame {}", file.display(), r.packet.frame);
                            by_rule += 1;
                        }
                        round_trips += 1;
                    }
                }
            }
        }
    }
    assert!(
        segments > 5_000 && acks > 2_000 && round_trips > 1_000 && retransmissions > 100,
        "{segments} {acks} {round_trips} {retransmissions}"
    );
    assert!(by_rule * 5 < round_trips, "{by_rule} of {round_trips}");
}
