//! Statements and rows, held against the bytes of the captures and against figures taken from them by
//! hand.

use crate::framing::client_bytes;
use crate::{all, name, tns};
use model::{Call, Field, Found, Outcome};
use std::collections::BTreeSet;
use std::path::Path;

/// A line of the table of statements.
struct Row {
    capture: String,
    /// Strings that the captures' index counts.
    counted: usize,
    found: usize,
    missed: usize,
    why: String,
}

fn table() -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/tns-sql.tsv");
    let text = std::fs::read_to_string(path).expect("the table");
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    lines
        .map(|line| {
            let mut columns = line.split('\t');
            let mut next = || columns.next().expect("five columns").to_owned();
            let number = |text: String| text.parse().expect("a number");
            Row {
                capture: next(),
                counted: number(next()),
                found: number(next()),
                missed: number(next()),
                why: next(),
            }
        })
        .collect()
}

fn statement(call: &Call) -> Option<&model::Statement> {
    call.sql.as_ref()?.statement.as_deref()
}

/// Calls that bring a text of their own: fetches have that of their cursor.
fn brings_text(call: &Call) -> bool {
    ["LOGON", "PREPARE", "EXECUTE"].contains(&&*call.op) && statement(call).is_some()
}

#[test]
fn statements_are_found_as_the_table_says() {
    let paths = all();
    if paths.is_empty() {
        return;
    }
    let table = table();
    for path in paths {
        let row = table.iter().find(|row| row.capture == name(&path));
        let row = row.unwrap_or_else(|| panic!("{}", path.display()));
        let found = tns(&path).iter().filter(|c| brings_text(c)).count();
        assert_eq!(found, row.found, "{}", path.display());
        assert!(found + row.missed >= row.counted, "{}", path.display());
        assert_eq!(
            found == row.counted,
            row.why == "-",
            "{}: a reason",
            path.display()
        );
    }
}

/// Words that begin the statements of these captures.
const VERBS: [&str; 8] = [
    "select ",
    "insert ",
    "alter ",
    "begin ",
    "declare\n",
    "create ",
    "grant ",
    "begin\n",
];

#[test]
fn no_statement_in_the_bytes_is_missed() {
    for path in all() {
        let texts: Vec<String> = tns(&path)
            .iter()
            .filter_map(|c| Some(statement(c)?.text.to_lowercase()))
            .collect();
        let bytes = client_bytes(&path).to_ascii_lowercase();
        for verb in VERBS {
            for at in 0..bytes.len() {
                let here = bytes
                    .get(at..)
                    .is_some_and(|b| b.starts_with(verb.as_bytes()));
                let before = at.checked_sub(1).and_then(|i| bytes.get(i));
                if !here || before.is_some_and(|b| b.is_ascii_alphabetic() && *b != b'z') {
                    continue;
                }
                // So much that no chunk ends in it, in most places.
                let start = String::from_utf8_lossy(bytes.get(at..at + 18).unwrap_or_default());
                let known = texts.iter().any(|text| text.contains(&*start));
                // Texts in chunks have lengths between.
                let short: String = start.chars().take(9).collect();
                let near = texts.iter().any(|text| text.contains(&*short));
                assert!(known || near, "{}: {start:?} at {at}", path.display());
            }
        }
    }
}

#[test]
fn statements_stand_where_they_belong() {
    for path in all() {
        for call in tns(&path) {
            let Some(statement) = statement(&call) else {
                continue;
            };
            assert_eq!(
                statement.found,
                Found::Structured,
                "{}: {call:?}",
                path.display()
            );
            assert!(!statement.truncated);
            let control = |c: char| c.is_control() && !c.is_whitespace();
            assert!(
                !statement.text.contains(control),
                "{}: {call:?}",
                path.display()
            );
        }
    }
}

/// Rows of the fetches (with those of the executions before) of each statement, by its first frame.
fn rows(calls: &[Call], text: &str) -> Vec<(u64, u64)> {
    calls
        .iter()
        .filter(|c| statement(c).is_some_and(|s| &*s.text == text))
        .filter_map(|c| Some((c.detail.get(Field::RowsAsked)?, c.detail.get(Field::Rows)?)))
        .collect()
}

fn sample(name: &str) -> Option<Vec<Call>> {
    Some(tns(&testkit::at_hand::sample("tns")?.join(name)))
}

fn outcomes(calls: &[Call]) -> Vec<&str> {
    calls
        .iter()
        .filter(|c| c.outcome != Outcome::Ok)
        .map(|c| c.outcome.name())
        .collect()
}

