//! Connections for people: the answer first, then a line for each, those that waited most on top.
//!
//! A page has 80 columns. What all connections have in common is said once, above them. Two addresses
//! with ports leave no room for the numbers: then they take a line of their own, and only there are
//! addresses shortened, where they must.

mod answer;
mod one;
mod sides;

pub(crate) use answer::{answer, waited_by};
pub use one::conn_text;

use crate::classes::{arrow, words};
use crate::conns::fields::own;
use crate::page::{columns as wide, pad, shortened, width};
use crate::table::order;
use crate::text::{Grid, bytes, counted, damage, share, tight, wrap};
use analysis::connections::Totals;
use analysis::results::{ConnectionResult, ConnsResult, DirectionResult, Vantage};
use model::{Direction, Endpoint, Protocol};
use std::io::{self, Write};
use std::net::IpAddr;

/// Connections that a page shows unless all are asked for.
const ROWS: usize = 20;

/// Writes the page; `all` connections, or those that waited most.
///
/// # Errors
/// Those of `out`.
pub fn conns_text(result: &ConnsResult, all: bool, out: &mut dyn Write) -> io::Result<()> {
    let answer = match (result.not_asked, result.connections.is_empty()) {
        (1.., true) => format!(
            "None of {} is what --where asks for.",
            counted(result.not_asked, "TCP connection")
        ),
        _ => answer(&result.connections),
    };
    out.write_all(wrap("", 0, &answer).as_bytes())?;
    let shown = shown(result, all);
    if shown > 0 {
        writeln!(out)?;
        let rows: Vec<_> = result.connections.iter().take(shown).collect();
        let common = Common::of(result.connections.totals());
        out.write_all(table(&rows, &common).as_bytes())?;
    }
    let mut end = String::new();
    if let Some(beyond) = beyond(result, all) {
        end.push_str(&format!("{beyond}\n"));
    }
    if result.left_out > 0 {
        let left_out = counted(result.left_out, "connection");
        let text = format!("{left_out} beyond what is remembered are not listed.");
        end.push_str(&wrap("", 0, &text));
    }
    if result.not_asked > 0 && !result.connections.is_empty() {
        let others = counted(result.not_asked, "connection");
        let text = format!("{others} of which --where is not true are left out, of the sums too.");
        end.push_str(&wrap("", 0, &text));
    }
    if let Some(first) = result.connections.get(0) {
        let hint = format!(
            "One of them in full, with frames: --connection {}",
            first.number
        );
        end.push_str(&format!("\n{}", wrap("", 2, &hint)));
    }
    end.extend(result.captures.iter().map(damage));
    out.write_all(end.as_bytes())
}

/// What all of several connections have in common.
struct Common {
    client: Option<IpAddr>,
    server: Option<Endpoint>,
    protocol: Option<Protocol>,
}

impl Common {
    fn of(totals: &Totals) -> Common {
        Common {
            client: totals.client.value(),
            server: totals.server.value(),
            protocol: totals.protocol.value(),
        }
    }

    fn sentence(&self) -> String {
        let from = self.client.map(|client| format!(" from {client}"));
        let to = self.server.map(|server| format!(" to {server}"));
        let protocol = self.protocol.map(|p| format!(" speak {p}"));
        let parts: String = [from, to, protocol].into_iter().flatten().collect();
        if parts.is_empty() {
            return parts;
        }
        wrap("", 0, &format!("All{parts}."))
    }

    /// The ends of a connection as far as they differ.
    fn ends(&self, c: &ConnectionResult) -> String {
        match (self.client, self.server) {
            (Some(_), Some(_)) => format!("port {}", c.client.port),
            (None, Some(_)) => c.client.to_string(),
            (Some(_), None) => format!("port {} → {}", c.client.port, c.server),
            (None, None) => format!("{} → {}", c.client, c.server),
        }
    }
}

/// A column behind the ends: its heading, its cell for a connection.
struct Column {
    name: &'static str,
    cell: fn(&ConnectionResult) -> String,
    /// Flush left.
    text: bool,
}

const NONE: &str = "-";

