//! One connection in full, both directions side by side: what opened it, what was counted, where its
//! time went, and the packets between which it waited longest.

use super::NONE;
use super::answer::{refused, waited_by};
use super::sides::{account, counts, row};
use crate::classes::arrow;
use crate::conns::{capture_of, file_of};
use crate::page::Tone;
use crate::sql_text::{purpose, unit};
use crate::text::{Grid, Unit, counted, damage, grouped, moment, share, taken, wrap};
use analysis::results::{ConnectionResult, ConnsResult};
use jiff::tz::TimeZone;
use model::sqlnet::SqlNetSession;
use model::{Close, Direction, Mark, TimeClass, Wait, format_duration};
use std::io::{self, Write};

/// Writes the page of a connection of `result`; `zone` is where moments are shown.
///
/// # Errors
/// Those of `out`.
pub fn conn_text(
    result: &ConnsResult,
    connection: &ConnectionResult,
    zone: &TimeZone,
    out: &mut dyn Write,
) -> io::Result<()> {
    let c = connection;
    let sections = [
        head(result, c, zone),
        counts(c),
        time(c),
        longest(result, c),
        result.captures.iter().map(damage).collect(),
    ];
    let mut first = true;
    for section in sections.iter().filter(|s| !s.is_empty()) {
        if !first {
            writeln!(out)?;
        }
        out.write_all(section.as_bytes())?;
        first = false;
    }
    Ok(())
}

fn head(result: &ConnsResult, c: &ConnectionResult, zone: &TimeZone) -> String {
    let protocol = c.protocol.map_or(String::new(), |p| format!(", {p}"));
    let title = format!("{} → {}{protocol}", c.client, c.server);
    let mut text = wrap(&format!("Connection {}: ", c.number), 2, &title);
    if let Some(waited) = waited_by(c) {
        text.push_str(&wrap("", 0, &format!("{waited}.")));
    }
    text.push('\n');

    let times = format!(
        "{} from {}, {}.",
        format_duration(c.last - c.first),
        moment(c.first, zone),
        close(c.close)
    );
    text.push_str(&wrap("  ", 4, &times));
    for (capture, first, last) in &c.ends {
        let frames = frames(result, *capture, *first, *last);
        let name = match file_of(result, *capture, *first) {
            Some(file) if !several_files(result) => format!(" of {file}"),
            _ => String::new(),
        };
        text.push_str(&wrap("  ", 4, &format!("Seen in {frames}{name}.")));
    }
    let sure = match c.vantage_confidence {
        sure if sure >= 0.9 => "",
        sure if sure > 0.0 => "probably: ",
        _ => "not known: ",
    };
    let vantage = format!(
        "{} ({sure}{})",
        taken(Some(c.vantage)),
        c.vantage_from.words()
    );
    text.push_str(&wrap("  Capture: ", 4, &format!("{vantage}.")));
    text.push_str(&wrap("  Handshake: ", 4, &handshake(c)));
    if let Some(session) = c.sqlnet.map(|s| net_session(&s))
        && !session.is_empty()
    {
        text.push_str(&wrap("  SQL*Net: ", 4, &session));
    }
    text
}

/// What the session is for, and the units of its packets.
fn net_session(s: &SqlNetSession) -> String {
    let mut told: Vec<String> = s
        .purpose
        .map(purpose)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let units = [
        ("SDU", s.sdu_bytes, s.sdu_offered_bytes),
        ("TDU", s.tdu_bytes, s.tdu_offered_bytes),
    ];
    for (name, agreed, asked) in units {
        told.extend(agreed.map(|agreed| format!("{name} {}", unit(agreed, asked))));
    }
    told.join(", ")
}

fn close(close: Close) -> &'static str {
    match close {
        Close::Finished => "closed by both sides (FIN)",
        Close::Reset => "ended by a reset (RST)",
        Close::Replaced => "until a new connection took its addresses and ports",
        Close::Forgotten => "silent for so long that it was given up",
        Close::Evicted => "given up, as memory was full",
        Close::Expired => "silent since it was opened or closed by half",
        Close::EndOfCapture => "still open when the capture ended",
    }
}

