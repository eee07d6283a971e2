//! Where a call's time goes: a bar, and its numbers.

use crate::diagnosis_text::{budget_title, parts};
use crate::text::{Unit, share};
use analysis::results::Diagnosis;
use maud::{Markup, html};
use model::format_duration;

/// Width of the bar in its own units.
const WIDTH: i64 = 1_000;

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let b = &d.budget;
    let Some((total, parts)) = parts(b) else {
        let host = b.client_host_ns.filter(|_| b.calls > 0)?;
        return Some(html! {
            h2 #budget-title { "Where the time goes" }
            p { "Above the wire a call spends " (format_duration(host)) " in the client host." }
        });
    };
    let unit = Unit::for_duration(total);
    // What a part is divided into stands in its place in the bar.
    let mut bars: Vec<(String, i64)> = Vec::new();
    for (i, part) in parts.iter().enumerate() {
        let divided = part.name == "server" && parts.get(i + 1).is_some_and(|next| next.within);
        let inside = part.within && !matches!(part.name, "service" | "queue");
        if let Some(ns) = part.ns.filter(|_| !divided && !inside) {
            bars.push((class(part.name), ns.max(0)));
        }
    }
    let mut before = 0;
    let place = |(class, ns): &(String, i64)| {
        let at = |ns: i64| (i128::from(ns) * i128::from(WIDTH) / i128::from(total)) as i64;
        let from = at(before);
        before += ns;
        (class.clone(), from, at(before) - from)
    };
    let bars: Vec<(String, i64, i64)> = bars.iter().map(place).collect();
    Some(html! {
        h2 #budget-title { (budget_title(total, b)) }
        svg.bar viewBox={ "0 0 " (WIDTH) " 24" } preserveAspectRatio="none" width="100%" height="24" aria-hidden="true" focusable="false" {
            @for (class, x, width) in &bars {
                rect class={ "part " (class) } x=(x) y="0" width=((*width).max(2)) height="24" {}
            }
        }
        table.parts {
            caption.hidden { "Mean of each part of a call" }
            thead {
                tr {
                    th scope="col" { "part" }
                    th.number scope="col" { (unit.name) }
                    th.number scope="col" { "share" }
                }
            }
            tbody {
                @for part in &parts {
                    tr class=[row(part.within, part.ns.is_some())] {
                        th scope="row" { span class={ "swatch " (class(part.name)) } {} (part.name) }
                        @if let Some(ns) = part.ns {
                            td.number data-value=(ns) { (unit.number(ns)) }
                            td.number { (share(ns, total)) }
                        } @else {
                            td colspan="2" { (part.unknown) }
                        }
                    }
                }
            }
        }
    })
}

fn row(within: bool, known: bool) -> Option<&'static str> {
    match (within, known) {
        (true, _) => Some("of"),
        (_, false) => Some("unknown"),
        _ => None,
    }
}

/// `network out` is of class `network-out`.
fn class(name: &str) -> String {
    name.replace(' ', "-")
}
