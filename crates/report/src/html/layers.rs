//! What each layer takes of the same operations, as a table.

use super::{cell, head, table};
use crate::layers;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let (title, rows) = layers::table(d)?;
    let (heads, rows) = rows.split_first()?;
    let heads = html! {
        tr {
            @for (i, name) in heads.iter().enumerate() { (head(name, (1..5).contains(&i))) }
        }
    };
    let rows = html! {
        @for row in rows {
            tr {
                @for (i, text) in row.iter().enumerate() {
                    @match i {
                        0 => th scope="row" { (text) },
                        5 => td { (text) },
                        _ => (cell(text, None)),
                    }
                }
            }
        }
    };
    let caution = layers::caution(d);
    Some(html! {
        (table(&title, &heads, &rows))
        @if !caution.is_empty() { p { (caution) } }
    })
}
