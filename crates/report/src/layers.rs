//! What each layer takes of the same operations, outermost first: as a table for people, and for programs.

mod compared;

pub(crate) use compared::{compared, compared_value};

use crate::diagnosis_json::compared_by;
use crate::page::{self, Tone, columns, pad};
use crate::text::{Grid, Unit, grouped, wrap};
use analysis::app::{Range, ServerFacts};
use analysis::results::{Diagnosis, Layer, LayerOf, LayerSource};
use serde_json::{Value, json};

const TITLE: &str = "What each layer takes";

/// What a layer takes more than the one that it encloses.
const BEYOND: &str = "beyond the next";

/// Of what lies around an operation, so much on one side of it is that side's: three quarters.
const MOSTLY: (i64, i64) = (3, 4);

/// Layers that tell of fewer than so many in a hundred of what another tells of are not of the same operations.
const SAME_PER_CENT: u64 = 90;

const DIFFERENT: &str = "The layers tell of different numbers of operations. What a layer takes beyond the next is of those that were joined, and need not be the difference of their means.";

/// Said beneath where layers tell of different numbers of operations.
pub(crate) fn caution(d: &Diagnosis) -> &'static str {
    let calls = || d.layers.iter().map(|l| l.calls);
    let (fewest, most) = (calls().min().unwrap_or(0), calls().max().unwrap_or(0));
    match fewest.saturating_mul(100) < most.saturating_mul(SAME_PER_CENT) {
        true => DIFFERENT,
        false => "",
    }
}

/// The section of the page; nothing where nobody's own times were used.
pub(crate) fn text(d: &Diagnosis) -> String {
    let Some((unit, rows)) = rows(d) else {
        return String::new();
    };
    let (numbers, words): (Vec<_>, Vec<_>) =
        rows.into_iter().map(|r| (r.numbers, r.beyond)).unzip();
    let heads = ["", "calls", "mean", "p50", "p99"].map(str::to_owned);
    let mut cells = vec![heads.to_vec()];
    cells.extend(numbers.into_iter().map(|mut row| {
        if let Some(name) = row.first_mut() {
            *name = format!("  {name}");
        }
        row
    }));
    if let Some(head) = cells.first_mut().and_then(|row| row.first_mut()) {
        *head = format!("  in {unit}");
    }
    let grid = Grid::fitting(cells);
    let width = grid.width();
    let mut out = Tone::Title.paint(TITLE) + "\n";
    // Beside the table, or beneath it where the page is narrow.
    let longest = words.iter().map(|w| columns(w)).max().unwrap_or(0);
    if width + 2 + longest.max(columns(BEYOND)) <= page::width() {
        let heads = std::iter::once(Tone::Faint.paint(BEYOND));
        for (line, beyond) in grid.lines().into_iter().zip(heads.chain(words)) {
            let line = format!("{}  {beyond}", pad(&line, width));
            out.push_str(line.trim_end());
            out.push('\n');
        }
    } else {
        out.push_str(&grid.text());
        let layers = d.layers.iter().zip(&words);
        for (layer, beyond) in layers.filter(|(_, beyond)| !beyond.is_empty()) {
            let name = name(layer.layer);
            out.push_str(&wrap("  ", 4, &format!("{name} {BEYOND}: {beyond}")));
        }
    }
    let caution = caution(d);
    if !caution.is_empty() {
        out.push_str(&wrap("  ", 2, caution));
    }
    out
}

/// Title and rows with their heads, for Markdown.
pub(crate) fn table(d: &Diagnosis) -> Option<(String, Vec<Vec<String>>)> {
    let (unit, rows) = rows(d)?;
    let heads = ["layer", "calls", "mean", "p50", "p99", "beyond the next"];
    let mut cells = vec![heads.map(str::to_owned).to_vec()];
    cells.extend(rows.into_iter().map(|r| {
        let mut row = r.numbers;
        row.push(r.beyond);
        row
    }));
    Some((format!("{TITLE}, in {unit}"), cells))
}

/// A layer in a table.
struct Row {
    /// Its name, calls, mean, median, 99th percentile.
    numbers: Vec<String>,
    /// How much it takes beyond the next, and what that is.
    beyond: String,
}

