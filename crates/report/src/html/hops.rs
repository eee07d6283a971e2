//! What lies between neighbouring capture points, and what captures of several clients say, as tables.

use super::{cell, head, table};
use crate::{hops, peers};
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    listed(hops::table(d))
}

pub(super) fn of_peers(d: &Diagnosis) -> Option<Markup> {
    listed(peers::table(d))
}

fn listed(of: Option<(String, Vec<Vec<String>>)>) -> Option<Markup> {
    let (title, rows) = of?;
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
