//! What connections did over time: a row of CSV, a line of JSON, or a line of text for each interval.
//!
//! Rows may be millions, so they are written as they come.

use crate::classes;
use crate::conns::line;
use crate::table::rows::{Form, RowWriter};
use crate::table::{Column, Table, columns};
use crate::text::{bytes, grouped, moment, rate, wrap};
use analysis::results::{ConnsResult, SeriesRow, Vantage};
use jiff::tz::TimeZone;
use model::{Direction, IntervalCounts, Time, format_duration};
use std::io::{self, Write};

/// The rows of `slowside conns --series`.
pub struct Series;

impl Table for Series {
    type Row<'a> = (&'a ConnsResult, &'a SeriesRow<'a>);
}

impl RowWriter<Series> {
    #[must_use]
    pub fn series(form: Form) -> RowWriter<Series> {
        RowWriter::of(&columns(), form)
    }
}

type C = Column<Series>;

const COLUMNS: &[C] = &columns! {
    "capture" Text "the capture's first file, as given"
        |(result, row)| result.captures.get(row.capture).and_then(|c| c.files.first()).map(String::as_str)
        => or_null;
    "captured_at" Text "where it was taken: client, server, middle, unknown"
        |(result, row)| taken_at(result, row).name();
    "connection" Count "number of the connection, as --connection takes it"
        |(_, row)| row.connection.number;
    "client" Text "address:port of who opened it" |(_, row)| row.connection.client.to_string();
    "server" Text "address:port of the other end" |(_, row)| row.connection.server.to_string();
    "protocol" Text "what it carries"
        |(_, row)| row.connection.protocol.map(|p| p.name()) => or_null;
    "start_ns" Time "when the interval begins, since the epoch: a multiple of its width"
        |(_, row)| row.interval.start.0;
    "width_ns" Duration "how long it is" |(_, row)| row.width_ns;
    "outstanding_max" Count "most calls outstanding at once; empty where the protocol is not known"
        |(_, row)| row.outstanding => or_null;
};

/// Of each direction, whose name stands before.
const DIRECTION: &[C] = &columns! {
    "packets" Count "packets sent this way" |(_, row), c| counts(row, c).packets;
    "payload_bytes" Bytes "payload sent this way, retransmitted bytes included"
        |(_, row), c| counts(row, c).payload_bytes;
    "throughput_bps" Rate "the same in bits per second of the interval"
        |(_, row), c| throughput(row, counts(row, c));
    "retransmitted_packets" Count "packets with bytes that were sent before"
        |(_, row), c| counts(row, c).retransmitted_packets;
    "rtt_count" Count "round trips of this data that ended in it: from the capture to the receiver"
        |(_, row), c| counts(row, c).rtt_count;
    "rtt_min_ns" Duration "the shortest of them" |(_, row), c| counts(row, c).rtt_min_ns => or_null;
    "rtt_mean_ns" Duration "their mean"
        |(_, row), c| rtt_mean_ns(counts(row, c)) => or_null;
    "flight_max_bytes" Bytes "most bytes sent and not yet acknowledged"
        |(_, row), c| counts(row, c).flight_max_bytes;
    "window_min_bytes" Bytes "smallest window of the receiver in force, zero included; empty where the scale is not known"
        |(_, row), c| counts(row, c).window_min_bytes => or_null;
    "congestion_window_bytes" Bytes "largest estimate of the congestion window made in it; empty where there is none"
        |(_, row), c| counts(row, c).congestion_window_bytes => or_null;
};

pub(crate) fn columns() -> Vec<C> {
    let directions = Direction::BOTH.into_iter().enumerate();
    let of = |(i, d)| {
        let columns = DIRECTION.iter();
        columns.map(move |c| c.behind(classes::direction(d), i))
    };
    let columns = COLUMNS.iter().copied();
    columns.chain(directions.flat_map(of)).collect()
}

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

fn rtt_mean_ns(counts: &IntervalCounts) -> Option<i64> {
    let count = i64::try_from(counts.rtt_count).unwrap_or(i64::MAX);
    counts.rtt_sum_ns.checked_div(count)
}

/// What was counted in the direction of a column.
fn counts<'a>(row: &'a SeriesRow<'_>, column: &C) -> &'a IntervalCounts {
    let [to_server, to_client] = &row.interval.directions;
    if column.index == 0 {
        to_server
    } else {
        to_client
    }
}

/// Writes what the columns mean.
pub(crate) fn fields() -> String {
    let columns = COLUMNS.iter().map(|c| line(c.name, c.help));
    let measures = DIRECTION.iter().map(|c| line(c.name, c.help));
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
        for (d, n) in Direction::BOTH.into_iter().zip(&row.interval.directions) {
            if n.packets == 0 && n.flight_max_bytes == 0 {
                continue;
            }
            let known = |value: Option<u64>| value.map_or("-".to_owned(), bytes);
            let text = format!(
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
            writeln!(out, "{}", text.trim_end())?;
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
    use crate::table::schema;
    use analysis::results::ConnectionResult;
    use expect_test::expect;
    use model::{ConnectionId, Interval};
    use serde_json::{Map, Value};

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

    fn written(form: Form) -> String {
        let result = samples::conns();
        let mut out = Vec::new();
        for row in rows(&first(&result)) {
            RowWriter::series(form).write(&(&result, &row), &mut out);
        }
        String::from_utf8(out).expect("UTF-8")
    }

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.series.1", "", &columns());
    }

    #[test]
    fn csv_and_json_have_the_same_columns() {
        let header = RowWriter::series(Form::Csv).head();
        let csv = written(Form::Csv);
        expect![[r#"
            capture,captured_at,connection,client,server,protocol,start_ns,width_ns,outstanding_max,client_to_server_packets,client_to_server_payload_bytes,client_to_server_throughput_bps,client_to_server_retransmitted_packets,client_to_server_rtt_count,client_to_server_rtt_min_ns,client_to_server_rtt_mean_ns,client_to_server_flight_max_bytes,client_to_server_window_min_bytes,client_to_server_congestion_window_bytes,server_to_client_packets,server_to_client_payload_bytes,server_to_client_throughput_bps,server_to_client_retransmitted_packets,server_to_client_rtt_count,server_to_client_rtt_min_ns,server_to_client_rtt_mean_ns,server_to_client_flight_max_bytes,server_to_client_window_min_bytes,server_to_client_congestion_window_bytes
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000000000000,100000000,,3,4344,347520,1,3,2100000,2200000,5792,64512,,1,0,0,0,0,,,0,,
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000100000000,100000000,4,1234,1786832,142946560,411,1234,2100000,2200000,5792,64512,14480,1,0,0,0,0,,,0,,
            client.pcap,client,1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000012300000000,100000000,0,0,0,0,0,0,,,5792,,,1,0,0,0,0,,,0,,
        "#]].assert_eq(&format!("{header}{csv}"));
        let names: Vec<&str> = header.trim_end().split(',').collect();
        for (row, line) in csv.lines().zip(written(Form::Jsonl).lines()) {
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
