//! What lies beneath a server that works for others with calls of its own.

use super::held;
use crate::tiers;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    if d.tiers.is_empty() {
        return None;
    }
    Some(html! {
        @for tier in tiers::all(d) {
            @for sentence in tiers::said(tier) { p { (sentence) } }
            @if let Some(table) = tier.below.as_ref().and_then(|d| held::beneath(d)) { (table) }
        }
    })
}