fn handshake(c: &ConnectionResult) -> String {
    let h = &c.handshake;
    let asked = c.openings.iter().any(|o| o.syn.is_some());
    let answered = c.openings.iter().any(|o| o.syn_ack.is_some());
    let retries = [(h.syn_retries, "SYN"), (h.syn_ack_retries, "SYN/ACK")]
        .into_iter()
        .filter(|(n, _)| *n > 0)
        .map(|(n, what)| format!("{what} sent again {}", counted(n.into(), "time")));
    let halves = [
        (h.syn_to_syn_ack_ns, "from SYN to SYN/ACK"),
        (h.syn_ack_to_ack_ns, "from there to the ACK"),
    ]
    .into_iter()
    .filter_map(|(ns, what)| Some(format!("{} {what}", format_duration(ns?))));
    let seen = (!h.seen).then(|| match asked && !answered {
        true if refused(c) => "its SYN was answered by a reset".to_owned(),
        true => "its SYN has no answer in the capture".to_owned(),
        false => "not in the capture".to_owned(),
    });
    let parts: Vec<String> = seen.into_iter().chain(halves).chain(retries).collect();
    if parts.is_empty() {
        "in the capture.".to_owned()
    } else {
        format!("{}.", parts.join(", "))
    }
}

/// Seconds and shares by class, of the classes that took time.
fn time(c: &ConnectionResult) -> String {
    let duration = c.last - c.first;
    let unit = if duration < 1_000_000_000 {
        Unit::for_duration(duration)
    } else {
        Unit::SECONDS
    };
    let ns = |d, class: TimeClass| account(c, d).time_ns[class];
    let classes: Vec<TimeClass> = TimeClass::ALL
        .into_iter()
        .filter(|class| Direction::BOTH.iter().any(|d| ns(*d, *class) > 0))
        .collect();
    if classes.is_empty() {
        return String::new();
    }
    let mut rows = vec![row("", "client → server", "server → client")];
    for class in classes {
        let [to_server, to_client] = Direction::BOTH.map(|d| match ns(d, class) {
            0 => format!("{NONE}{:6}", ""),
            ns => format!("{} {:>5}", unit.number(ns), share(ns, duration)),
        });
        rows.push(vec![format!("  {}", class.name()), to_server, to_client]);
    }
    let title = format!(
        "Where its {} went, in {}",
        format_duration(duration),
        unit.name
    );
    Tone::Title.paint(&title) + "\n" + &Grid::fitting(rows).text()
}

/// The longest wait of each class, longest first, with its frames and a filter that shows them.
fn longest(result: &ConnsResult, c: &ConnectionResult) -> String {
    let mut waits: Vec<(Direction, TimeClass, Wait)> = Direction::BOTH
        .into_iter()
        .flat_map(|d| {
            let longest = account(c, d).longest.iter();
            longest.filter_map(move |(class, wait)| Some((d, class, (*wait)?)))
        })
        .collect();
    // The order of classes where they are as long.
    waits.sort_by_key(|(.., wait)| std::cmp::Reverse(wait.ns));
    if waits.is_empty() {
        return String::new();
    }
    let mut text = Tone::Title.paint_lines(&wrap(
        "",
        2,
        "The longest wait of each class, and a display filter that shows it",
    ));
    for (d, class, wait) in waits {
        let capture = capture_of(result, c, d);
        let stretches = u64::from(account(c, d).stretches[class]);
        let of = if stretches > 1 {
            format!(" (longest of {})", grouped(stretches))
        } else {
            String::new()
        };
        let line = format!(
            "{} {} {}{of}, {}",
            arrow(d),
            format_duration(wait.ns),
            class.name(),
            frames(result, capture, wait.first, wait.last)
        );
        text.push_str(&wrap("  ", 4, &line));
        text.push_str(&format!("      {}\n", Tone::Faint.paint(&filter(c, wait))));
    }
    text
}