fn columns(connections: &[ConnectionResult], common: &Common) -> Vec<Column> {
    let number = |name, cell| Column {
        name,
        cell,
        text: false,
    };
    let text = |name, cell| Column {
        name,
        cell,
        text: true,
    };
    let any = |is: fn(&ConnectionResult) -> bool| connections.iter().any(is);
    let mut columns = Vec::new();
    if common.protocol.is_none() && any(|c| c.protocol.is_some()) {
        columns.push(text("", |c| {
            c.protocol.map_or(NONE, |p| p.name()).to_owned()
        }));
    }
    columns.extend([
        number("time", |c| tight(c.last - c.first)),
        number("bytes→", |c| payload(c, Direction::ToServer)),
        number("bytes←", |c| payload(c, Direction::ToClient)),
    ]);
    if any(|c| round_trip_ns(c).is_some()) {
        columns.push(number("rtt", |c| {
            round_trip_ns(c).map_or(NONE.to_owned(), tight)
        }));
    }
    // One capture often cannot tell loss; what was sent again is always known.
    columns.push(if any(|c| lost(c).is_some()) {
        number("loss", |c| lost(c).unwrap_or(NONE.to_owned()))
    } else {
        number("rexmit", |c| {
            worst(c, |d| Some(d.counts.retransmitted_packets)).unwrap_or(NONE.to_owned())
        })
    });
    if any(|c| c.top.is_some()) {
        columns.extend([
            number("waited", |c| tight(c.at_stake_ns)),
            number("most", |c| {
                c.top
                    .map_or(NONE.to_owned(), |(.., ns)| share(ns, c.at_stake_ns))
            }),
            text("for", |c| {
                c.top.map_or(String::new(), |(direction, class, _)| {
                    format!("{} {}", arrow(direction), words(class).short)
                })
            }),
        ]);
    }
    if any(|c| answer::reset(c).is_some()) {
        columns.push(text("ended", |c| answer::reset(c).unwrap_or_default()));
    }
    columns
}

fn payload(c: &ConnectionResult, direction: Direction) -> String {
    bytes(own(c, direction).counts.payload_bytes).replace(' ', "")
}

/// The median round trip between the two ends: each direction knows the part from the point of
/// capture on, which is all of it for the one whose sender is near.
fn round_trip_ns(c: &ConnectionResult) -> Option<i64> {
    let parts = Direction::BOTH.map(|d| own(c, d).account.rtt);
    let known = || {
        let sampled = parts.iter().filter(|rtt| rtt.count > 0);
        sampled.map(|rtt| rtt.p50_ns)
    };
    known().max()?;
    if c.vantage == Vantage::Middle {
        Some(known().sum())
    } else {
        known().max()
    }
}

fn lost(c: &ConnectionResult) -> Option<String> {
    worst(c, |d| d.lost_on_network_packets)
}

/// The share of a direction's packets, of the direction with more of it.
fn worst(c: &ConnectionResult, count: fn(&DirectionResult) -> Option<u64>) -> Option<String> {
    let parts = Direction::BOTH
        .map(|d| own(c, d))
        .map(|d| Some((count(d)?, d.counts.packets)));
    // Packets that the network dropped before the capture saw them are not among those captured.
    let part = |(n, all): &(u64, u64)| *n as f64 / (*all).max(*n).max(1) as f64;
    let most = parts
        .into_iter()
        .flatten()
        .max_by(|a, b| part(a).total_cmp(&part(b)));
    most.map(|(n, all)| share(n as i64, all.max(n).max(1) as i64))
}

/// The table with both ends of each connection, for a page without limits, and how many of its columns
/// are text.
pub(crate) fn wide_rows(result: &ConnsResult, all: bool) -> (Vec<Vec<String>>, usize) {
    let connections: Vec<_> = result.connections.iter().take(shown(result, all)).collect();
    let common = Common {
        client: None,
        server: None,
        protocol: None,
    };
    let columns = columns(&connections, &common);
    let mut heads = vec!["#".to_owned(), "client → server".to_owned()];
    heads.extend(columns.iter().map(|c| c.name.to_owned()));
    let rows = connections.iter().map(|c| {
        let ends = [c.number.to_string(), common.ends(c)];
        let cells = columns.iter().map(|column| (column.cell)(c));
        ends.into_iter().chain(cells).collect()
    });
    let protocol = columns.first().is_some_and(|c| c.text);
    let text = 2 + usize::from(protocol);
    (std::iter::once(heads).chain(rows).collect(), text)
}

