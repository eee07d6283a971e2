//! Pairs of captures of real NFS traffic, whose cause is known because it was put there, into what
//! `diagnose` must say of them.
//!
//! `tests/lab` holds the pairs, what was done to each (`truth.json`) and what is expected
//! (`expected.json`). Each pair is diagnosed once; each test looks at one kind of promise over all
//! pairs, and lists every miss.

use crate::kit::{answer, root};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

/// One pair: what is expected, what was done, and what slowside says.
struct Pair {
    name: String,
    want: Value,
    truth: Value,
    both: Value,
    /// What both say of connections.
    conns: Value,
    /// The client's capture alone, the server's alone.
    alone: [Value; 2],
    with_app: Option<Value>,
}

static PAIRS: LazyLock<Vec<Pair>> = LazyLock::new(|| {
    let folder = root().join("tests/lab");
    let expected = json(&folder.join("expected.json"));
    let cases = expected.as_object().expect("an object of cases").iter();
    cases
        .filter(|(name, _)| !name.starts_with('_'))
        .map(|(name, want)| Pair::diagnose(name, want, &folder.join(name)))
        .collect()
});

impl Pair {
    fn diagnose(name: &str, want: &Value, folder: &Path) -> Pair {
        let (client, server) = (
            folder.join("client.pcap.zst"),
            folder.join("server.pcap.zst"),
        );
        let [c, s] = [&client, &server].map(|p| p.to_str().expect("a UTF-8 path"));
        let app = folder.join("client_ops.csv.gz");
        let with_app = want.get("app").map(|_| {
            diagnose(&[
                "--client",
                c,
                "--server",
                s,
                "--app",
                app.to_str().expect("a UTF-8 path"),
            ])
        });
        Pair {
            name: name.into(),
            want: want.clone(),
            truth: json(&folder.join("truth.json")),
            both: diagnose(&["--client", c, "--server", s]),
            conns: answer("conns", ["--client", c, "--server", s]),
            alone: [diagnose(&[c]), diagnose(&[s])],
            with_app,
        }
    }

    /// Matched calls, by operation.
    fn matched(&self) -> impl Iterator<Item = &Value> {
        let ops = items(&self.both["ops"]).iter().map(|op| &op["matched"]);
        ops.filter(|m| m["count"].as_u64().is_some_and(|n| n > 0))
    }

    fn calls(&self) -> u64 {
        self.matched().filter_map(|m| m["count"].as_u64()).sum()
    }

    /// The mean of a field over all matched calls.
    fn mean(&self, field: &str) -> Option<f64> {
        let mut sum = 0.0;
        for m in self.matched() {
            sum += m[field].as_f64()? * m["count"].as_f64()?;
        }
        Some(sum / self.calls() as f64)
    }

    fn finding(&self, code: &str) -> Option<&Value> {
        items(&self.both["findings"])
            .iter()
            .find(|f| f["code"] == code)
    }

    /// How much the mean of the emulator's delay says of the path, in nanoseconds.
    fn delay_ns(&self, direction: &str) -> f64 {
        let mean = &self.truth["wire_measured"][direction]["emulator_delay_ms"]["mean"];
        mean.as_f64().expect("the emulator's delay") * 1e6
    }
}