fn several_files(result: &ConnsResult) -> bool {
    result.captures.iter().map(|c| c.files.len()).sum::<usize>() > 1
}

/// `frames 10 to 14`, with files where there are several.
fn frames(result: &ConnsResult, capture: usize, first: Mark, last: Mark) -> String {
    let of = |mark: Mark| match file_of(result, capture, mark) {
        Some(file) if several_files(result) => format!(" of {file}"),
        _ => String::new(),
    };
    let (from, to) = (first.packet, last.packet);
    let [from_file, to_file] = [of(first), of(last)];
    if from.file == to.file {
        format!("frames {} to {}{to_file}", from.frame, to.frame)
    } else {
        format!(
            "frame {}{from_file} to frame {}{to_file}",
            from.frame, to.frame
        )
    }
}

/// A Wireshark display filter: the connection's packets of the wait, in the file where it begins.
fn filter(c: &ConnectionResult, wait: Wait) -> String {
    let (from, to) = (wait.first.packet, wait.last.packet);
    let range = if from.file == to.file {
        format!("frame.number in {{{}..{}}}", from.frame, to.frame)
    } else {
        format!("frame.number >= {}", from.frame)
    };
    format!(
        "{range} && tcp.port == {} && tcp.port == {}",
        c.client.port, c.server.port
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    fn page(result: &ConnsResult, index: usize) -> String {
        let mut out = Vec::new();
        let c = result.connections.get(index).expect("samples");
        conn_text(result, &c, &TimeZone::UTC, &mut out).expect("memory");
        let text = String::from_utf8(out).expect("UTF-8");
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        text
    }

    #[test]
    fn one_connection_in_full() {
        expect![[r#"
            Connection 1: 10.0.0.1:41818 → 10.0.0.2:2049, nfs4.1
            3.91 s of waiting; 61 % of it: the receiver's window was closed (server
            10.0.0.2).

              4.00 s from 2023-11-14 22:13:20 +00:00, closed by both sides (FIN).
              Seen in frames 1 to 1443 of client.pcap.
              Capture: taken at the client (the handshake's two halves: 2.10 ms to the
                server and back, 20.0 µs to the client and back).
              Handshake: 2.10 ms from SYN to SYN/ACK, 20.0 µs from there to the ACK, SYN
                sent again 1 time.

                                                            client → server  server → client
            Sent
              packets                                                 1,245              198
              payload                                               1.50 MB              1 B
              goodput                                           3.05 Mbit/s                -
              sent again                                        3 (4.34 kB)                0
                asked for by ACKs                                         1                -
                as the timer ran out                                      1                -
                it is not known why                                       1                -
                though it had arrived                                     1                0
              lost on the network                               2 (2.90 kB)                -
              missing from the capture                          2 (2.00 kB)                0
              out of order                                                0                0
              twice in the capture                                        0                0
              most in flight                                        64.5 kB              0 B
              written at once                          8.19 kB (170 of 183)                -
              congestion window, about                   14.5 kB to 64.5 kB                -
              pauses                                             2, 85.0 ms                -
                longest                                             60.0 ms                -
            Segments with data
              up to 64 B                                                  2                -
              257 to 512 B                                                1                -
              513 to 1,460 B                                            140                -
              1,461 to 8,960 B                                           60                -
              larger (offload)                                           37                -
            From the capture to the receiver and back
              round trips measured                                      128                0
                shortest                                            2.10 ms                -
                median                                              2.21 ms                -
                90 % within                                         2.90 ms                -
                99 % within                                         11.0 ms                -
                longest                                             20.3 ms                -
            What the receiver of the data says
              window, smallest                                      5.79 kB                -
              window, largest                                       64.5 kB                -
              window closed                                64 times, 2.10 s            never
              duplicate ACKs                                              3                0
              data segments per ACK                                    1.23                -
              stretch ACKs                                               12                -
              delayed ACKs                                    13 of 40.1 ms                0
              maximum segment                                       1,460 B                -
              window scale                                         7 (×128)                -
              selective ACK                                             yes          unknown
              timestamps                                                yes          unknown
              congestion notification                                   yes                -
                packets marked on the way                                 7                -
                times slowed down for it                                  4                -

            Where its 4.00 s went, in s
                                    client → server  server → client
              handshake                 0.002  0.1%      0.002  0.1%
              idle                      0.086    2%      3.998  100%
              receiver-application      2.400   60%          -
              loss-recovery             0.612   15%          -
              transfer                  0.900   22%          -

            The longest wait of each class, and a display filter that shows it
              → 1.20 s receiver-application (longest of 2), frames 20 to 24
                  frame.number in {20..24} && tcp.port == 41818 && tcp.port == 2049
              → 450 ms transfer (longest of 4), frames 40 to 44
                  frame.number in {40..44} && tcp.port == 41818 && tcp.port == 2049
              → 306 ms loss-recovery (longest of 3), frames 30 to 34
                  frame.number in {30..34} && tcp.port == 41818 && tcp.port == 2049
              → 1.05 ms handshake, frames 10 to 14
                  frame.number in {10..14} && tcp.port == 41818 && tcp.port == 2049
              ← 1.05 ms handshake, frames 10 to 14
                  frame.number in {10..14} && tcp.port == 41818 && tcp.port == 2049
        "#]]
        .assert_eq(&page(&samples::conns(), 0));
    }

    #[test]
    fn one_of_which_little_is_known() {
        expect![[r#"
            Connection 2: [2001:db8:1111:2222:3333:4444:5555:6666]:50000 →
              [2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:5432
            80.0 ms of waiting; 100 % of it: the sender's application did not write (server
            2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff: at work on what was asked).

              1.00 s from 2023-11-14 22:13:21 +00:00, still open when the capture ended.
              Seen in frames 300 to 700 of client.pcap.
              Capture: side unknown (not known: no handshake and no acknowledgements to go
                by).
              Handshake: not in the capture.

                                                       client → server  server → client
            Sent
              packets                                                0                0
              payload                                              0 B              0 B
              sent again                                             0                0
                though it had arrived                                0                0
              missing from the capture                               0                0
              out of order                                           0                0
              twice in the capture                                   0                0
              most in flight                                       0 B              0 B
            From the capture to the receiver and back
              round trips measured                                   0                0
            What the receiver of the data says
              window closed                                      never            never
              duplicate ACKs                                         0                0
              delayed ACKs                                           0                0
              window scale                                     unknown          unknown
              selective ACK                                    unknown          unknown
              timestamps                                       unknown          unknown

            Where its 1.00 s went, in s
                                  client → server  server → client
              idle                    1.000  100%      0.920   92%
              sender-application          -            0.080    8%

            The longest wait of each class, and a display filter that shows it
              ← 40.0 ms sender-application, frames 10 to 14
                  frame.number in {10..14} && tcp.port == 50000 && tcp.port == 5432
        "#]]
        .assert_eq(&page(&samples::conns(), 1));
    }

    #[test]
    fn waits_across_files_name_both() {
        let mut result = samples::conns();
        result.captures[0].files.push("client.pcap1".into());
        let mut connection = result.connections.get(0).expect("samples");
        let account = &mut connection.directions[0].account;
        if let Some(wait) = &mut account.longest[TimeClass::LossRecovery] {
            wait.last.packet.file = 1;
            wait.last.packet.frame = 3;
        }
        result.connections = std::iter::once(connection).collect();
        let text = page(&result, 0);
        let wait = "frame 30 of client.pcap to frame 3 of client.pcap1\n";
        assert!(
            text.replace("\n    client", " client").contains(wait),
            "{text}"
        );
        assert!(
            text.contains("      frame.number >= 30 && tcp.port == 41818"),
            "{text}"
        );
    }
}
