//! Connections of the window into their pane.

use super::table::{Column, place, table};
use super::title;
use super::tone::{Tone, slow};
use crate::view::state::{Pane, State};
use analysis::live::ConnectionRow;
use model::{Endpoint, TimeClass};
use ratatui::Frame;
use ratatui::layout::Rect;
use report::{columns, grouped, limit_words, rate, tight};

pub(super) const CONNECTIONS: [Column<ConnectionRow>; 8] = [
    Column {
        name: "rate",
        width: 12,
        from: 0,
        cell: |c| (Tone::Plain, rate(c.bps())),
    },
    Column {
        name: "time",
        width: 10,
        from: 116,
        cell: |c| match c.calls {
            0 => (Tone::Plain, "-".to_owned()),
            _ => (Tone::Plain, tight(c.total_ns)),
        },
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
        width: 7,
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
    let place = place(state, Pane::Connections, rows.len(), area);
    let text = format!("Connections by {}", place.order());
    let nothing = match &*state.filter {
        "" => "no TCP connection in the window",
        _ => "none contains that text (Esc shows all)",
    };
    table(
        frame,
        state,
        &place,
        (
            title(state, Pane::Connections, &text, area.width),
            "client > server",
            nothing,
        ),
        &rows,
        |c, room| ends(&c.client, &c.server, room),
        &CONNECTIONS,
    );
}

/// Both ends, in as many columns. Ports tell connections of a pair of hosts apart, and are never cut; where there is no
/// room, addresses lose what they begin with, as hosts near each other differ at the end.
pub(super) fn ends(client: &Endpoint, server: &Endpoint, room: usize) -> String {
    let full = format!("{client} > {server}");
    let over = columns(&full).saturating_sub(room);
    if over == 0 {
        return full;
    }
    let (client_address, client_port) = parted(client);
    let (server_address, server_port) = parted(server);
    // Each loses half; what is shorter than that leaves more to the other.
    let kept = (client_address.len() + server_address.len()).saturating_sub(over);
    let client_room = (kept / 2).max(kept.saturating_sub(server_address.len()));
    let client_address = ending(&client_address, client_room);
    let server_address = ending(
        &server_address,
        kept.saturating_sub(columns(&client_address)),
    );
    format!("{client_address}:{client_port} > {server_address}:{server_port}")
}

/// Its address as it is written before a port, and the port.
fn parted(end: &Endpoint) -> (String, u16) {
    let text = end.to_string();
    let address = text.rsplit_once(':').map_or("", |(address, _)| address);
    (address.to_owned(), end.port)
}

/// The end of an address, in as many columns.
fn ending(address: &str, room: usize) -> String {
    match address.len().checked_sub(room) {
        None | Some(0) => address.to_owned(),
        Some(over) => {
            let rest = address.get(over.saturating_add(1)..).unwrap_or_default();
            match room {
                0 => String::new(),
                _ => format!("…{rest}"),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(text: &str) -> Endpoint {
        let address: std::net::SocketAddr = text.parse().expect("an address");
        Endpoint {
            address: address.ip(),
            port: address.port(),
        }
    }

    #[test]
    fn ports_are_never_cut() {
        let pairs = [
            ("10.0.0.1:683", "10.0.0.2:2049"),
            ("192.168.100.130:51234", "192.168.100.130:51235"),
            ("[2001:db8:1:2:3:4:5:6]:65535", "[2001:db8::2]:1521"),
            ("1.1.1.1:65535", "[2001:db8:1:2:3:4:5:6]:65535"),
        ];
        for (client, server) in pairs {
            for room in 15..100 {
                let text = ends(&end(client), &end(server), room);
                let ports: Vec<&str> = [client, server]
                    .map(|e| e.rsplit(':').next().expect("a port"))
                    .to_vec();
                let (left, right) = text.split_once(" > ").expect("two ends");
                assert!(left.ends_with(&format!(":{}", ports[0])), "{text}");
                assert!(right.ends_with(&format!(":{}", ports[1])), "{text}");
                assert!(columns(&text) <= room, "{room}: {text}");
            }
        }
        let (client, server) = (end("192.168.100.130:51234"), end("192.168.100.7:2049"));
        let text = ends(&client, &server, 27);
        assert_eq!(text, "…0.130:51234 > ….100.7:2049");
        assert_eq!(
            ends(&client, &server, 60),
            "192.168.100.130:51234 > 192.168.100.7:2049"
        );
    }
}
