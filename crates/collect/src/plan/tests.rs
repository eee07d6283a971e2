use super::*;

fn asked(client: &str, server: &str) -> Asked {
    Asked {
        client: client.parse().expect("an end"),
        server: server.parse().expect("an end"),
        seconds: 30,
        when: None,
        max_bytes: 1 << 30,
        snaplen: None,
        folder: None,
        ssh: vec!["ssh".into()],
        sudo: false,
        client_address: None,
        server_address: None,
        client_interfaces: Vec::new(),
        server_interface: None,
        further: Vec::new(),
        between: Vec::new(),
        between_interfaces: Vec::new(),
        beneath: Vec::new(),
    }
}

const LINUX: &str = "system Linux\nrelease 6.1\nmachine x86_64\nuser root\ntool tcpdump\ntool awk\ntool df\ntool mktemp\n\
    tool timeout\ntool nice\ntool zstd\ntool ss\ntool nstat\ntool netstat\nfolder /var/tmp\nfree_kb 9000000\n";

fn found(side: Side, facts: &str, path: &str) -> Found {
    Found {
        side,
        facts: Facts::read(&format!("{LINUX}{facts}")),
        path: Some(Path::read(&format!(
            "uid 0\ninterface eth0\nprecision nano\n{path}"
        ))),
        clock: None,
    }
}

fn both(client: &str, server: &str) -> Vec<Found> {
    vec![
        found(
            Side::Client,
            "address 10.0.0.1\n",
            &format!("source 10.0.0.1\n{client}"),
        ),
        found(
            Side::Server,
            "address 10.0.0.5\n",
            &format!("source 10.0.0.5\n{server}"),
        ),
    ]
}

fn known(port: u16) -> Addresses {
    Addresses {
        client: "10.0.0.1".parse().ok(),
        server: "10.0.0.5".parse().ok(),
        port: Some(port),
    }
}

#[test]
fn both_ends_capture_what_passes_between_them() {
    let plan = plan(
        &asked("a", "b:2049"),
        both("", ""),
        known(2_049),
        Vec::new(),
    )
    .expect("a plan");
    let lines: Vec<String> = plan.ends.iter().map(|e| quote::line(&e.capture)).collect();
    assert_eq!(
        lines,
        [
            "tcpdump -p -n -i eth0 -s 512 -B 65536 --time-stamp-precision=nano -w - 'host 10.0.0.5 and port 2049'",
            "tcpdump -p -n -i eth0 -s 512 -B 65536 --time-stamp-precision=nano -w - 'host 10.0.0.1 and port 2049'",
        ]
    );
    assert_eq!(plan.ends[0].samples, ["ss", "nstat"]);
    assert_eq!(plan.ends[0].through.1, ".zst");
    assert_eq!(plan.notes, []);
}

#[test]
fn statements_are_taken_whole_and_the_length_can_be_said() {
    let mut asked = asked("a", "b:5432");
    assert_eq!(
        (snaplen(&asked, 5_432), snaplen(&asked, 2_049)),
        (WHOLE, 512)
    );
    asked.snaplen = Some(0);
    assert_eq!(snaplen(&asked, 2_049), WHOLE);
    asked.snaplen = Some(96);
    assert_eq!(snaplen(&asked, 5_432), 96);
}

#[test]
fn all_that_is_missing_is_said_at_once_with_its_cure() {
    let mut ends = both(
        "refused eth0: You don't have permission\nuid 1000\n",
        "no_route unreachable\n",
    );
    ends[1].facts.tools.remove("tcpdump");
    ends[1].facts.free_bytes = Some(80 << 20);
    ends[0].facts.file_system = "nfs4".into();
    let problems =
        plan(&asked("a", "b:2049"), ends, known(2_049), Vec::new()).expect_err("problems");
    let said: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 5, "{said:#?}");
    for (line, begin, cure) in [
        (
            0,
            "client a: tcpdump may not capture as root (eth0: You don't have permission)",
            "--sudo",
        ),
        (1, "client a: /var/tmp lies on nfs4", "--remote-dir"),
        (
            2,
            "server b: neither tcpdump nor snoop is there",
            "apt-get install tcpdump",
        ),
        (
            3,
            "server b: it knows no way to the other end (unreachable)",
            "--client-address",
        ),
        (
            4,
            "server b: /var/tmp has 80 MB free, and 1088 may be needed",
            "--max-size 16M",
        ),
    ] {
        assert!(
            said[line].starts_with(begin) && said[line].contains(cure),
            "{}",
            said[line]
        );
    }
}