fn rows(d: &Diagnosis) -> Option<(&'static str, Vec<Row>)> {
    let longest = d.layers.iter().map(|l| l.mean_ns).max()?;
    let unit = Unit::for_duration(longest);
    let number = |range: Option<Range>| range.map_or_else(|| "-".to_owned(), |r| between(r, unit));
    let next = d.layers.iter().skip(1).map(Some).chain([None]);
    let row = |(layer, next): (&Layer, Option<&Layer>)| Row {
        numbers: vec![
            name(layer.layer).to_owned(),
            grouped(layer.calls),
            number(Some(layer.mean())),
            number(layer.p50()),
            number(layer.p99()),
        ],
        beyond: match (layer.beyond_next(), next) {
            (Some(range), Some(next)) => {
                let what = beyond(layer.layer, next.layer, d.server_app.as_ref());
                format!("{} {what}", between(range, unit))
            }
            _ => String::new(),
        },
    };
    Some((unit.name, d.layers.iter().zip(next).map(row).collect()))
}

/// `2.10-4.20`, where no single number is known.
pub(crate) fn between(range: Range, unit: Unit) -> String {
    let least = unit.number(range.least_ns);
    match range.most_ns.map(|ns| unit.number(ns)) {
        Some(most) if most == least => most,
        Some(most) => format!("{least}-{most}"),
        None => format!("{least} or more"),
    }
}

pub(crate) fn name(layer: LayerOf) -> &'static str {
    match layer {
        LayerOf::Application => "application",
        LayerOf::ClientKernel => "client's system",
        LayerOf::ClientWire => "wire at client",
        LayerOf::ServerWire => "wire at server",
        LayerOf::ServerOperation => "operation",
        LayerOf::Disk => "disk",
    }
}

/// What lies between two layers.
fn beyond(layer: LayerOf, next: LayerOf, server: Option<&ServerFacts>) -> &'static str {
    match (layer, next) {
        (LayerOf::Application, _) => "above the wire",
        (LayerOf::ClientKernel, _) => "queue above the wire",
        (LayerOf::ClientWire, LayerOf::ServerOperation) => "network and server",
        (LayerOf::ClientWire, _) => "network",
        (_, LayerOf::Disk) => "above the disk",
        _ => {
            let sides = server.and_then(|s| s.before_mean_ns.zip(s.behind_mean_ns));
            let (part, of) = MOSTLY;
            match sides {
                Some((before, behind)) if before >= (before + behind) / of * part => {
                    "before the operation"
                }
                Some((before, behind)) if behind >= (before + behind) / of * part => {
                    "behind the operation"
                }
                _ => "around the operation",
            }
        }
    }
}

pub(crate) fn layer(l: &Layer, d: &Diagnosis) -> Value {
    let source = match &l.source {
        LayerSource::Rows(words) => Some(words.as_str()),
        LayerSource::Capture(i) => {
            let files = d.captures.get(*i).map(|c| &c.files);
            files.and_then(|f| f.first()).map(String::as_str)
        }
    };
    let [mean, p50, p99, beyond] = [Some(l.mean()), l.p50(), l.p99(), l.beyond_next()];
    json!({
        "layer": l.layer.name(),
        "source": source,
        "calls": l.calls,
        "joined": l.joined,
        "mean_ns": l.mean_ns,
        "p50_ns": l.p50_ns,
        "p99_ns": l.p99_ns,
        "beyond_next_ns": l.beyond_next_ns,
        "mean_least_ns": least(mean),
        "mean_most_ns": most(mean),
        "p50_least_ns": least(p50),
        "p50_most_ns": most(p50),
        "p99_least_ns": least(p99),
        "p99_most_ns": most(p99),
        "beyond_next_least_ns": least(beyond),
        "beyond_next_most_ns": most(beyond),
    })
}

fn least(range: Option<Range>) -> Option<i64> {
    range.map(|r| r.least_ns)
}

fn most(range: Option<Range>) -> Option<i64> {
    range.and_then(|r| r.most_ns)
}