/// How many connections the table has.
fn shown(result: &ConnsResult, all: bool) -> usize {
    let count = result.connections.len();
    match result.order.top {
        None if !all => count.min(ROWS),
        _ => result.order.listed(count),
    }
}

/// How many connections the table leaves out.
pub(crate) fn beyond(result: &ConnsResult, all: bool) -> Option<String> {
    let count = result.connections.len();
    let more = count.checked_sub(shown(result, all)).filter(|&n| n > 0)?;
    let more = counted(more as u64, "further connection");
    Some(order::further(&result.order, &more, " that waited less"))
}

fn table(connections: &[ConnectionResult], common: &Common) -> String {
    let columns = columns(connections, common);
    let mut rows = vec![columns.iter().map(|c| c.name.to_owned()).collect()];
    rows.extend(
        connections
            .iter()
            .map(|c| columns.iter().map(|column| (column.cell)(c)).collect()),
    );
    for (i, _) in columns.iter().enumerate().filter(|(_, c)| c.text) {
        flush_left(&mut rows, i);
    }
    // Numbers to type: without commas.
    let widest = connections.iter().map(|c| c.number.to_string().len()).max();
    let digits = widest.unwrap_or(1);
    let number = |c: &ConnectionResult| format!("{:>digits$}", c.number);

    let mut beside = rows.clone();
    let heads = std::iter::once(format!("{:>digits$}", "#")).chain(
        connections
            .iter()
            .map(|c| format!("{} {}", number(c), common.ends(c))),
    );
    for (row, head) in beside.iter_mut().zip(heads) {
        row.insert(0, head);
    }
    let beside = Grid::new(beside, 1);
    if beside.width() <= width() {
        return common.sentence() + &beside.text();
    }
    // The ends on a line of their own, above the numbers.
    for row in &mut rows {
        row.insert(0, " ".repeat(digits));
    }
    let mut lines = Grid::fitting(rows).lines().into_iter();
    let protocol = Common {
        client: None,
        server: None,
        protocol: common.protocol,
    };
    let mut text = protocol.sentence();
    text.push_str(&format!("{}\n", lines.next().unwrap_or_default()));
    for (c, line) in connections.iter().zip(lines) {
        text.push_str(&format!(
            "{} {}\n",
            number(c),
            ends(c, width().saturating_sub(digits + 1))
        ));
        text.push_str(&format!("{line}\n"));
    }
    text
}

/// Makes the cells of a column as wide as the widest.
fn flush_left(rows: &mut [Vec<String>], column: usize) {
    let cells = rows.iter().filter_map(|row| row.get(column));
    let widest = cells.map(|cell| wide(cell)).max().unwrap_or(0);
    for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
        *cell = pad(cell, widest);
    }
}

