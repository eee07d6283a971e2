//! What each layer takes of the same operations, as a picture and as a table.

use super::nested::{self, Nested};
use super::{cell, head, table};
use crate::layers;
use analysis::results::{Diagnosis, Layer, LayerOf, Side};
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
        @if let Some(figure) = nested::figure("A call of average length, as each layer has it", &all(d)) { (figure) }
        (table(&title, &heads, &rows))
        @if !caution.is_empty() { p { (caution) } }
    })
}

fn all(d: &Diagnosis) -> Vec<Nested> {
    let before_ns = d.server_app.as_ref().and_then(|s| s.before_mean_ns);
    let of = |l: &Layer| Nested {
        name: layers::name(l.layer).to_owned(),
        side: match l.layer {
            LayerOf::Application | LayerOf::ClientKernel => Side::Client,
            LayerOf::ClientWire => Side::Network,
            LayerOf::ServerWire | LayerOf::ServerOperation | LayerOf::Disk => Side::Server,
        },
        takes: l.mean(),
        begins_ns: before_ns.filter(|_| l.layer == LayerOf::ServerOperation),
    };
    d.layers.iter().map(of).collect()
}