/// What the server's own times say.
pub(crate) fn server_app(s: &ServerFacts) -> Value {
    json!({
        "basis": s.basis.to_string(),
        "compared_by": compared_by(s.by),
        "operations": s.operations,
        "matched": s.matched,
        "operation_mean_ns": s.operation_mean_ns,
        "beyond_mean_ns": s.beyond_mean_ns,
        "beyond_total_ns": s.beyond_total_ns,
        "before_mean_ns": s.before_mean_ns,
        "behind_mean_ns": s.behind_mean_ns,
        "operation_mean_least_ns": s.own().least_ns,
        "operation_mean_most_ns": s.own().most_ns,
        "beyond_mean_most_ns": s.beyond().most_ns,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use analysis::app::ComparedBy;
    use expect_test::expect;

    /// Too few threads in a server, with both ends and both logs.
    fn diagnosis() -> Diagnosis {
        let layer = |layer, source, mean_ns: i64, beyond| Layer {
            layer,
            source,
            calls: 2_600,
            joined: Some(2_600),
            mean_ns,
            p50_ns: Some(mean_ns - 100_000),
            p99_ns: Some(mean_ns + 4_000_000),
            bounds: None,
            beyond_next_ns: beyond,
            beyond_next: None,
        };
        let rows = |words: &str| LayerSource::Rows(words.to_owned());
        let mut d = samples::diagnosis();
        d.layers = vec![
            layer(
                LayerOf::Application,
                rows("CSV, start_ns to end_ns"),
                33_250_000,
                Some(70_000),
            ),
            layer(
                LayerOf::ClientWire,
                LayerSource::Capture(0),
                33_180_000,
                Some(110_000),
            ),
            layer(
                LayerOf::ServerWire,
                LayerSource::Capture(1),
                33_070_000,
                Some(29_000_000),
            ),
            layer(LayerOf::ServerOperation, rows("CSV"), 4_070_000, None),
        ];
        d.server_app = Some(ServerFacts {
            operations: 2_600,
            matched: 2_600,
            bounds: None,
            operation_mean_ns: 4_070_000,
            beyond_mean_ns: 29_000_000,
            beyond_total_ns: 75_400_000_000,
            before_mean_ns: Some(28_950_000),
            behind_mean_ns: Some(50_000),
            slow_took_ns: 0,
            slow_beyond_ns: 0,
            by: ComparedBy::Offset,
            basis: "CSV".into(),
        });
        d
    }

    #[test]
    fn each_layer_says_what_it_takes_beyond_the_next() {
        expect![[r#"
            What each layer takes
              in ms           calls   mean    p50    p99  beyond the next
              application     2,600  33.25  33.15  37.25  0.07 above the wire
              wire at client  2,600  33.18  33.08  37.18  0.11 network
              wire at server  2,600  33.07  32.97  37.07  29.00 before the operation
              operation       2,600   4.07   3.97   8.07
        "#]]
        .assert_eq(&text(&diagnosis()));
        assert_eq!(text(&samples::diagnosis()), "");
    }

    #[test]
    fn what_is_not_known_of_single_operations_is_left_open() {
        let mut d = diagnosis();
        d.layers[0].p50_ns = None;
        d.layers[0].joined = None;
        let (title, rows) = table(&d).unwrap();
        assert_eq!(title, "What each layer takes, in ms");
        assert_eq!(
            rows[1],
            [
                "application",
                "2,600",
                "33.25",
                "-",
                "37.25",
                "0.07 above the wire"
            ]
        );
        assert_eq!(layer(&d.layers[0], &d)["p50_ns"], Value::Null);
        assert_eq!(
            layer(&d.layers[1], &d)["source"],
            d.captures[0].files[0].as_str()
        );
    }

    #[test]
    fn layers_of_different_operations_are_not_to_be_subtracted() {
        let mut d = diagnosis();
        d.layers[0].calls = 2_888;
        assert_eq!(caution(&d), "");
        d.layers[0].calls = 2_889;
        assert!(text(&d).contains("  The layers tell of different numbers of operations."));
        assert_eq!(caution(&samples::diagnosis()), "");
    }

    #[test]
    fn on_a_narrow_page_what_lies_between_stands_beneath() {
        let mut d = diagnosis();
        d.layers[0].calls = 1_234_567_890_123_456;
        let text = text(&d);
        assert!(
            text.contains("\n  wire at server beyond the next: 29.00 before the operation\n"),
            "{text}"
        );
        assert!(text.lines().all(|l| columns(l) <= 80), "{text}");
    }

    #[test]
    fn where_the_wait_lies_is_said_where_it_is_known() {
        let mut d = diagnosis();
        let mut said = |before, behind| {
            let s = d.server_app.as_mut().unwrap();
            (s.before_mean_ns, s.behind_mean_ns) = (before, behind);
            beyond(
                LayerOf::ServerWire,
                LayerOf::ServerOperation,
                d.server_app.as_ref(),
            )
        };
        assert_eq!(said(Some(3_000), Some(1_000)), "before the operation");
        assert_eq!(said(Some(1_000), Some(3_000)), "behind the operation");
        assert_eq!(said(Some(2_000), Some(2_000)), "around the operation");
        assert_eq!(said(None, None), "around the operation");
    }
}
