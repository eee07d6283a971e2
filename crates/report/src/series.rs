//! What connections did over time: a row of CSV, a line of JSON, or a line of text for each interval.
//!
//! The columns stand once, in [`COLUMNS`] and [`DIRECTION`]; JSON has the same names. Rows may be
//! millions, so they are written as they come.

use crate::classes;
use crate::conns::DIRECTIONS;
use crate::table::rows::csv_field;
use crate::text::{bytes, grouped, moment, rate, wrap};
use analysis::results::{ConnsResult, SeriesRow, Vantage};
use jiff::tz::TimeZone;
use model::{Direction, IntervalCounts, Time, format_duration};
use serde_json::{Map, Value};
use std::io::{self, Write};

struct Column {
    name: &'static str,
    meaning: &'static str,
    get: fn(&ConnsResult, &SeriesRow<'_>) -> Value,
}

const COLUMNS: [Column; 9] = [
    Column {
        name: "capture",
        meaning: "the capture's first file, as given",
        get: |result, row| {
            let capture = result.captures.get(row.capture);
            capture.and_then(|c| c.files.first()).cloned().into()
        },
    },
    Column {
        name: "captured_at",
        meaning: "where it was taken: client, server, middle, unknown",
        get: |result, row| taken_at(result, row).name().into(),
    },
    Column {
        name: "connection",
        meaning: "number of the connection, as --connection takes it",
        get: |_, row| row.connection.number.into(),
    },
    Column {
        name: "client",
        meaning: "address:port of who opened it",
        get: |_, row| row.connection.client.to_string().into(),
    },
    Column {
        name: "server",
        meaning: "address:port of the other end",
        get: |_, row| row.connection.server.to_string().into(),
    },
    Column {
        name: "protocol",
        meaning: "what it carries",
        get: |_, row| row.connection.protocol.map(|p| p.name()).into(),
    },
    Column {
        name: "start_ns",
        meaning: "when the interval begins, since the epoch: a multiple of its width",
        get: |_, row| row.interval.start.0.into(),
    },
    Column {
        name: "width_ns",
        meaning: "how long it is",
        get: |_, row| row.width_ns.into(),
    },
    Column {
        name: "outstanding_max",
        meaning: "most calls outstanding at once; empty where the protocol is not known",
        get: |_, row| row.outstanding.into(),
    },
];

/// Of each direction; the name follows the direction's, as in `client_to_server_packets`.
struct Measure {
    name: &'static str,
    meaning: &'static str,
    get: fn(&SeriesRow<'_>, &IntervalCounts) -> Value,
}

const DIRECTION: [Measure; 10] = [
    Measure {
        name: "packets",
        meaning: "packets sent this way",
        get: |_, d| d.packets.into(),
    },
    Measure {
        name: "payload_bytes",
        meaning: "payload sent this way, retransmitted bytes included",
        get: |_, d| d.payload_bytes.into(),
    },
    Measure {
        name: "throughput_bps",
        meaning: "the same in bits per second of the interval",
        get: |row, d| throughput(row, d).into(),
    },
    Measure {
        name: "retransmitted_packets",
        meaning: "packets with bytes that were sent before",
        get: |_, d| d.retransmitted_packets.into(),
    },
    Measure {
        name: "rtt_count",
        meaning: "round trips of this data that ended in it: from the capture to the receiver",
        get: |_, d| d.rtt_count.into(),
    },
    Measure {
        name: "rtt_min_ns",
        meaning: "the shortest of them",
        get: |_, d| d.rtt_min_ns.into(),
    },
    Measure {
        name: "rtt_mean_ns",
        meaning: "their mean",
        get: |_, d| {
            let count = i64::try_from(d.rtt_count).unwrap_or(i64::MAX);
            d.rtt_sum_ns.checked_div(count).into()
        },
    },
    Measure {
        name: "flight_max_bytes",
        meaning: "most bytes sent and not yet acknowledged",
        get: |_, d| d.flight_max_bytes.into(),
    },
    Measure {
        name: "window_min_bytes",
        meaning: "smallest window of the receiver in force, zero included; empty where the scale is \
                  not known",
        get: |_, d| d.window_min_bytes.into(),
    },
    Measure {
        name: "congestion_window_bytes",
        meaning: "largest estimate of the congestion window made in it; empty where there is none",
        get: |_, d| d.congestion_window_bytes.into(),
    },
];

fn taken_at(result: &ConnsResult, row: &SeriesRow<'_>) -> Vantage {
    let capture = result.captures.get(row.capture);
    let stated = capture.and_then(|c| c.side);
    stated.unwrap_or(row.connection.vantage)
}

fn throughput(row: &SeriesRow<'_>, counts: &IntervalCounts) -> u64 {
    let bits = u128::from(counts.payload_bytes) * 8 * 1_000_000_000;
    let width = u128::from(row.width_ns.unsigned_abs().max(1));
    u64::try_from(bits / width).unwrap_or(u64::MAX)
}

fn counts<'a>(row: &'a SeriesRow<'_>, d: Direction) -> &'a IntervalCounts {
    let [to_server, to_client] = &row.interval.directions;
    match d {
        Direction::ToServer => to_server,
        Direction::ToClient => to_client,
    }
}

/// The values of a row, in order.
fn values<'a>(result: &'a ConnsResult, row: &'a SeriesRow<'_>) -> impl Iterator<Item = Value> + 'a {
    let measures = DIRECTIONS.into_iter().flat_map(move |d| {
        let counts = counts(row, d);
        DIRECTION.iter().map(move |m| (m.get)(row, counts))
    });
    let columns = COLUMNS.iter().map(move |c| (c.get)(result, row));
    columns.chain(measures)
}