#[test]
fn a_port_is_found_where_only_one_is_open() {
    let server = "10.0.0.5".parse().expect("an address");
    let path = |text: &str| Path::read(text);
    let one = path(
        "connection 10.0.0.1:700 10.0.0.5:2049\nconnection 10.0.0.1:701 10.0.0.5:2049\nconnection 10.0.0.1:9 10.0.0.5:22\n",
    );
    let (found, note) = port(&asked("a", "b"), &one, server).expect("a port");
    assert_eq!((found, note), (2_049, Some(Note::Port(2_049))));
    let two = path("connection 10.0.0.1:700 10.0.0.5:2049\nconnection 10.0.0.1:701 10.0.0.5:111\n");
    let problem = port(&asked("a", "b"), &two, server).expect_err("two ports");
    assert!(
        problem.to_string().contains("ports 111, 2049") && problem.cure.contains("b:PORT"),
        "{problem}"
    );
    assert!(port(&asked("a", "b"), &path(""), server).is_err());
    assert_eq!(port(&asked("a", "b:22"), &two, server), Ok((22, None)));
}

#[test]
fn the_server_is_where_the_client_finds_it() {
    let client = Facts::read("resolved b 10.0.0.7\naddress 10.0.0.1\n");
    let server = Facts::read("ssh 10.9.0.1 1 10.9.0.5 22\naddress 127.0.0.1\naddress 10.0.0.5\n");
    let found = |client: &Facts, asked: &Asked| {
        server_address(asked, client, &server).map(|a| a.to_string())
    };
    assert_eq!(
        found(&client, &asked("a", "b")).as_deref(),
        Some("10.0.0.7")
    );
    assert_eq!(
        found(&client, &asked("a", "10.0.0.8:1")).as_deref(),
        Some("10.0.0.8")
    );
    let knows_nobody = Facts::read("resolved b 127.0.1.1\n");
    assert_eq!(
        found(&knows_nobody, &asked("a", "b")).as_deref(),
        Some("10.9.0.5")
    );
    assert_eq!(
        found(&client, &asked("local", "local:1")).as_deref(),
        Some("10.9.0.5")
    );
    let mut said = asked("a", "b");
    said.server_address = "192.0.2.1".parse().ok();
    assert_eq!(found(&client, &said).as_deref(), Some("192.0.2.1"));
}

#[test]
fn a_client_behind_nat_is_captured_by_port() {
    let asks = "connection 10.0.0.1:700 10.0.0.5:2049\n";
    let others = "connection 10.0.0.5:2049 192.0.2.9:4000\n";
    let ends = both(asks, others);
    let natted = plan(&asked("a", "b:2049"), ends, known(2_049), Vec::new()).expect("a plan");
    assert_eq!(natted.ends[1].filter, "port 2049");
    assert!(
        matches!(natted.notes[..], [Note::Translated { .. }]),
        "{:?}",
        natted.notes
    );
    // Its own are among those of others.
    let ends = both(
        asks,
        &format!("{others}connection 10.0.0.5:2049 10.0.0.1:700\n"),
    );
    let direct = plan(&asked("a", "b:2049"), ends, known(2_049), Vec::new()).expect("a plan");
    assert_eq!(direct.ends[1].filter, "host 10.0.0.1 and port 2049");
    // Nobody is connected yet.
    assert!(!is_translated(
        &both("", others),
        known(1).client.expect("it is said"),
        2_049
    ));
}