fn json(path: &Path) -> Value {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn diagnose(arguments: &[&str]) -> Value {
    answer("diagnose", arguments)
}

/// The items of an array; none of what is no array.
fn items(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Runs a check over all pairs and fails with the list of everything that it missed.
fn all_pairs(check: impl Fn(&Pair, &mut dyn FnMut(String))) {
    assert!(PAIRS.len() >= 10, "{} pairs found", PAIRS.len());
    let mut misses = Vec::new();
    for pair in PAIRS.iter() {
        check(pair, &mut |miss| {
            misses.push(format!("{}: {miss}", pair.name))
        });
    }
    assert!(misses.is_empty(), "\n{}", misses.join("\n"));
}

#[test]
fn the_verdict_names_the_side_and_the_cause() {
    all_pairs(|pair, miss| {
        let (verdict, want) = (&pair.both["verdict"], &pair.want);
        if !items(&want["side"]).contains(&verdict["side"]) {
            miss(format!("side {}, want {}", verdict["side"], want["side"]));
        }
        if want.get("cause").is_some() && !items(&want["cause"]).contains(&verdict["cause"]) {
            miss(format!(
                "cause {}, want {}",
                verdict["cause"], want["cause"]
            ));
        }
        let nobody = verdict["side"] == "none" || verdict["side"] == "undetermined";
        if verdict["cause"].is_null() != nobody {
            miss(format!(
                "side {} with cause {}",
                verdict["side"], verdict["cause"]
            ));
        }
    });
}

#[test]
fn what_was_done_is_found_and_what_was_not_is_not() {
    all_pairs(|pair, miss| {
        for wanted in items(&pair.want["find"]) {
            let any = wanted
                .as_array()
                .map_or(std::slice::from_ref(wanted), Vec::as_slice);
            if !any
                .iter()
                .filter_map(Value::as_str)
                .any(|code| pair.finding(code).is_some())
            {
                miss(format!("no {wanted}"));
            }
        }
        for code in items(&pair.want["forbid"]).iter().filter_map(Value::as_str) {
            if let Some(finding) = pair.finding(code) {
                miss(format!("{code}: {}", finding["why"]));
            }
        }
    });
}

#[test]
fn findings_state_the_true_numbers() {
    all_pairs(|pair, miss| {
        for (code, facts) in pair.want["facts"].as_object().into_iter().flatten() {
            for (name, range) in facts.as_object().into_iter().flatten() {
                let stated = pair.finding(code).and_then(|f| f["facts"][name].as_f64());
                let (low, high) = (range[0].as_f64(), range[1].as_f64());
                if stated.is_none() || stated < low || stated > high {
                    miss(format!("{code} states {name} {stated:?}, truth {range}"));
                }
            }
        }
    });
}

#[test]
fn findings_stand_in_order_of_cost_and_show_frames_of_the_captures() {
    all_pairs(|pair, miss| {
        let findings = items(&pair.both["findings"]);
        let costs: Vec<i64> = findings
            .iter()
            .filter_map(|f| f["cost_ns"].as_i64())
            .collect();
        if !costs.is_sorted_by(|a, b| a >= b) {
            miss(format!("costs {costs:?}"));
        }
        for finding in findings {
            let evidence = items(&finding["evidence"]);
            let usable = |e: &Value| {
                let index = e["capture"].as_u64().unwrap_or(u64::MAX) as usize;
                let packets = pair.both["captures"][index]["packets"].as_u64();
                let frames = items(&e["frames"]).iter().map(Value::as_u64);
                let mut inside = frames.map(|f| f >= Some(1) && f <= packets);
                e["filter"].as_str().is_some_and(|f| !f.is_empty())
                    && inside.next() == Some(true)
                    && inside.all(|is_inside| is_inside)
            };
            if evidence.is_empty() || !evidence.iter().all(usable) {
                miss(format!("{} shows {}", finding["code"], finding["evidence"]));
            }
        }
    });
}

#[test]
fn calls_are_matched_and_their_parts_add_up() {
    all_pairs(|pair, miss| {
        // Where a connection fails or a message is all there is, calls are not what it is about.
        if items(&pair.want["skip"]).contains(&"calls".into()) {
            return;
        }
        let done = pair.truth["app"]["completed"]
            .as_f64()
            .expect("what the application did");
        let share = pair.want["matched"]
            .as_f64()
            .expect("the share that is matched");
        let calls = pair.calls();
        if (calls as f64) < share * done {
            miss(format!("{calls} calls matched of {done}, want {share}"));
        }
        let budget = &pair.both["budget"];
        let parts = ["network_out_ns", "server_ns", "network_back_ns"].map(|p| budget[p].as_f64());
        let [Some(out), Some(server), Some(back)] = parts else {
            return miss(format!("a part is missing: {budget}"));
        };
        let mean = pair.mean("client_mean_ns").expect("means of matched calls");
        if (out + server + back - mean).abs() > 2_000.0 {
            miss(format!("{budget} is not the mean of {mean} ns"));
        }
    });
}

const WAYS: [(&str, &str); 2] = [("client_to_server", "c2s"), ("server_to_client", "s2c")];

/// A field summed over a direction of all connections.
fn sum_over(conns: &Value, direction: &str, field: impl Fn(&Value) -> f64) -> f64 {
    let each = items(&conns["connections"]).iter();
    each.map(|c| field(&c["directions"][direction])).sum()
}

#[test]
fn what_the_network_dropped_is_counted_and_nothing_else() {
    let mut counted = 0;
    all_pairs(|pair, miss| {
        for (direction, way) in WAYS {
            let wire = &pair.truth["wire_measured"][way];
            let Some(dropped) = wire["dropped_tcp_data_frames"].as_f64() else {
                return;
            };
            let lost = sum_over(&pair.conns, direction, |d| {
                d["lost_on_network_packets"].as_f64().unwrap_or(0.0)
            });
            let exact = dropped == 0.0 && lost == 0.0;
            if !exact && (lost - dropped).abs() > f64::max(1.0, 0.05 * dropped) {
                miss(format!(
                    "{direction}: {lost} packets lost, the wire dropped {dropped}"
                ));
            }
        }
    });
    for pair in PAIRS.iter() {
        counted +=
            usize::from(!pair.truth["wire_measured"]["c2s"]["dropped_tcp_data_frames"].is_null());
    }
    assert!(counted >= 10, "{counted} pairs know what the wire dropped");
}

#[test]
fn every_nanosecond_of_a_connection_is_in_one_class() {
    all_pairs(|pair, miss| {
        for c in items(&pair.conns["connections"]) {
            let number = |v: &Value| v.as_i64().expect("a number");
            let lifetime = number(&c["last_ns"]) - number(&c["first_ns"]);
            for (direction, _) in WAYS {
                let classes = &c["directions"][direction]["time_ns"];
                let each = classes.as_object().expect("classes").values();
                let sum: i64 = each.map(number).sum();
                if sum != lifetime {
                    miss(format!(
                        "{direction}: {sum} ns in classes, {lifetime} ns in all"
                    ));
                }
            }
        }
    });
}

#[test]
fn windows_limit_as_long_as_the_sender_s_kernel_says() {
    let mut compared = 0;
    for pair in PAIRS.iter() {
        let kernel = &pair.truth["tcp_info"];
        let (Some(busy), Some(limited)) = (
            kernel["busy_time"].as_f64(),
            kernel["rwnd_limited"].as_f64(),
        ) else {
            continue;
        };
        // Microseconds of one who hardly sends say nothing.
        if busy < 500_000.0 {
            continue;
        }
        compared += 1;
        let waited = sum_over(&pair.conns, "client_to_server", |d| {
            let time = |class: &str| d["time_ns"][class].as_f64().expect("a class");
            time("receiver-application") + time("small-window")
        });
        let (share, truth) = (waited / (busy * 1e3), limited / busy);
        assert!(
            (share - truth).abs() <= 0.1,
            "{}: {share:.2} of the time, the kernel says {truth:.2}",
            pair.name
        );
    }
    assert!(compared >= 3, "{compared} pairs know the kernel's account");
}

#[test]
fn paths_take_what_the_wire_took() {
    all_pairs(|pair, miss| {
        // The emulator's mean is over all frames, of which loss and outages take some from the calls.
        if items(&pair.want["skip"]).contains(&"one_way".into()) {
            return;
        }
        let (mut sum, mut true_sum) = (0.0, 0.0);
        for (field, direction) in [
            ("request_path_mean_ns", "c2s"),
            ("reply_path_mean_ns", "s2c"),
        ] {
            let Some(got) = pair.mean(field) else {
                return miss(format!("no {field}"));
            };
            let truth = pair.delay_ns(direction);
            (sum, true_sum) = (sum + got, true_sum + truth);
            let clock = &pair.both["clock"]["uncertainty_ns"];
            let shifted = pair.truth["clock"]["server_offset_s"].as_f64() != Some(0.0);
            let clock = clock.as_f64().filter(|_| shifted).unwrap_or(0.0);
            if (got - truth).abs() > f64::max(200_000.0, 0.04 * truth) + clock {
                miss(format!("{field} {got:.0}, the wire took {truth:.0}"));
            }
        }
        // The sum of both needs no clock.
        if (sum - true_sum).abs() > f64::max(300_000.0, 0.04 * true_sum) {
            miss(format!(
                "both paths {sum:.0} ns, the wire took {true_sum:.0}"
            ));
        }
    });
}

#[test]
fn the_clock_is_found_within_the_uncertainty_that_is_stated() {
    let mut shifted = 0;
    for pair in PAIRS.iter() {
        let given = &pair.truth["clock"];
        let number = |field: &str| given[field].as_f64().expect("the clock that was given");
        let (offset, drift) = (number("server_offset_s") * 1e9, number("server_drift_ppm"));
        if offset == 0.0 {
            continue;
        }
        shifted += 1;
        let clock = &pair.both["clock"];
        let found = |field: &str| clock[field].as_f64().expect("an estimate of the clock");
        // The offset holds at a time on the server's shifted clock: back to true time first.
        let since = found("offset_at_ns") - number("t_ref_ns") - offset;
        let truth = offset + since / (1.0 + drift * 1e-6) * drift * 1e-6;
        let uncertainty = found("uncertainty_ns");
        let error = (found("offset_ns") - truth).abs();
        assert!(
            error <= uncertainty.max(30_000.0),
            "{}: {clock}, truth {truth}",
            pair.name
        );
        let round_trip = pair.delay_ns("c2s") + pair.delay_ns("s2c");
        assert!(
            uncertainty <= round_trip / 2.0 + 200_000.0,
            "{}: {clock}",
            pair.name
        );
        assert!(
            (found("drift_ppm") - drift).abs() <= 5.0,
            "{}: {clock}",
            pair.name
        );
    }
    assert!(shifted > 0, "no pair has a shifted clock");
}

#[test]
fn one_capture_alone_never_accuses_a_wrong_side() {
    all_pairs(|pair, miss| {
        for (diagnosis, file) in pair.alone.iter().zip(["client", "server"]) {
            let verdict = &diagnosis["verdict"];
            let innocent = verdict["side"] == "none" || verdict["side"] == "undetermined";
            let guilty = |key: &str| items(&pair.want[key]).contains(&verdict["side"]);
            if !innocent && !guilty("side") && !guilty("alone") {
                miss(format!("the {file}'s capture alone accuses {verdict}"));
            }
        }
    });
}

/// A transfer that began before the times asked for and ends behind them: of it, what went on within them.
#[test]
fn what_goes_on_throughout_the_times_asked_for_is_judged_within_them() {
    let folder = root().join("tests/lab/bufferbloat");
    let file = |side: &str| {
        folder
            .join(format!("{side}.pcap.zst"))
            .display()
            .to_string()
    };
    let (client, server) = (file("client"), file("server"));
    let within = ["--from", "0.3s", "--to", "1.7s"];
    let notes = |d: &Value| {
        items(&d["notes"])
            .iter()
            .any(|n| n.to_string().contains("No call began"))
    };
    let both = diagnose(&[&[client.as_str(), &server], &within[..]].concat());
    assert_eq!(both["verdict"]["side"], "network", "{}", both["verdict"]);
    assert_eq!(
        both["verdict"]["cause"], "network-bandwidth",
        "{}",
        both["verdict"]
    );
    let total = both["streams_ledger"]["total_hi_ns"].as_f64();
    assert!(total > Some(1.2e9) && total <= Some(1.4e9), "{total:?}");
    assert!(notes(&both));
    // Where it was taken, the handshake says, which lies before them.
    let alone = diagnose(&[&[client.as_str()], &within[..]].concat());
    let whole = diagnose(&[&client]);
    assert_eq!(alone["captures"][0]["side"], "client");
    assert_eq!(
        alone["captures"][0]["side_from"],
        whole["captures"][0]["side_from"]
    );
    assert!(!notes(&whole), "its call lies within all times");
    // Where calls began, those are judged.
    let called = diagnose(&[&client, &server, "--from", "0s", "--to", "1.7s"]);
    assert!(!notes(&called) && called["captures"][0]["calls"] != 0);
}

#[test]
fn the_applications_latencies_show_what_waits_in_the_client() {
    let mut seen = 0;
    for pair in PAIRS.iter() {
        let Some(diagnosis) = &pair.with_app else {
            continue;
        };
        seen += 1;
        let (verdict, want) = (&diagnosis["verdict"], &pair.want["app"]);
        assert!(
            items(&want["side"]).contains(&verdict["side"]),
            "{}: {verdict}",
            pair.name
        );
        assert!(
            items(&want["cause"]).contains(&verdict["cause"]),
            "{}: {verdict}",
            pair.name
        );
        let host = diagnosis["budget"]["client_host_ns"]
            .as_f64()
            .map(|ns| ns / 1e6);
        let range = &want["client_host_ms"];
        let (low, high) = (range[0].as_f64(), range[1].as_f64());
        assert!(
            host >= low && host <= high,
            "{}: {host:?} ms in the client, truth {range}",
            pair.name
        );
    }
    assert!(seen > 0, "no pair has the application's latencies");
}
