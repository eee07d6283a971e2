//! The ledger's sums as a table of the page.

use super::{cell, head, table};
use crate::diagnosis_text::held::held_up;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let held = held_up(d)?;
    let (heads, rows) = held.rows.split_first()?;
    let heads = html! {
        tr {
            @for (i, name) in heads.iter().enumerate() { (head(name, i > 0)) }
        }
    };
    let rows = html! {
        @for row in rows {
            tr {
                @for (i, text) in row.iter().enumerate() {
                    @if i == 0 { th scope="row" { (text) } } @else { (cell(text, None)) }
                }
            }
        }
    };
    Some(table(&held.title, &heads, &rows))
}
