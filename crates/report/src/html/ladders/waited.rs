//! A call's ledger as a bar and a table: where its time passed, whose doing that was, and why.

use super::super::scroll;
use ledger::{Bounds, Ledger, Line, Place};
use maud::{Markup, html};
use model::format_duration;

/// Width of the bar in its own units.
const WIDTH: i64 = 1_000;

pub(super) fn table(ledger: &Ledger, call: &str) -> Markup {
    let mut lines = ledger.lines();
    lines.sort_by_key(|l| rank(l.place));
    let bars = bars(&lines, ledger.response);
    html! {
        svg.bar viewBox={ "0 0 " (WIDTH) " 12" } preserveAspectRatio="none" width="100%" height="12" aria-hidden="true" focusable="false" {
            @for (class, x, width) in &bars { rect class={ "part " (class) } x=(x) y="0" width=(width) height="12" {} }
        }
        (scroll(&format!("What {call} waited for"), &html! { table.parts {
            caption { "What it waited for, by its ledger" }
            thead {
                tr {
                    th scope="col" { "where" }
                    th scope="col" { "whose doing" }
                    th scope="col" { "why" }
                    th.number scope="col" { "at least" }
                    th.number scope="col" { "at most" }
                }
            }
            tbody {
                @for l in &lines {
                    tr class=[(l.ns.lo_ns == 0).then_some("unknown")] {
                        th scope="row" { span class={ "swatch " (class(l)) } {} (l.place.name()) }
                        td { (l.side.name()) }
                        td { (l.cause.name()) }
                        td.number data-value=(l.ns.lo_ns) { (format_duration(l.ns.lo_ns)) }
                        td.number data-value=[l.ns.hi_ns] {
                            @match l.ns.hi_ns {
                                Some(hi) if hi == l.ns.lo_ns => {},
                                Some(hi) => (format_duration(hi)),
                                None => "not known",
                            }
                        }
                    }
                }
            }
        } }))
    }
}

/// The order in which a call meets them.
fn rank(place: Place) -> u8 {
    match place {
        Place::Client => 0,
        Place::Network => 1,
        Place::Server => 2,
        Place::Unknown => 3,
    }
}

/// What was lost has the colour that it has in all charts, all else that of whose doing it was.
fn class(l: &Line) -> &'static str {
    match l.cause {
        ledger::Cause::Loss | ledger::Cause::Outage | ledger::Cause::Fragments => {
            "class-loss-recovery"
        }
        _ => l.side.name(),
    }
}

/// What is certain, one after another, and what is left of the call's time behind.
fn bars(lines: &[Line], response: Bounds) -> Vec<(&'static str, i64, i64)> {
    let sure = lines
        .iter()
        .fold(0i64, |sum, l| sum.saturating_add(l.ns.lo_ns.max(0)));
    let all = response.lo_ns.max(sure).max(1);
    let at = |ns: i64| (i128::from(ns) * i128::from(WIDTH) / i128::from(all)) as i64;
    let mut before = 0;
    let parts = lines.iter().map(|l| (class(l), l.ns.lo_ns.max(0)));
    let parts = parts.chain([("unknown", all - sure)]);
    let parts = parts.filter(|(_, ns)| *ns > 0);
    let bars = parts.map(|(class, ns)| {
        let from = at(before);
        before += ns;
        (class, from, (at(before) - from).max(1))
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ledger::Cause;
    use model::Direction;

    #[test]
    fn the_bar_is_as_wide_as_the_call_took_and_what_is_not_certain_is_nobody_s() {
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(1_000));
        ledger.charge(Cause::Loss, Direction::ToServer, Bounds::exactly(500));
        ledger.charge(
            Cause::Service,
            Direction::ToServer,
            Bounds::between(250, 400),
        );
        let bars = bars(&ledger.lines(), ledger.response);
        assert_eq!(
            bars,
            [
                ("class-loss-recovery", 0, 500),
                ("server", 500, 250),
                ("unknown", 750, 250)
            ]
        );
        let table = table(&ledger, "READ 0x1").into_string();
        assert!(table.contains("<td>network</td><td>loss</td>"), "{table}");
        assert!(table.contains("400 ns"), "{table}");
    }
}
