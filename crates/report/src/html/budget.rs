//! Where a call's time goes: a bar, and its numbers.

use crate::diagnosis_text::{BudgetLine, Parts};
use crate::text::{Unit, share};
use analysis::results::Diagnosis;
use maud::{Markup, html};
use model::format_duration;

/// Width of the bar in its own units.
const WIDTH: i64 = 1_000;

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let b = &d.budget;
    let Some(all) = Parts::of(d) else {
        let host = b.client_host_ns.filter(|_| b.calls > 0)?;
        return Some(html! {
            h2 #budget-title { "Where the time goes" }
            p { "Above the wire a call spends " (format_duration(host)) " in the client host." }
        });
    };
    let (total, parts) = (all.total_ns, &all.lines);
    let unit = Unit::for_duration(total);
    // What a part is divided into stands in its place in the bar, what is left of it behind.
    let mut bars: Vec<(String, i64)> = Vec::new();
    let mut parts_left = parts.as_slice();
    while let Some((part, rest)) = parts_left.split_first() {
        let inner = rest.iter().take_while(|p| is_within(p)).count();
        let (within, rest) = rest.split_at_checked(inner).unwrap_or((rest, &[]));
        parts_left = rest;
        let mut left = part.ns.unwrap_or(0).max(0);
        for inner in within {
            let ns = inner.ns.unwrap_or(0).clamp(0, left);
            bars.push((class(inner), ns));
            left -= ns;
        }
        bars.push((class(part), left));
    }
    bars.retain(|(_, ns)| *ns > 0);
    let mut before = 0;
    let place = |(class, ns): &(String, i64)| {
        let at = |ns: i64| (i128::from(ns) * i128::from(WIDTH) / i128::from(total)) as i64;
        let from = at(before);
        before += ns;
        (class.clone(), from, at(before) - from)
    };
    let bars: Vec<(String, i64, i64)> = bars.iter().map(place).collect();
    Some(html! {
        h2 #budget-title { (all.title) }
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
                @for part in parts {
                    tr class=[row(is_within(part), part.ns.is_ok())] {
                        th scope="row" { span class={ "swatch " (class(part)) } {} (part.name.trim()) }
                        @match part.ns {
                            Ok(ns) => {
                                td.number data-value=(ns) { (unit.number(ns)) }
                                td.number { (share(ns, total)) }
                            }
                            Err(unknown) => { td colspan="2" { (unknown) } }
                        }
                    }
                }
            }
        }
        @for note in all.notes() { p.note { (note) } }
    })
}

/// It is a part of the one before that is not.
fn is_within(part: &BudgetLine) -> bool {
    part.name.starts_with(' ')
}

fn row(within: bool, known: bool) -> Option<&'static str> {
    match (within, known) {
        (true, _) => Some("of"),
        (_, false) => Some("unknown"),
        _ => None,
    }
}

/// `network out` is of class `network-out`, a wait under way of that of its time class.
fn class(part: &BudgetLine) -> String {
    match part.class {
        Some(class) => format!("class-{}", class.name()),
        None => part.name.trim().replace(' ', "-"),
    }
}
