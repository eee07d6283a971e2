//! Input that wants more than to be shown.

use super::page::Page;
use super::{folder, said};
use crate::kit::slowside;
use model::LinkType;
use std::fs;
use std::net::SocketAddr;
use testkit::{Conversation, Format, pcap};

const STATEMENT: &str = "SELECT 1 FROM \"</script><img src=x onerror=alert(1)>\", \"<!--\u{202e}\" WHERE \"it's & so\" = 2";

/// A message of PostgreSQL.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut out = vec![kind];
    out.extend(((body.len() + 4) as u32).to_be_bytes());
    out.extend(body);
    out
}

/// Sessions in which a client asks for the same again and again.
pub(crate) fn capture(sessions: u16) -> Vec<u8> {
    let mut packets = Vec::new();
    for i in 0..sessions {
        let [high, low] = i.to_be_bytes();
        let client = SocketAddr::from(([10, 1, high, low], 40_000));
        let server = SocketAddr::from(([10, 0, 0, 2], 5_432));
        let mut c = Conversation::new(client, server);
        let start = 1_700_000_000_000_000_000 + i64::from(i) * 2_000_000;
        c.at(start).handshake();
        let mut startup = 196_608_u32.to_be_bytes().to_vec();
        startup.extend(b"user\0<b>\0database\0\"d'\0\0");
        let mut first = ((startup.len() + 4) as u32).to_be_bytes().to_vec();
        first.extend(startup);
        c.client(&first);
        let ready = message(b'Z', b"I");
        let mut welcome = message(b'R', &[0; 4]);
        welcome.extend(&ready);
        c.after(1_000_000).server(&welcome);
        for _ in 0..6 {
            c.after(100_000)
                .client(&message(b'Q', format!("{STATEMENT}\0").as_bytes()));
            let mut answer = message(b'C', b"SELECT 0\0");
            answer.extend(&ready);
            c.after(30_000_000).server(&answer);
        }
        c.finish();
        packets.extend(c.packets());
    }
    packets.sort_by_key(|p| p.time);
    pcap(&packets, LinkType(1), Format::default())
}

/// Everything that can act in HTML stands in one of these.
pub(crate) fn is_harmless(page: &Page) {
    let words = page.words.to_lowercase();
    for bad in [
        "<img",
        "<script",
        "<iframe",
        "<object",
        "<embed",
        "<base",
        "javascript:",
        "<style",
        "<form",
    ] {
        assert!(!words.contains(bad), "{bad}");
    }
    // An attribute that listens would stand within a tag.
    for tag in words.split('<').skip(1).filter_map(|t| t.split_once('>')) {
        assert!(!tag.0.contains(" on"), "{}", tag.0);
        assert!(!tag.0.contains(" style="), "{}", tag.0);
    }
    let scripts = page.text.matches("</script").count();
    assert_eq!(scripts, 2, "the data's and the script's own");
    let steering = |c: char| {
        (c.is_control() && c != '\n')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}')
    };
    assert!(
        !page.text.contains(steering),
        "{:?}",
        page.text.find(steering)
    );
}

#[test]
fn statements_and_names_are_shown_and_do_nothing() {
    let folder = folder("hostile");
    let name = folder.join("a\"><img src=x>'\n\u{202e}gpj.<!--&pcap");
    fs::write(&name, capture(3)).expect("a file");
    let captures = [name];
    let page = Page::new(said(&["report", "-o", "-"], &captures));
    is_harmless(&page);
    assert!(
        page.words
            .contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;")
    );
    let operations = page.data["operations"].as_array().expect("operations");
    let shown = |o: &serde_json::Value| {
        o["name"]
            .as_str()
            .is_some_and(|n| n.contains("</script><img"))
    };
    assert!(operations.iter().any(shown), "{operations:?}");
    assert_eq!(
        page.data["captures"][0]["files"][0].as_str(),
        captures[0].to_str(),
        "data are exact"
    );
    // Commands to copy name the file exactly.
    let line = super::page::between(&page.words, "data-what=\"tshark\"", "</code>");
    if let Some(line) = line.and_then(|l| l.split_once("<code>")) {
        let line = super::page::plain(line.1).replace("tshark -r", "printf %s");
        let line = line.split(" -Y ").next().expect("a file").to_owned();
        let said = std::process::Command::new("bash")
            .args(["-c", &line])
            .output()
            .expect("bash");
        assert_eq!(
            String::from_utf8_lossy(&said.stdout),
            captures[0].to_string_lossy()
        );
    }
}

