//! What lies between neighbouring capture points of a path: as a table for people, and for programs.

use crate::diagnosis_json;
use crate::text::{Sorted, Unit, grouped, share, titled, unsorted};
use analysis::hops::{Hop, together_ns, within};
use analysis::results::Diagnosis;
use serde_json::{Value, json};
use std::path::Path;

const TITLE: &str = "The path, from capture point to capture point";

/// The section of the page; nothing where there are no more than two points.
pub(crate) fn text(d: &Diagnosis) -> String {
    table(d).map_or_else(String::new, |(title, rows)| titled(&title, rows))
}

/// Title and rows with their heads.
pub(crate) fn table(d: &Diagnosis) -> Option<(String, Vec<Vec<Sorted>>)> {
    let within = within(d);
    let all_ns = together_ns(&d.hops) + within.map_or(0, |(ns, _)| ns);
    let unit = Unit::for_duration(all_ns);
    let way = |ns: Option<i64>| {
        let shown = ns.map_or_else(|| "-".to_owned(), |ns| unit.number(ns));
        (shown, ns)
    };
    let lost = |hop: &Hop, way: usize| {
        let lost = hop.diagnosis.lost.map(|lost| lost[way]);
        let shown = lost.map_or_else(|| "-".to_owned(), grouped);
        (shown, lost.and_then(|n| i64::try_from(n).ok()))
    };
    let is_lossy = d.hops.iter().any(|hop| hop.lost() > 0);
    let row = |hop: &Hop| match hop.time() {
        Some(t) => vec![
            (name(hop), None),
            (grouped(t.calls), i64::try_from(t.calls).ok()),
            way(Some(t.mean_ns)),
            way(t.out_ns),
            way(t.back_ns),
            (share(t.mean_ns.max(0), all_ns), Some(t.mean_ns)),
            lost(hop, 0),
            lost(hop, 1),
        ],
        None => [(name(hop), None), ("0".to_owned(), Some(0))]
            .into_iter()
            .chain(std::iter::repeat_n(unsorted("-"), 4))
            .chain([lost(hop, 0), lost(hop, 1)])
            .collect(),
    };
    let heads = [
        "between",
        "calls",
        "mean",
        "out",
        "back",
        "of the path",
        "lost out",
        "back",
    ];
    let heads = heads.map(unsorted).to_vec();
    let mut rows: Vec<Vec<_>> = std::iter::once(heads)
        .chain(d.hops.iter().map(row))
        .collect();
    if let Some((ns, at)) = within {
        let name = at.map_or_else(
            || "within them".to_owned(),
            |at| format!("within {}", file(at).unwrap_or(at)),
        );
        let known = [(name, None), unsorted(""), way(Some(ns))];
        let unknown = std::iter::repeat_n(unsorted("-"), 2);
        let share = (share(ns, all_ns), Some(ns));
        let row = known.into_iter().chain(unknown).chain([share]);
        rows.push(row.chain(std::iter::repeat_n(unsorted(""), 2)).collect());
    }
    if !is_lossy {
        rows.iter_mut().for_each(|row| row.truncate(6));
    }
    (!d.hops.is_empty()).then(|| (format!("{TITLE}, in {}", unit.name), rows))
}

/// Its points, without folders where their files' names alone tell them apart.
fn name(hop: &Hop) -> String {
    match hop.names() {
        Some([from, to]) => match (file(from), file(to)) {
            (Some(a), Some(b)) if a != b => format!("{a} and {b}"),
            _ => format!("{from} and {to}"),
        },
        None => "one point".to_owned(),
    }
}

/// Without its folders.
fn file(path: &str) -> Option<&str> {
    Path::new(path).file_name().and_then(|n| n.to_str())
}

