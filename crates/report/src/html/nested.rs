//! Times that lie within each other, outermost first, as a bar each: what a layer takes beyond the next stands out to its sides.

use crate::text::Unit;
use analysis::app::Range;
use analysis::results::Side;
use maud::{Markup, html};

/// Width of the longest bar in its own units.
const WIDTH: i64 = 1_000;

/// One of them.
pub(super) struct Nested {
    pub(super) name: String,
    pub(super) side: Side,
    pub(super) takes: Range,
    /// How long after the one that encloses it it begins, where that is known; else it is drawn in its middle.
    pub(super) begins_ns: Option<i64>,
}

/// Nothing of fewer than two, as one lies within none.
pub(super) fn figure(caption: &str, all: &[Nested]) -> Option<Markup> {
    let longest = all.iter().map(|n| most_ns(n.takes)).max()?;
    if all.len() < 2 || longest <= 0 {
        return None;
    }
    let unit = Unit::for_duration(longest);
    let mut outer = (0, longest);
    let mut place = |n: &Nested| {
        let (from, until) = outer;
        let most = most_ns(n.takes).clamp(0, until - from);
        let spare = until - from - most;
        let at = from + n.begins_ns.unwrap_or(spare / 2).clamp(0, spare);
        outer = (at, at + most);
        let least = n.takes.least_ns.clamp(0, most);
        // What may be more is drawn behind what is certain, paler.
        [(at, most), (at + (most - least) / 2, least)]
    };
    let drawn: Vec<(&Nested, [(i64, i64); 2])> = all.iter().map(|n| (n, place(n))).collect();
    let scaled = |ns: i64| (i128::from(ns) * i128::from(WIDTH) / i128::from(longest)) as i64;
    Some(html! {
        table.parts.nested {
            caption { (caption) }
            thead.hidden { tr { th scope="col" { "layer" } th.number scope="col" { (unit.name) } th scope="col" { "picture" } } }
            tbody {
                @for (n, [may_be, is]) in &drawn {
                    tr {
                        th scope="row" { (n.name) }
                        td.number { (shown(n.takes, unit)) " " (unit.name) }
                        td {
                            svg.bar viewBox={ "0 0 " (WIDTH) " 16" } preserveAspectRatio="none" width="100%" height="16" aria-hidden="true" focusable="false" {
                                @for ((from, ns), faint) in [(may_be, true), (is, false)] {
                                    rect class={ "part side-" (n.side.name()) } x=(scaled(*from)) y="0" width=(scaled(*ns).max(2)) height="16" opacity=[faint.then_some("0.35")] {}
                                }
                            }
                        }
                    }
                }
            }
        }
    })
}

fn most_ns(range: Range) -> i64 {
    range.most_ns.unwrap_or(range.least_ns)
}

fn shown(range: Range, unit: Unit) -> String {
    crate::layers::between(range, unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, least_ns: i64, most_ns: i64, begins_ns: Option<i64>) -> Nested {
        Nested {
            name: name.to_owned(),
            side: Side::Server,
            takes: Range {
                least_ns,
                most_ns: Some(most_ns),
            },
            begins_ns,
        }
    }

    /// Where bars begin, and how long they are.
    fn bars(all: &[Nested]) -> Vec<(String, String)> {
        let page = figure("of a call", all).expect("a figure").into_string();
        let rects = page.split("<rect ").skip(1);
        let value = |rect: &str, name: &str| {
            let from = rect.split(&format!(" {name}=\"")).nth(1).expect("there");
            from.split('"').next().expect("closed").to_owned()
        };
        rects.map(|r| (value(r, "x"), value(r, "width"))).collect()
    }

    #[test]
    fn a_bar_lies_within_the_one_above() {
        let all = [
            of("application", 100, 100, None),
            of("wire", 50, 50, Some(40)),
            of("operation", 20, 40, None),
        ];
        let own = |x: &str, width: &str| (x.to_owned(), width.to_owned());
        assert_eq!(
            bars(&all),
            [
                own("0", "1000"),
                own("0", "1000"),
                own("400", "500"),
                own("400", "500"),
                own("450", "400"),
                own("550", "200"),
            ]
        );
    }

    #[test]
    fn what_lies_within_nothing_is_not_drawn() {
        assert!(figure("of a call", &[of("wire", 50, 50, None)]).is_none());
        let none = [of("a", 0, 0, None), of("b", 0, 0, None)];
        assert!(figure("of a call", &none).is_none());
    }

    #[test]
    fn what_takes_longer_than_what_encloses_it_does_not_reach_beyond() {
        let all = [of("wire", 50, 50, None), of("disk", 70, 70, None)];
        let own = ("142".to_owned(), "714".to_owned());
        assert_eq!(bars(&all), vec![own; 4]);
    }
}