#[test]
fn of_many_connections_the_worst_are_listed_and_the_rest_is_counted() {
    let folder = folder("many");
    let file = folder.join("many.pcap");
    fs::write(&file, capture(1_500)).expect("a file");
    let page = Page::new(said(&["report", "-o", "-"], &[file]));
    is_harmless(&page);
    assert_eq!(page.table("connections").len(), 200);
    assert!(page.words.contains("and 1,300 further connections"));
    assert_eq!(page.data["connections"].as_array().map(Vec::len), Some(6));
    assert!(page.text.len() < 3_000_000, "{}", page.text.len());
}

#[test]
fn a_capture_or_another_s_file_is_never_written_over() {
    let folder = folder("output");
    let file = folder.join("a.pcap");
    let bytes = capture(1);
    fs::write(&file, &bytes).expect("a file");
    let path = |p: &std::path::Path| p.display().to_string();
    let run = |output: &str| {
        let out = slowside(["report", &path(&file), "-o", output]);
        (
            out.status.code(),
            String::from_utf8_lossy(&out.stderr).into_owned(),
        )
    };
    let (code, message) = run(&path(&file));
    assert_eq!(code, Some(2), "{message}");
    assert!(message.contains("exists and is no report"), "{message}");
    assert_eq!(fs::read(&file).expect("the capture"), bytes);

    let page = folder.join("page.html");
    drop(fs::remove_file(&page));
    let (code, message) = run(&path(&page));
    assert_eq!(code, Some(0), "{message}");
    assert!(message.contains("page.html written, "), "{message}");
    let (code, message) = run(&path(&page));
    assert_eq!(code, Some(0), "an earlier report is replaced: {message}");
    let (code, message) = run(&path(&folder.join("not/there.html")));
    assert_eq!((code, message.lines().count()), (Some(2), 1), "{message}");
    let (code, _) = run(&path(&folder));
    assert_eq!(code, Some(2));
}

#[test]
fn an_anonymised_page_names_nobody_and_has_the_same_numbers() {
    let folder = folder("anonymous");
    let file = folder.join("secret-name.pcap");
    fs::write(&file, capture(2)).expect("a file");
    let with = |options: &[&str]| {
        let mut command = vec!["report", "-o", "-"];
        command.extend(options);
        Page::new(said(&command, std::slice::from_ref(&file)))
    };
    let (open, hidden) = (with(&[]), with(&["--anonymise=longer than eight"]));
    for name in [
        "10.1.0.0",
        "10.1.0.1",
        "10.0.0.2",
        "secret-name",
        "report-anonymous",
        "onerror",
        "it's",
    ] {
        assert!(open.text.contains(name), "{name}");
        assert!(!hidden.text.contains(name), "{name}");
    }
    for table in ["operations", "statements", "connections"] {
        let numbers = |page: &Page| -> Vec<Vec<Option<String>>> {
            let rows = page.table(table).into_iter();
            rows.map(|row| row.into_iter().map(|cell| cell.1).collect())
                .collect()
        };
        assert!(!numbers(&open).is_empty(), "{table}");
        assert_eq!(numbers(&open), numbers(&hidden), "{table}");
    }
    let charts = |page: &Page| page.data["operations"].as_array().map(Vec::len);
    assert_eq!(charts(&open), charts(&hidden));
}
