//! The files that took most time, as a table.

use super::{anchors, cell, head, table};
use crate::diagnosis_text::files::{all_ns, name};
use crate::text::{Unit, bytes, grouped, share};
use crate::value;
use analysis::results::Diagnosis;
use maud::{Markup, html};

pub(super) fn section(d: &Diagnosis) -> Option<Markup> {
    let first = d.files.first()?;
    let unit = Unit::for_duration(first.total_ns);
    let heads = html! {
        tr {
            (head("file", false))
            (head("handle", false))
            @for name in ["share", "calls", "time", "bytes"] { (head(name, true)) }
        }
    };
    let rows = html! {
        @for f in &d.files {
            @let moved = f.request_bytes + f.response_bytes;
            @let anchor = anchors::file(f.file);
            tr id=(anchor) {
                th scope="row" { a href={ "#" (anchor) } { (name(f)) } }
                td { (value::file(f.file)) }
                (cell(&share(f.total_ns, all_ns(d)), Some(f.total_ns)))
                (cell(&grouped(f.calls), i64::try_from(f.calls).ok()))
                (cell(&unit.number(f.total_ns), Some(f.total_ns)))
                (cell(&bytes(moved), i64::try_from(moved).ok()))
            }
        }
    };
    let title = format!("Files that took most time, in {}", unit.name);
    Some(table(&title, &heads, &rows))
}