pub(crate) fn value(hop: &Hop) -> Value {
    let time = hop.time();
    json!({
        "calls": time.map_or(0, |t| t.calls),
        "mean_ns": time.map(|t| t.mean_ns),
        "out_mean_ns": time.and_then(|t| t.out_ns),
        "back_mean_ns": time.and_then(|t| t.back_ns),
        "lost_to_server": hop.diagnosis.lost.map(|[out, _]| out),
        "lost_to_client": hop.diagnosis.lost.map(|[_, back]| back),
        "diagnosis": diagnosis_json::whole(&hop.diagnosis),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Anonymise;
    use crate::samples;
    use analysis::hops::tell;
    use analysis::results::Side;
    use pseudonyms::Anonymiser;

    /// A capture of each of three points: 110 µs between the first two, 890 between the others.
    fn path() -> Diagnosis {
        let hop = |files: [&str; 2], longer_ns| {
            let mut diagnosis = samples::diagnosis();
            for (capture, file) in diagnosis.captures.iter_mut().zip(files) {
                capture.files = vec![file.to_owned()];
            }
            diagnosis.ops.truncate(1);
            let matched = diagnosis.ops[0].matched.as_mut().expect("of both ends");
            matched.difference_mean_ns = longer_ns;
            Hop { diagnosis }
        };
        let mut d = samples::diagnosis();
        d.verdict.side = Side::Network;
        d.hops = vec![
            hop(["client.pcap", "wall.pcap"], 110_000),
            hop(["wall.pcap", "server.pcap"], 890_000),
        ];
        tell(&mut d);
        d
    }

    #[test]
    fn each_hop_has_a_line_and_its_share() {
        expect_test::expect![[r"
            The path, from capture point to capture point, in ms
              between                    calls   mean    out   back  of the path
              client.pcap and wall.pcap  1,834  0.110  0.050  0.060          11%
              wall.pcap and server.pcap  1,834  0.890  0.050  0.060          89%
        "]]
        .assert_eq(&text(&path()));
        assert_eq!(text(&samples::diagnosis()), "");
    }

    #[test]
    fn what_was_lost_has_columns_where_something_was() {
        let mut d = path();
        d.hops[1].diagnosis.lost = Some([3, 1_204]);
        expect_test::expect![[r#"
            The path, from capture point to capture point, in ms
              between                   calls  mean   out  back of the path lost out  back
              client.pcap and wall.pcap 1,834 0.110 0.050 0.060         11%        0     0
              wall.pcap and server.pcap 1,834 0.890 0.050 0.060         89%        3 1,204
        "#]]
        .assert_eq(&text(&d));
        assert_eq!(value(&d.hops[1])["lost_to_client"], 1_204);
    }

    #[test]
    fn what_a_host_between_holds_has_a_line() {
        let mut d = path();
        let all = d.ops[0].matched.as_mut().expect("of both ends");
        (all.count, all.difference_mean_ns) = (1_834, 41_000_000);
        d.ops.truncate(1);
        expect_test::expect![[r#"
            The path, from capture point to capture point, in ms
              between                    calls   mean   out  back  of the path
              client.pcap and wall.pcap  1,834   0.11  0.05  0.06         0.3%
              wall.pcap and server.pcap  1,834   0.89  0.05  0.06           2%
              within wall.pcap                  40.00     -     -          98%
        "#]]
        .assert_eq(&text(&d));
        assert_eq!(diagnosis_json::whole(&d)["hops_within_ns"], 40_000_000);
    }

    #[test]
    fn folders_stand_only_where_names_alone_do_not_tell() {
        let mut d = path();
        let mut shown = |from: &str, to: &str| {
            let captures = d.hops[0].diagnosis.captures.iter_mut();
            for (capture, file) in captures.zip([from, to]) {
                capture.files = vec![file.to_owned()];
            }
            name(&d.hops[0])
        };
        assert_eq!(shown("x/a.pcap", "y/b.pcap"), "a.pcap and b.pcap");
        assert_eq!(shown("x/a.pcap", "y/a.pcap"), "x/a.pcap and y/a.pcap");
    }

    #[test]
    fn a_hop_without_a_call_in_both_captures_has_no_times() {
        let mut d = path();
        d.hops[0].diagnosis.ops.clear();
        let (_, rows) = table(&d).expect("hops");
        let shown = rows[1].iter().map(|(shown, _)| shown.as_str());
        assert_eq!(shown.collect::<Vec<_>>()[1..], ["0", "-", "-", "-", "-"]);
        assert_eq!(value(&d.hops[0])["mean_ns"], Value::Null);
    }

    #[test]
    fn the_first_sentence_and_the_table_name_points_alike_also_by_pseudonyms() {
        let d = path().anonymised(&Anonymiser::new(b"a key for tests"));
        let said = d.verdict.sentence.to_string();
        let [from, to] = d.hops[1].names().expect("two points");
        assert!(said.contains(from) && said.contains(to), "{said}");
        assert!(!said.contains("wall"), "{said}");
    }
}
