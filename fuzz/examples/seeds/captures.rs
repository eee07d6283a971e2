//! Captures for whole commands, and one of each for every line that a command has: conversations in many protocols, in
//! which all that a client or a server may choose is meant to do harm where it is shown.

use crate::{names, nfs, smb2, traces, udp, write};
use targets::{commands, said};
use testkit::rpc::{getattr_call, getattr_reply, read_call, read_reply, record};
use testkit::{Conversation, ETHERNET, Format, TestPacket, datagram};

/// Fills a clipboard, turns text around, hides what follows, is a tag, ends a line, and a cell.
pub const EVIL: &str = "e\u{1b}]52;c;eA==\u{7}\u{9b}2J\u{202e}\u{200b}\u{e0041}\u{7f}<script src=x onerror=1>&'\",\r\nVIL";

const START: i64 = 1_700_000_000_000_000_000;

pub fn write_all() {
    let file = |packets: &[TestPacket]| testkit::pcap(packets, ETHERNET, Format::default());
    let all = [
        ("pgsql", file(&spoken(5_432, pgsql()))),
        ("mysql", file(&spoken(3_306, mysql()))),
        ("smb2", file(&spoken(445, smb2()))),
        ("nfs", file(&nfs())),
        ("datagrams", file(&datagrams())),
        ("turns", file(&turns())),
        ("keepalives", file(&keepalives())),
        ("everything", everything()),
        ("two-days-of-clock", resolution(&spoken(5_432, pgsql()))),
    ];
    let every: [(&str, &[&str]); 7] = [
        ("diagnose", commands::DIAGNOSE),
        ("calls", commands::CALLS),
        ("sql", commands::SQL),
        ("rows", commands::ROWS),
        ("live", commands::LIVE),
        ("cut", commands::CUT),
        ("report", commands::REPORT),
    ];
    for (target, lines) in every {
        // Each line, and each capture, at least once.
        for n in 0..lines.len().max(all.len()) {
            let (name, capture) = &all[n % all.len()];
            let line = n % lines.len();
            let input = [&[line as u8], &capture[..]].concat();
            write(target, &format!("{line}-{name}"), &input);
        }
    }
    for (name, capture) in &all {
        write("save", name, &[&[0], &capture[..]].concat());
        let screen = [120, 40, 9];
        write(
            "view",
            name,
            &[&screen, &b"?qs/ab\rjo"[..], capture].concat(),
        );
    }
    talk(&every);
    write("view", "narrow", &[&[20, 5, 0], &everything()[..]].concat());
    write(
        "view",
        "wide",
        &[&[250, 90, 4], &b"ss3 "[..], &everything()].concat(),
    );
    for (line, _) in (0_u8..).zip(commands::TRACE) {
        write(
            "trace",
            &format!("line-{line}"),
            &[&[line], trace().as_bytes()].concat(),
        );
        let known = [traces::EXTENDED, traces::CLIENT, traces::SERVER][usize::from(line) % 3];
        write(
            "trace",
            &format!("known-{line}"),
            &[&[line], known.as_bytes()].concat(),
        );
    }
    saved(&all);
}