#[test]
fn who_is_between_captures_what_passes_to_the_server() {
    let mut asked = asked("a", "b:2049");
    asked.between = vec![Place::Local, Place::Local];
    let sides: Vec<&str> = asked.sides().map(Side::name).collect();
    assert_eq!(sides, ["client", "server", "between-1", "between-2"]);
    let with_two = |mut ends: Vec<Found>| {
        for number in 0..2 {
            ends.push(found(
                Side::Between(number),
                "address 10.0.0.9\n",
                "source 10.0.0.9\n",
            ));
        }
        ends
    };
    let filters = |ends| {
        let plan = plan(&asked, with_two(ends), known(2_049), Vec::new()).expect("a plan");
        let ends = plan.ends.iter().skip(2);
        ends.map(|e| (e.side.name(), e.filter.clone()))
            .collect::<Vec<_>>()
    };
    let of = |filter: &str| ["between-1", "between-2"].map(|name| (name, filter.to_owned()));
    assert_eq!(filters(both("", "")), of("host 10.0.0.5 and port 2049"));
    // Either address may be another there.
    let translated = both(
        "connection 10.0.0.1:700 10.0.0.5:2049\n",
        "connection 10.0.0.5:2049 192.0.2.9:4000\n",
    );
    assert_eq!(filters(translated), of("port 2049"));
    let mut is_virtual = both("", "");
    is_virtual[1].facts.addresses = vec!["10.0.0.77".parse().expect("an address")];
    assert_eq!(filters(is_virtual), of("port 2049"));
    // Its cure is an option of its own.
    let mut lost = with_two(both("", ""));
    lost[3].path = Some(Path::read("uid 0\nprecision nano\n"));
    let problems = plan(&asked, lost, known(2_049), Vec::new()).expect_err("a problem");
    assert_eq!(problems.len(), 1, "{problems:?}");
    assert!(
        problems[0].cure.ends_with("--also-interface"),
        "{problems:?}"
    );
}

#[test]
fn further_clients_capture_what_they_ask_and_the_server_what_all_do() {
    let mut asked = asked("a", "b:2049");
    asked.further = vec![Place::Local];
    asked.client_interfaces = vec!["eth1".into(), "eth2".into()];
    let sides: Vec<Side> = asked.sides().collect();
    let interfaces: Vec<_> = sides.iter().map(|s| asked.interface(*s)).collect();
    assert_eq!(interfaces, [Some("eth1"), None, Some("eth2")]);
    let mut ends = both("", "");
    ends.push(found(
        Side::Further(0),
        "address 10.0.0.3\n",
        "source 10.0.0.3\n",
    ));
    let plan = plan(&asked, ends, known(2_049), Vec::new()).expect("a plan");
    let of = |e: &EndPlan| (e.side.name(), e.filter.clone());
    assert_eq!(
        plan.ends.iter().map(of).collect::<Vec<_>>(),
        [
            ("client", "host 10.0.0.5 and port 2049".to_owned()),
            ("server", "port 2049".to_owned()),
            ("client-2", "host 10.0.0.5 and port 2049".to_owned()),
        ]
    );
}

#[test]
fn clocks_that_differ_and_offload_are_noted() {
    let mut ends = both("offload generic-receive-offload\n", "");
    ends[0].clock = Some(Offset {
        ns: 0,
        error_ns: 1_000_000,
    });
    ends[1].clock = Some(Offset {
        ns: 3_000_000_000,
        error_ns: 500_000,
    });
    let plan = plan(&asked("a", "b:2049"), ends, known(2_049), Vec::new()).expect("a plan");
    let said: Vec<String> = plan.notes.iter().map(ToString::to_string).collect();
    assert!(
        said[0].contains("the client hands packets on in larger pieces"),
        "{said:?}"
    );
    assert!(
        said[1].starts_with("the server's clock is 3.000 s ahead of the client's, within 1.500 ms"),
        "{said:?}"
    );
}

