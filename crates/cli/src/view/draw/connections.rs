//! Connections of the window into their pane.

use super::table::{Column, table};
use super::title;
use super::tone::{Tone, slow};
use crate::view::state::{CONNECTION_ORDERS, Pane, State};
use analysis::live::ConnectionRow;
use model::TimeClass;
use ratatui::Frame;
use ratatui::layout::Rect;
use report::{columns, grouped, limit_words, rate, shortened, tight};
use std::net::IpAddr;

const CONNECTIONS: [Column<ConnectionRow>; 7] = [
    Column {
        name: "rate",
        width: 13,
        from: 0,
        cell: |c| (Tone::Plain, rate(c.bps())),
    },
    Column {
        name: "calls",
        width: 8,
        from: 95,
        cell: |c| (Tone::Plain, grouped(c.calls)),
    },
    Column {
        name: "slowest",
        width: 9,
        from: 104,
        cell: |c| match c.calls {
            0 => (Tone::Plain, "-".to_owned()),
            _ => (slow(c.max_ns), tight(c.max_ns)),
        },
    },
    Column {
        name: "rtt",
        width: 8,
        from: 0,
        cell: |c| (Tone::Plain, c.rtt_ns.map_or("-".to_owned(), tight)),
    },
    Column {
        name: "resent",
        width: 7,
        from: 0,
        cell: |c| match c.resent() {
            None => (Tone::Plain, "-".to_owned()),
            Some(0.0) => (Tone::Plain, "0%".to_owned()),
            Some(r) if r < 0.001 => (Tone::Notable, "<0.1%".to_owned()),
            Some(r) => (Tone::Notable, format!("{:.1}%", r * 100.0)),
        },
    },
    Column {
        name: "out",
        width: 5,
        from: 0,
        cell: |c| (Tone::Plain, grouped(c.outstanding_most)),
    },
    Column {
        name: "limited by",
        width: 20,
        from: 0,
        cell: |c| match &c.limit {
            None => (Tone::Faint, "-".to_owned()),
            Some(l) => {
                let tone = match l.class {
                    TimeClass::SenderApplication => Tone::Plain,
                    _ => Tone::Notable,
                };
                (tone, limit_words(l))
            }
        },
    },
];

pub(super) fn connections_pane(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let rows = state.connections();
    let [_, place, _] = state.places;
    let order = CONNECTION_ORDERS
        .get(place.order)
        .copied()
        .unwrap_or("time");
    let text = format!("Connections by {order}");
    let nothing = match &*state.filter {
        "" => "no TCP connection in the window",
        _ => "none contains that text (Esc shows all)",
    };
    table(
        frame,
        state,
        area,
        (
            title(state, Pane::Connections, &text, area.width),
            "client > server",
            nothing,
        ),
        (&rows, place.first),
        connection_name,
        &CONNECTIONS,
    );
}

/// Both ends; where there is no room the client's port goes first, as it says least, and then what both
/// addresses begin with.
fn connection_name(c: &ConnectionRow, room: usize) -> String {
    let full = format!("{} > {}", c.client, c.server);
    if columns(&full) <= room {
        return full;
    }
    let without = format!("{} > {}", c.client.address, c.server);
    if columns(&without) <= room {
        return without;
    }
    let port = c.server.port;
    if let (IpAddr::V4(client), IpAddr::V4(server)) = (c.client.address, c.server.address) {
        let ([a, b, c, _], [x, y, z, last]) = (client.octets(), server.octets());
        if [a, b, c] == [x, y, z] {
            return shortened(&format!("{client} > .{last}:{port}"), room);
        }
    }
    shortened(&without, room)
}
