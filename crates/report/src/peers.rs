//! What captures of several clients of one server say, or of several servers of one client: as a table for people, and
//! for programs.

use crate::diagnosis_json;
use crate::text::{Sorted, grouped, titled, unsorted};
use analysis::peers::{Peer, word};
use analysis::results::Diagnosis;
use model::format_duration;
use serde_json::{Value, json};
use std::path::Path;

/// The section of the page; nothing where there is one pair only.
pub(crate) fn text(d: &Diagnosis) -> String {
    table(d).map_or_else(String::new, |(title, rows)| titled(&title, rows))
}

/// Title and rows with their heads.
pub(crate) fn table(d: &Diagnosis) -> Option<(String, Vec<Vec<Sorted>>)> {
    let name = |peer: &Peer| short(peer, &d.peers);
    let row = |peer: &Peer| {
        let verdict = &peer.diagnosis.verdict;
        let code = verdict.cause.filter(|_| peer.is_held_up());
        let cost_ns = peer.cost_ns().filter(|_| peer.is_held_up());
        let calls = peer.diagnosis.ledger.calls;
        let whole_ns = peer.diagnosis.call_time_ns;
        vec![
            (name(peer), None),
            (grouped(calls), i64::try_from(calls).ok()),
            (format_duration(whole_ns), Some(whole_ns)),
            unsorted(verdict.side.name()),
            unsorted(code.map_or("-", |c| c.code())),
            (
                cost_ns.map_or_else(|| "-".to_owned(), format_duration),
                cost_ns,
            ),
        ]
    };
    let heads = ["captured in", "calls", "in all", "side", "finding", "costs"];
    let rows = std::iter::once(heads.map(unsorted).to_vec())
        .chain(d.peers.iter().map(row))
        .collect();
    let (count, what) = (d.peers.len(), word(&d.peers));
    (count > 0).then(|| (format!("{count} {what}, most held up first"), rows))
}

/// Its file, without folders where the files' names alone tell all of them apart.
fn short(peer: &Peer, all: &[Peer]) -> String {
    let file = |p: &Peer| Path::new(p.name()).file_name().map(|n| n.to_owned());
    let own = file(peer);
    match own.as_ref().and_then(|n| n.to_str()) {
        Some(short) if all.iter().filter(|p| file(p) == own).count() == 1 => short.to_owned(),
        _ => peer.name().to_owned(),
    }
}

pub(crate) fn value(peer: &Peer) -> Value {
    json!({
        "capture": peer.capture,
        "diagnosis": diagnosis_json::whole(&peer.diagnosis),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Anonymise, samples};
    use analysis::peers::tell;
    use pseudonyms::Anonymiser;

    fn clients(files: &[&str]) -> Diagnosis {
        let peer = |file: &&str| {
            let mut diagnosis = samples::diagnosis();
            diagnosis.captures[0].files = vec![(*file).to_owned()];
            Peer {
                capture: 0,
                diagnosis,
            }
        };
        let peers: Vec<Peer> = files.iter().map(peer).collect();
        let mut d = peers[0].diagnosis.clone();
        d.peers = peers;
        tell(&mut d);
        d
    }

    #[test]
    fn each_has_a_line() {
        expect_test::expect![[r#"
            2 clients, most held up first
              captured in  calls  in all    side                 finding   costs
              app1.pcap    2,600  86.3 s  server  server-concurrency-cap  75.1 s
              app2.pcap    2,600  86.3 s  server  server-concurrency-cap  75.1 s
        "#]]
        .assert_eq(&text(&clients(&["a/app1.pcap", "a/app2.pcap"])));
        assert_eq!(text(&samples::diagnosis()), "");
    }

    #[test]
    fn folders_stand_where_names_alone_do_not_tell() {
        let (_, rows) = table(&clients(&["x/a.pcap", "y/a.pcap", "z/b.pcap"])).expect("peers");
        let names: Vec<&str> = rows.iter().map(|row| row[0].0.as_str()).collect();
        assert_eq!(names, ["captured in", "x/a.pcap", "y/a.pcap", "b.pcap"]);
    }

    #[test]
    fn the_answer_and_the_table_name_them_alike_also_by_pseudonyms() {
        let d =
            clients(&["app1.pcap", "app2.pcap"]).anonymised(&Anonymiser::new(b"a key for tests"));
        let said = d.verdict.sentence.to_string();
        assert!(said.contains(d.peers[0].name()), "{said}");
        assert!(
            !said.contains("app1") && !text(&d).contains("app"),
            "{said}"
        );
    }
}