#[test]
fn what_the_server_asks_itself_is_captured_there_on_all_interfaces() {
    let asked = Asked {
        beneath: vec![2_049, 53],
        ..asked("app1", "db:5432")
    };
    let planned = |server: Found| {
        let client = both("", "").remove(0);
        plan(&asked, vec![client, server], known(5_432), Vec::new()).expect("a plan")
    };
    let done = planned(both("", "").remove(1));
    let [client, server] = done.ends.as_slice() else {
        panic!("two ends");
    };
    assert_eq!(client.filter, "host 10.0.0.5 and port 5432");
    assert_eq!(client.interface, "eth0");
    assert_eq!(
        server.filter,
        "( host 10.0.0.1 and port 5432 ) or port 2049 or port 53"
    );
    assert_eq!(server.interface, "any");
    assert!(done.notes.is_empty(), "{:?}", done.notes);
    // Only Linux has all of them in one.
    let mut sun = found(Side::Server, "system SunOS\ntool snoop\n", "");
    sun.path = Some(Path::read("uid 0\ninterface net0\nsource 10.0.0.5\n"));
    let done = planned(sun);
    assert_eq!(done.ends[1].interface, "net0");
    assert_eq!(
        done.notes,
        [Note::OneInterface {
            interface: "net0".into()
        }]
    );
}

#[test]
fn solaris_captures_with_snoop() {
    let mut end = found(
        Side::Client,
        "system SunOS\ntool snoop\n",
        "source 10.0.0.1\n",
    );
    end.path = Some(Path::read("uid 0\ninterface net0\nsource 10.0.0.1\n"));
    assert_eq!(Tool::of(&end.facts), Some(Tool::Snoop));
    let ends = vec![end, found(Side::Server, "", "")];
    let plan = plan(&asked("a", "b:2049"), ends, known(2_049), Vec::new()).expect("a plan");
    assert_eq!(
        quote::line(&plan.ends[0].capture),
        "snoop -q -r -P -d net0 -s 512 -o capture.pcap host 10.0.0.5 and port 2049"
    );
}

#[test]
fn what_is_waited_for_goes_round_and_is_looked_for_where_it_can_be() {
    let mut asked = asked("app1", "array:2049");
    asked.when = Some(When {
        side: Side::Client,
        words: vec!["--when=p99 > 20ms".into()],
        program: "slowside".into(),
        before_s: 30,
        after_s: 10,
    });
    let planned = |facts: &str| {
        let mut ends = both("", "");
        ends[0] = found(
            Side::Client,
            &format!("address 10.0.0.1\n{facts}"),
            "source 10.0.0.1\n",
        );
        plan(&asked, ends, known(2049), Vec::new())
    };
    let here = planned("").expect("a plan");
    let client = &here.ends[0];
    let line = client.watcher(&here, here.when.as_ref().expect("asked for"));
    assert!(
        line.contains(" tcpdump -U ")
            && line.contains("-s 512 -w - 'host 10.0.0.5 and port 2049' "),
        "{line}"
    );
    let runners = client.runners(&here, "/var/tmp/x");
    let names: Vec<&str> = runners.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["one.sh", "run.sh"]);
    assert!(runners[1].1.contains("ring_s=40\n") && runners[0].1.contains("seconds=90\n"));

    let version = env!("CARGO_PKG_VERSION");
    let there = planned(&format!("slowside {version}\n")).expect("a plan");
    let line = there.ends[0].watcher(&there, there.when.as_ref().expect("asked for"));
    assert!(
        line.contains(" slowside live -i eth0 ") && line.contains(" '--when=p99 > 20ms' "),
        "{line}"
    );
    // Another version may say other things.
    assert_eq!(
        planned("slowside 0.0.1\n").expect("a plan").ends[0].watches,
        Watches::Here
    );
    // Two captures have to find room.
    let missing = planned("free_kb 1500000\n").expect_err("no room");
    assert!(missing[0].what.contains("free"), "{missing:?}");
}
