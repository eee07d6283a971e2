//! What lies beneath a server that works for others with calls of its own.

use super::held;
use super::nested::{self, Nested};
use crate::tiers;
use analysis::app::Range;
use analysis::results::{Diagnosis, Side};
use analysis::tiers::Tier;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    if d.tiers.is_empty() {
        return None;
    }
    Some(html! {
        @for tier in tiers::all(d) {
            @for sentence in tiers::said(tier) { p { (sentence) } }
            @if let Some(figure) = nested::figure("A request of average length, and what of it lies beneath", &within(&tier.tier)) { (figure) }
            @if let Some(table) = tier.below.as_ref().and_then(|d| held::beneath(d)) { (table) }
        }
    })
}

fn within(t: &Tier) -> [Nested; 2] {
    let [least_ns, most] = t.beneath_each_ns();
    let [what, _, at] = t.what.words();
    let of = |name, side, takes| Nested {
        name,
        side,
        takes,
        begins_ns: None,
    };
    [
        of(
            format!("{} works on a request", t.host),
            Side::Server,
            Range::exact(t.work_ns / t.asked.max(1) as i64),
        ),
        of(
            format!("{what}, {at} {}", t.below),
            Side::Undetermined,
            Range {
                least_ns,
                most_ns: Some(most),
            },
        ),
    ]
}