/// What `--save` writes of them, in each form that is compared. It names the file that it was made of, so that name is
/// the same everywhere.
fn saved(all: &[(&str, Vec<u8>)]) {
    let folder = std::env::temp_dir().join(format!("slowside-seeds-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::env::set_current_dir(&folder).expect("our own");
    let line = ["diagnose", "capture", "--save", "saved", "--threads", "1"];
    let line = cli::Line::parse(&line).expect("a line");
    for (form, (name, bytes)) in (0_u8..).zip(all) {
        std::fs::write("capture", bytes).expect("a file");
        let said = line.run();
        assert!(
            said.code != 2,
            "{name}: {}",
            String::from_utf8_lossy(&said.err)
        );
        let run = std::fs::read("saved").expect("what was saved");
        write("saved", name, &[&[form], &run[..]].concat());
    }
    std::fs::remove_dir_all(&folder).expect("our own");
}

/// A trace of which all that somebody may choose is a stranger's.
fn trace() -> String {
    let line = EVIL.replace(['\r', '\n'], "");
    let named = [
        "CLIENT ID",
        "SERVICE NAME",
        "MODULE NAME",
        "ACTION NAME",
        "CLIENT DRIVER",
    ];
    let heads = named.map(|name| format!("*** {name}:(=1+{line}) 2026-01-01 00:00:00.000\n"));
    format!(
        "Oracle Database {line} Release 19.0.0.0.0\nNode name: {line}\nInstance name: {line}\n{}\
         PARSING IN CURSOR #7 len=9 dep=0 uid=1 oct=3 lid=1 tim=1 hv=4 ad='b3' sqlid='=1+{line}'\n\
         select \"{line}\"\nEND OF STMT\n\
         WAIT #7: nam='=1+{line}' ela= 600 file#=4 block#=20 blocks=1 obj#=1 tim=1900\n\
         EXEC #7:c=1,e=10,p=1,cr=2,cu=0,mis=0,r=0,dep=0,og=1,plh=7,tim=2000\n\
         [03-FEB-2014 10:56:17:936] nscall: connecting to {line}\n\
         WAIT #7: nam='{line}",
        heads.concat()
    )
}

fn connection(port: u16) -> Conversation {
    let mut c = Conversation::new(([10, 0, 0, 1], 40_000).into(), ([10, 0, 0, 2], port).into());
    c.at(START).handshake();
    c
}

/// A message of PostgreSQL.
fn message(kind: u8, body: &str) -> Vec<u8> {
    let length = (body.len() as u32 + 4).to_be_bytes();
    [&[kind], &length[..], body.as_bytes()].concat()
}

/// Who says it, how long after what was said before, in nanoseconds, and what.
type Said = (bool, i64, Vec<u8>);

fn spoken(port: u16, said: Vec<Said>) -> Vec<TestPacket> {
    let mut c = connection(port);
    for (is_client, pause, bytes) in said {
        c.after(pause);
        match is_client {
            true => c.client(&bytes),
            false => c.server(&bytes),
        };
    }
    c.finish().packets()
}

/// The same without a file around it, for the first lines of each command: heard, with losses, and said twice.
fn talk(every: &[(&str, &[&str])]) {
    let named = |port: u8| {
        names::pairs()
            .into_iter()
            .flat_map(move |(p, question, answer)| {
                let both = [(true, 0, question), (false, 3_000_000, answer)];
                both.into_iter()
                    .filter(move |_| said::PORTS[usize::from(port)] == p)
            })
    };
    let rpc = vec![
        (true, 0, getattr_call(5, b"handle")),
        (false, 2_000_000, getattr_reply(5)),
        (true, 0, read_call(6, b"handle", 0, 300)),
        (false, 50_000_000, read_reply(6, &[1; 300], false)),
    ];
    let records: Vec<Said> = rpc.iter().map(|(c, p, b)| (*c, *p, record(b))).collect();
    let text = |n: i64, text: &str| (n % 2 == 0, 30_000_000 * (n % 2), text.into());
    let all: [Vec<Said>; 8] = [
        pgsql(),
        mysql(),
        smb2(),
        records,
        (0..8).map(|n| text(n, EVIL)).collect(),
        named(5).collect(),
        named(6).collect(),
        rpc,
    ];
    let written = |port: u8, fates: [u8; 3]| -> Vec<u8> {
        let part = |(n, (is_client, pause, bytes)): (usize, &Said)| {
            let pause = [1_000_000, 40_000_000, i64::MAX]
                .iter()
                .position(|least| pause < least);
            said::written(
                port,
                *is_client,
                pause.unwrap_or(0) as u8,
                fates[n % 3],
                bytes,
            )
        };
        all[usize::from(port)]
            .iter()
            .enumerate()
            .flat_map(part)
            .collect()
    };
    for (target, lines) in every.iter().filter(|(_, lines)| !lines.is_empty()) {
        for port in 0..8 {
            let line = (port % lines.len() as u8) | commands::SAID;
            let fates = [
                said::HEARD,
                said::HEARD,
                [said::HEARD, said::LOST, said::AGAIN][usize::from(port) % 3],
            ];
            let input = [&[line], &written(port, fates)[..]].concat();
            write(target, &format!("said-{port}"), &input);
        }
    }
    for port in 0..8 {
        let said = written(port, [said::HEARD; 3]);
        write(
            "view",
            &format!("said-{port}"),
            &[&[100, 30 | commands::SAID, 0], &said[..]].concat(),
        );
        write(
            "save",
            &format!("said-{port}"),
            &[&[commands::SAID], &said[..]].concat(),
        );
    }
}

fn pgsql() -> Vec<Said> {
    let named = ["user", "database", "application_name"].map(|n| format!("{n}\0=1+{EVIL}\0"));
    let startup = message(0, &format!("\0\u{3}\0\0{}\0", named.concat()));
    let ready = message(b'Z', "I");
    let welcome = [message(b'R', "\0\0\0\0"), ready.clone()].concat();
    let mut said = vec![
        (true, 0, startup[1..].to_vec()),
        (false, 1_000_000, welcome),
    ];
    let failed = format!("SERROR\0C=\u{1b}[2J\0M{EVIL}\0\0");
    for (verb, kind, body) in [
        ("select 1 from", b'C', "SELECT 0\0"),
        ("=1+evil", b'E', &failed),
    ] {
        let query = format!("{verb} \"{EVIL}\" where x\u{202e}y = 1\0");
        said.push((true, 100_000, message(b'Q', &query)));
        said.push((
            false,
            30_000_000,
            [message(kind, body), ready.clone()].concat(),
        ));
    }
    said
}

/// A packet of MySQL.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    [&length[..3], &[number], body].concat()
}

fn mysql() -> Vec<Said> {
    let greeting = [
        b"\x0a8.0.1\0\x07\0\0\0abcdefgh\0\xff\xf7\xff\x02\0\xff\xdf\x15",
        &[0; 10][..],
        b"abcdefghijkl\0mysql_native_password\0",
    ];
    let capabilities = 0x0008_a20d_u32.to_le_bytes();
    let user = format!("=1+{EVIL}\0\0=1+{EVIL}\0mysql_native_password\0");
    let login = [
        &capabilities[..],
        &[0, 0, 0, 1, 33],
        &[0; 23],
        user.as_bytes(),
    ];
    let update = format!("\u{3}update t set a='{EVIL}'");
    let failed = [b"\xff\x48\x04#=\x1b[2J", EVIL.as_bytes()].concat();
    vec![
        (false, 0, packet(0, &greeting.concat())),
        (true, 200_000, packet(1, &login.concat())),
        (false, 400_000, packet(2, &[0, 0, 0, 2, 0, 0, 0])),
        (true, 500_000, packet(0, update.as_bytes())),
        (false, 9_000_000, packet(1, &[0, 1, 0, 2, 0, 0, 0])),
        (true, 500_000, packet(0, b"\x03select 1 from \xff\x1b")),
        (false, 9_000_000, packet(1, &failed)),
    ]
}

fn smb2() -> Vec<Said> {
    let messages = smb2::messages(EVIL).into_iter();
    messages
        .map(|(is_client, bytes)| (is_client, 2_000_000, bytes))
        .collect()
}

fn datagrams() -> Vec<TestPacket> {
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut packets = udp();
    for (n, (port, question, answer)) in (0_i64..).zip(names::pairs()) {
        let from = if port == 53 { 40_000 } else { port };
        let (from, to) = ((client, from).into(), (server, port).into());
        let at = 2_000_000_000 + 10_000_000 * n;
        packets.push(datagram(at, from, to, 1, &question));
        packets.push(datagram(at + 3_000_000, to, from, 2, &answer));
    }
    packets
}

/// Of a protocol that nobody knows, with a reset in the midst.
fn turns() -> Vec<TestPacket> {
    let mut c = connection(9_000);
    for turn in 0..8 {
        c.after(1_000_000)
            .client(format!("{turn} {EVIL}").as_bytes());
        c.after(20_000_000).server(EVIL.as_bytes());
    }
    c.client_rst().packets()
}

/// Two hours of silence at a time.
fn keepalives() -> Vec<TestPacket> {
    const HOURS: i64 = 7_200_000_000_000;
    let mut c = connection(5_432);
    c.client(&message(b'Q', "select 1\0")).after(1_000_000);
    for _ in 0..12 {
        c.after(HOURS).client_ack().server_ack();
    }
    c.server(&message(b'Z', "I")).finish().packets()
}

fn everything() -> Vec<u8> {
    let mut packets = [datagrams(), turns()].concat();
    for (port, said) in [(5_432, pgsql()), (3_306, mysql()), (445, smb2())] {
        packets.extend(spoken(port, said));
    }
    packets.sort_by_key(|p| p.time);
    testkit::pcap(&packets, ETHERNET, Format::default())
}

/// As pcapng, whose unit of time (if_tsresol) is wrong.
fn resolution(packets: &[TestPacket]) -> Vec<u8> {
    let mut file = testkit::pcapng(packets, ETHERNET, Format::default());
    let option = file
        .windows(5)
        .position(|w| w == [9, 0, 1, 0, 6] || w == [9, 0, 1, 0, 9]);
    if let Some(at) = option {
        file[at + 4] = 3;
    }
    file
}