const USERS: &str = "select name, password from sys.user$";

#[test]
fn sqlplus_to_12_1_fetches_117_rows_by_15() {
    let Some(calls) = sample("9_oracle12_2016.pcapng") else {
        return;
    };
    let mut expected = vec![(1, 1)];
    expected.extend([(15, 15); 7]);
    expected.push((15, 11));
    assert_eq!(rows(&calls, USERS), expected);
    assert_eq!(outcomes(&calls), ["ORA-65096", "ORA-01917"]);
    // Six markers: a break, and a reset each way, in two calls.
    let trips = calls.iter().filter_map(|c| c.detail.get(Field::InnerTrips));
    assert_eq!(trips.sum::<u64>(), 2);
    assert_eq!(calls.last().map(|c| &*c.op), Some("LOGOFF"));
    let session = &calls[5].sql.as_ref().expect("a session").session;
    assert_eq!(session.user.as_deref(), Some("sys"));
    assert_eq!(session.database.as_deref(), Some("igor"));
    assert_eq!(
        (session.sdu_bytes, session.tdu_bytes),
        (Some(8_192), Some(2_097_152))
    );
    let session = &calls[6].sql.as_ref().expect("a session").session;
    assert_eq!(session.server_version.as_deref(), Some("12.1.0.2.0"));
    assert!(!session.unproven && session.hidden.is_none() && !session.plaintext_password);
}

#[test]
fn sqlplus_to_10_2_fetches_63_and_33_rows() {
    let Some(calls) = sample("7_oracle10_2016.pcapng") else {
        return;
    };
    let total = |text| rows(&calls, text).iter().map(|(_, came)| came).sum::<u64>();
    assert_eq!(total(USERS), 63);
    assert_eq!(total("select role from sys.dba_roles"), 33);
    assert_eq!(outcomes(&calls), ["ORA-00904"]);
}

#[test]
fn jdbc_fetches_by_10_or_50() {
    for name in [
        "10_sqldeveloper10_2016.pcapng",
        "12_sqldeveloper12_2016.pcapng",
    ] {
        let Some(calls) = sample(name) else { return };
        // 10 with the execution, 10, and the last: tns.md's 10 then 1, and one more session twice.
        let fetches: Vec<_> = calls
            .iter()
            .filter(|c| &*c.op == "FETCH")
            .map(|c| [Field::RowsAsked, Field::Rows].map(|f| c.detail.get(f)))
            .collect();
        assert_eq!(fetches.len(), 12, "{name}");
        for pair in fetches.chunks(2) {
            assert_eq!(pair, [[Some(10), Some(10)], [Some(10), Some(1)]], "{name}");
        }
        let errors: BTreeSet<_> = outcomes(&calls).into_iter().collect();
        let expected: &[&str] = match name.starts_with("10") {
            true => &["ORA-00942", "ORA-06564"],
            false => &["ORA-01031", "ORA-06564", "ORA-16525"],
        };
        assert_eq!(errors, expected.iter().copied().collect(), "{name}");
    }
}

#[test]
fn oracle_9_clients_fetch_by_25() {
    let Some(calls) = sample("trex-delay_oracle_0.pcap") else {
        return;
    };
    let texts = "select IS_VISIBLE from CP_RULE\n";
    let all = rows(&calls, texts);
    for three in all.chunks(3) {
        assert_eq!(three, [(25, 25), (25, 25), (25, 21)]);
    }
    assert!(all.len() >= 9);
    // The capture's first CONNECT was answered before it was sent.
    assert_eq!(outcomes(&calls), ["no-response", "ORA-00942"]);
}

#[test]
fn failed_logons_have_their_error() {
    for (name, errors) in [
        ("TNS_Oracle1.pcap", &["ORA-01017"][..]),
        ("john-11gR2-root-no-Nmap", &["ORA-01017"]),
    ] {
        let Some(calls) = sample(name) else { return };
        let logons = calls.iter().filter(|c| &*c.op == "LOGON");
        let failed: Vec<_> = logons
            .filter(|c| c.outcome.is_error())
            .map(|c| c.outcome.name())
            .collect();
        assert_eq!(failed, errors, "{name}");
    }
}

#[test]
fn a_redirection_is_noted() {
    let Some(calls) = sample("TNS_Oracle4.pcap") else {
        return;
    };
    let redirected: Vec<_> = calls
        .iter()
        .map(|c| c.detail.get(Field::Redirected))
        .collect();
    assert_eq!(redirected, [Some(1)]);
}
