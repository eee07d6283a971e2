//! What tools said of the hosts, as tables.

use super::{cell, head, table};
use crate::hosts::{self, COUNTERS, KERNEL};
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    if d.hosts.is_empty() {
        return None;
    }
    let tables = [(COUNTERS, hosts::counters(d)), (KERNEL, hosts::kernel(d))];
    let tables = tables.iter().filter_map(|(title, rows)| {
        let (heads, rows) = rows.as_ref()?.split_first()?;
        let heads =
            html! { tr { @for (i, name) in heads.iter().enumerate() { (head(name, i > 0)) } } };
        let rows = html! {
            @for row in rows {
                tr {
                    @for (i, text) in row.iter().enumerate() {
                        @if i == 0 { th scope="row" { (text.trim()) } } @else { (cell(text, None)) }
                    }
                }
            }
        };
        Some(table(title, &heads, &rows))
    });
    Some(html! {
        h2 #hosts-title { "Hosts" }
        @for host in &d.hosts { p { (hosts::said(host)) } }
        @for table in tables { (table) }
        @for sentence in hosts::contradicted(d) { p { (sentence) } }
    })
}
