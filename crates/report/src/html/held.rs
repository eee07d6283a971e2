//! The ledger's sums as a table of the page: who held calls up, by what.

use super::scroll;
use crate::diagnosis_text::held::held_up;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    under(d, |title| html! { h2 #ledger-title { (title) } })
}

/// That of what lies beneath a server, within its section.
pub(super) fn beneath(d: &Diagnosis) -> Option<Markup> {
    under(d, |title| html! { h3 { (title) } })
}

fn under(d: &Diagnosis, heading: fn(&str) -> Markup) -> Option<Markup> {
    let held = held_up(d)?;
    let (heads, rows) = held.rows.split_first()?;
    let numbers = heads.get(1..).unwrap_or_default();
    Some(html! {
        (heading(&held.title))
        (scroll(&format!("Sides and causes: {}", held.title), &html! {
            table.parts {
                caption.hidden { "What is certain of each side and cause, and what is at most theirs" }
                thead {
                    tr {
                        th scope="col" { "whose, and what" }
                        @for name in numbers { th.number scope="col" { (name) } }
                    }
                }
                tbody {
                    @for row in rows {
                        @if let Some((name, numbers)) = row.split_first() {
                            // A line of the side above.
                            tr class=[name.starts_with(' ').then_some("of")] {
                                th scope="row" { (name.trim()) }
                                @for number in numbers { td.number { (number) } }
                            }
                        }
                    }
                }
            }
        }))
        @if !held.more.is_empty() { p.note { (held.more) } }
    })
}