/// The names of the columns, in the same order.
fn names() -> impl Iterator<Item = String> {
    let measures = DIRECTIONS
        .into_iter()
        .flat_map(|d| DIRECTION.iter().map(move |m| name(d, m)));
    COLUMNS.iter().map(|c| c.name.to_owned()).chain(measures)
}

fn name(d: Direction, measure: &Measure) -> String {
    format!("{}_{}", classes::direction(d), measure.name)
}

/// Writes the names of the columns.
///
/// # Errors
/// Those of `out`.
pub fn series_csv_header(out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", names().collect::<Vec<_>>().join(","))
}

/// Writes a row.
///
/// # Errors
/// Those of `out`.
pub fn series_csv(
    result: &ConnsResult,
    row: &SeriesRow<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut line = Vec::with_capacity(256);
    for value in values(result, row) {
        match value {
            Value::Null => {}
            Value::String(text) => csv_field(text.as_bytes(), &mut line),
            other => write!(line, "{other}")?,
        }
        line.push(b',');
    }
    // The comma behind the last column ends the row.
    line.pop();
    line.push(b'\n');
    out.write_all(&line)
}

/// Writes a row as a line of JSON.
///
/// # Errors
/// Those of `out`.
pub fn series_jsonl(
    result: &ConnsResult,
    row: &SeriesRow<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let object: Map<String, Value> = names().zip(values(result, row)).collect();
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

/// Writes what the columns mean.
pub(crate) fn fields() -> String {
    let line = |name: &str, meaning: &str| wrap(&format!("  {name:<28} "), 31, meaning);
    let columns = COLUMNS.iter().map(|c| line(c.name, c.meaning));
    let measures = DIRECTION.iter().map(|m| line(m.name, m.meaning));
    columns
        .chain(["and for both directions, as client_to_server_packets and so on:\n".to_owned()])
        .chain(measures)
        .collect()
}

/// Writes rows of one connection for people, a line for each direction.
pub struct SeriesText {
    zone: TimeZone,
    /// What times are counted from, once there was a row.
    since: Option<Time>,
}

impl SeriesText {
    /// `zone` is where moments are shown.
    #[must_use]
    pub fn new(zone: TimeZone) -> SeriesText {
        SeriesText { zone, since: None }
    }

    /// Writes a row, before the first also what the columns are.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn row(
        &mut self,
        result: &ConnsResult,
        row: &SeriesRow<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let start = row.interval.start;
        let since = match self.since {
            Some(since) => since,
            None => {
                self.since = Some(start);
                self.head(result, row, out)?;
                start
            }
        };
        let seconds = (start - since) as f64 / 1e9;
        let mut time = format!("{seconds:.3}");
        let mut calls = row.outstanding.map_or(String::new(), grouped);
        let taken = match (result.captures.len(), taken_at(result, row)) {
            (..2, _) => "",
            (_, Vantage::Client) => "C ",
            (_, Vantage::Server) => "S ",
            (..) => "",
        };
        for d in DIRECTIONS {
            let n = counts(row, d);
            if n.packets == 0 && n.flight_max_bytes == 0 {
                continue;
            }
            let known = |value: Option<u64>| value.map_or("-".to_owned(), bytes);
            let line = format!(
                "{time:>8} {:>3}{:>7}{:>13}{:>9}{:>9}{:>9}{:>9}{:>6}{calls:>6}",
                format!("{taken}{}", classes::arrow(d)),
                grouped(n.packets),
                rate(throughput(row, n)),
                n.rtt_min_ns.map_or("-".to_owned(), format_duration),
                bytes(n.flight_max_bytes),
                known(n.window_min_bytes),
                known(n.congestion_window_bytes),
                grouped(n.retransmitted_packets),
            );
            writeln!(out, "{}", line.trim_end())?;
            (time, calls) = (String::new(), String::new());
        }
        Ok(())
    }

    fn head(
        &self,
        result: &ConnsResult,
        row: &SeriesRow<'_>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let c = row.connection;
        let protocol = c.protocol.map_or(String::new(), |p| format!(", {p}"));
        let title = format!(
            "{} → {}{protocol}, each {}",
            c.client,
            c.server,
            format_duration(row.width_ns)
        );
        let title = wrap(&format!("Connection {}: ", c.number), 2, &title);
        let from = format!(
            "Times count from {}. → is from client to server.{} Intervals without a packet are left \
             out.",
            moment(row.interval.start, &self.zone),
            match result.captures.len() {
                ..2 => "",
                _ => " C and S: as the client's capture and the server's have it.",
            }
        );
        write!(out, "{title}{}", wrap("", 0, &from))?;
        writeln!(
            out,
            "\n{:>8} {:>3}{:>7}{:>13}{:>9}{:>9}{:>9}{:>9}{:>6}{:>6}",
            "time, s",
            "",
            "packets",
            "payload",
            "min RTT",
            "flight",
            "window",
            "cwnd",
            "again",
            "calls"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use analysis::results::ConnectionResult;
    use expect_test::expect;
    use model::{ConnectionId, Interval};

    fn first(result: &ConnsResult) -> ConnectionResult {
        result.connections.get(0).expect("samples")
    }

    fn rows(connection: &ConnectionResult) -> Vec<SeriesRow<'_>> {
        let interval = |start: i64, packets: u64| {
            let mut interval =
                Interval::holding(ConnectionId(0), Time(1_700_000_000_000_000_000 + start), 1);
            interval.directions[0] = IntervalCounts {
                packets,
                payload_bytes: packets * 1_448,
                retransmitted_packets: packets / 3,
                rtt_count: packets,
                rtt_sum_ns: 2_200_000 * packets as i64,
                rtt_min_ns: (packets > 0).then_some(2_100_000),
                flight_max_bytes: 5_792,
                window_min_bytes: (packets > 0).then_some(64_512),
                congestion_window_bytes: (packets > 3).then_some(14_480),
            };
            interval.directions[1].packets = 1;
            interval
        };
        [(0, 3), (100_000_000, 1_234), (12_300_000_000, 0)]
            .map(|(start, packets)| SeriesRow {
                capture: 0,
                connection,
                interval: interval(start, packets),
                width_ns: 100_000_000,
                outstanding: (start > 0).then_some(packets % 10),
            })
            .into()
    }

    fn written(
        write: impl Fn(&ConnsResult, &SeriesRow<'_>, &mut dyn Write) -> io::Result<()>,
    ) -> String {
        let result = samples::conns();
        let mut out = Vec::new();
        for row in rows(&first(&result)) {
            write(&result, &row, &mut out).expect("memory");
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn csv_and_json_have_the_same_columns() {
        let mut header = Vec::new();
        series_csv_header(&mut header).expect("memory");
        let header = String::from_utf8(header).expect("UTF-8");
        let csv = written(series_csv);
        expect![[r#"
            capture,captured_at,connection,client,server,protocol,start_ns,width_ns,outstanding_max,client_to_server_packets,client_to_server_payload_bytes,client_to_server_throughput_bps,client_to_server_retransmitted_packets,client_to_server_rtt_count,client_to_server_rtt_min_ns,client_to_server_rtt_mean_ns,client_to_server_flight_max_bytes,client_to_server_window_min_bytes,client_to_server_congestion_window_bytes,server_to_client_packets,server_to_client_payload_bytes,server_to_client_throughput_bps,server_to_client_retransmitted_packets,server_to_client_rtt_count,server_to_client_rtt_min_ns,server_to_client_rtt_mean_ns,server_to_client_flight_max_bytes,server_to_client_window_min_bytes,server_to_client_congestion_window_bytes
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000000000000,100000000,,3,4344,347520,1,3,2100000,2200000,5792,64512,,1,0,0,0,0,,,0,,
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000100000000,100000000,4,1234,1786832,142946560,411,1234,2100000,2200000,5792,64512,14480,1,0,0,0,0,,,0,,
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000012300000000,100000000,0,0,0,0,0,0,,,5792,,,1,0,0,0,0,,,0,,
        "#]].assert_eq(&format!("{header}{csv}"));
        let names: Vec<&str> = header.trim_end().split(',').collect();
        for (row, line) in csv.lines().zip(written(series_jsonl).lines()) {
            let object: Map<String, Value> = serde_json::from_str(line).expect("JSON");
            let cells = row.split(',');
            for (name, cell) in names.iter().zip(cells) {
                let value = match &object[*name] {
                    Value::Null => String::new(),
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                assert_eq!(value, cell, "{name}");
            }
            assert_eq!(object.len(), names.len());
        }
    }

    #[test]
    fn text_fits_and_says_what_it_shows() {
        let result = samples::conns();
        let mut out = Vec::new();
        let mut text = SeriesText::new(TimeZone::UTC);
        for row in rows(&first(&result)) {
            text.row(&result, &row, &mut out).expect("memory");
        }
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        expect![[r#"
            Connection 1: 10.0.0.1:41818 → 10.0.0.2:2049, nfs4.1, each 100 ms
            Times count from 2023-11-14 22:13:20 +00:00. → is from client to server.
            Intervals without a packet are left out.

             time, s    packets      payload  min RTT   flight   window     cwnd again calls
               0.000   →      3   348 kbit/s  2.10 ms  5.79 kB  64.5 kB        -     1
                       ←      1      0 bit/s        -      0 B        -        -     0
               0.100   →  1,234   143 Mbit/s  2.10 ms  5.79 kB  64.5 kB  14.5 kB   411     4
                       ←      1      0 bit/s        -      0 B        -        -     0
              12.300   →      0      0 bit/s        -  5.79 kB        -        -     0     0
                       ←      1      0 bit/s        -      0 B        -        -     0
        "#]]
        .assert_eq(&text);
    }
}