/// Both ends in so many columns.
fn ends(c: &ConnectionResult, room: usize) -> String {
    let full = format!("{} → {}", c.client, c.server);
    if full.chars().count() <= room {
        return full;
    }
    let half = room.saturating_sub(3) / 2;
    let [client, server] = [c.client, c.server].map(|end| shortened(&end.to_string(), half));
    format!("{client} → {server}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    fn page(result: &ConnsResult, all: bool) -> String {
        let text = samples::written(|out| conns_text(result, all, out));
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        text
    }

    fn of(connections: Vec<ConnectionResult>) -> ConnsResult {
        ConnsResult {
            connections: connections.into_iter().collect(),
            ..samples::conns()
        }
    }

    #[test]
    fn ends_that_leave_no_room_have_a_line_of_their_own() {
        expect![[r#"
            2 TCP connections, 3.99 s of waiting; 60 % of it: the receiver's window was
            closed (server 10.0.0.2)

                        time  bytes→  bytes←     rtt  loss  waited  most  for
            1 10.0.0.1:41818 → 10.0.0.2:2049
               nfs4.1  4.00s  1.50MB      1B  2.21ms  0.2%   3.91s   61%  → receiver
            2 [2001:db8:1111:222…4:5555:6666]:50000 → [2001:db8:aaaa:bbb…dd:eeee:ffff]:5432
               -       1.00s      0B      0B       -     -  80.0ms  100%  ← sender

            One of them in full, with frames: --connection 1
        "#]]
        .assert_eq(&page(&samples::conns(), false));
    }

    #[test]
    fn one_connection() {
        let connections = samples::conns().connections;
        let connections = connections.iter().take(1).collect();
        expect![[r#"
            1 TCP connection, 3.91 s of waiting; 61 % of it: the receiver's window was
            closed (server 10.0.0.2)

                        time  bytes→  bytes←     rtt  loss  waited  most  for
            1 10.0.0.1:41818 → 10.0.0.2:2049
               nfs4.1  4.00s  1.50MB      1B  2.21ms  0.2%   3.91s   61%  → receiver

            One of them in full, with frames: --connection 1
        "#]]
        .assert_eq(&page(&of(connections), false));
    }

    #[test]
    fn what_is_common_is_said_once_and_long_lists_are_cut() {
        let first = samples::conns().connections.get(0).expect("samples");
        let connections = (1..=25).map(|number| {
            let mut c = first.clone();
            c.number = number;
            c.client.port += number as u16;
            if number % 2 == 0 {
                c.client.address = [192, 168, 100, 101].into();
            }
            c
        });
        let result = of(connections.collect());
        expect![[r#"
            25 TCP connections, 97.9 s of waiting; 61 % of it: the receiver's window was
            closed (server 10.0.0.2)

            All to 10.0.0.2:2049 speak nfs4.1.
             #                        time bytes→ bytes←    rtt loss waited most for
             1 10.0.0.1:41819        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             2 192.168.100.101:41820 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             3 10.0.0.1:41821        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             4 192.168.100.101:41822 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             5 10.0.0.1:41823        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             6 192.168.100.101:41824 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             7 10.0.0.1:41825        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             8 192.168.100.101:41826 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
             9 10.0.0.1:41827        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            10 192.168.100.101:41828 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            11 10.0.0.1:41829        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            12 192.168.100.101:41830 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            13 10.0.0.1:41831        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            14 192.168.100.101:41832 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            15 10.0.0.1:41833        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            16 192.168.100.101:41834 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            17 10.0.0.1:41835        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            18 192.168.100.101:41836 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            19 10.0.0.1:41837        4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            20 192.168.100.101:41838 4.00s 1.50MB     1B 2.21ms 0.2%  3.91s  61% → receiver
            … and 5 further connections that waited less (--all shows them)

            One of them in full, with frames: --connection 1
        "#]]
        .assert_eq(&page(&result, false));
        assert!(!page(&result, true).contains('…'));
    }

    #[test]
    fn several_hosts_are_counted() {
        let first = samples::conns().connections.get(0).expect("samples");
        let mut second = first.clone();
        second.server.address = [10, 0, 0, 3].into();
        let text = page(&of(vec![first, second]), false);
        assert!(text.contains("closed (2 servers)"), "{text}");
        assert!(text.contains("\nAll speak nfs4.1.\n"), "{text}");
    }

    #[test]
    fn without_waits_and_without_connections_the_page_says_so() {
        let mut second = samples::conns().connections.get(1).expect("samples");
        second.top = None;
        second.at_stake_ns = 0;
        let healthy = page(&of(vec![second.clone()]), false);
        assert!(
            healthy.starts_with("1 TCP connection without a wait"),
            "{healthy}"
        );
        for d in &mut second.directions {
            d.account = model::DirectionAccount::default();
        }
        let unknown = page(&of(vec![second]), false);
        assert!(unknown.contains("not measured"), "{unknown}");
        assert_eq!(page(&of(Vec::new()), false), "No TCP connections.\n");
    }
}
