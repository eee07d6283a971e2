//! What lies between neighbouring capture points, and what captures of several clients say, as tables.

use super::{cell, head, table};
use crate::text::Sorted;
use crate::{hops, peers};
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    listed(hops::table(d))
}

pub(super) fn of_peers(d: &Diagnosis) -> Option<Markup> {
    listed(peers::table(d))
}

fn listed(of: Option<(String, Vec<Vec<Sorted>>)>) -> Option<Markup> {
    let (title, rows) = of?;
    let (heads, rows) = rows.split_first()?;
    let has_numbers = |column: usize| {
        let mut cells = rows.iter().filter_map(|row| row.get(column));
        cells.any(|(_, number)| number.is_some())
    };
    let heads = html! {
        tr {
            @for (i, (name, _)) in heads.iter().enumerate() { (head(name, has_numbers(i))) }
        }
    };
    let rows = html! {
        @for row in rows {
            tr {
                @for (i, (shown, number)) in row.iter().enumerate() {
                    @if i == 0 {
                        th scope="row" { (shown) }
                    } @else if has_numbers(i) {
                        (cell(shown, *number))
                    } @else {
                        td { (shown) }
                    }
                }
            }
        }
    };
    Some(table(&title, &heads, &rows))
}
