//! What lies between neighbouring capture points, as a table.

use super::{cell, head, table};
use crate::hops;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let (title, rows) = hops::table(d)?;
    let (heads, rows) = rows.split_first()?;
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
    Some(table(&title, &heads, &rows))
}
