//! PostgreSQL's log (`log_min_duration_statement`, `log_duration`, or plans of auto_explain; stderr's format with any
//! `log_line_prefix` that has `%m`, `%n` or `%t`, csvlog, or jsonlog; 9.4 to 17) into operations:
//!
//! ```text
//! 2026-11-24 13:37:13.209 UTC [31779] postgres@postgres LOG:  duration: 21.759 ms  statement: select pg_sleep(0.02);
//! ```
//!
//! - The time of a line is when the statement had ended, cut to milliseconds; its reply leaves behind that.
//! - A message of the extended protocol has a line each for parse, bind and execute. They are one call on the wire as a
//!   rule, and one operation here where they follow each other in a session (`%p`): their durations are added up.
//! - Plans are taken only where no line of a statement came before them, which says the same.
//! - Zones: offsets, UTC, and abbreviations that mean one thing only. `IST` and `CST` are two.
//! - `%r`, csvlog and jsonlog name the client's port, and so the connection: its statements are its calls, one after the
//!   other. Without it milliseconds tell too little, and only means are compared.

use super::{From, SECOND_NS, Statements, When, some};
use crate::Error;
use crate::collector::Collector;
use crate::csv;
use crate::lines::{At, Lines};
use crate::number::scaled;
use crate::oracle::Stamp;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

const DURATION: &str = "duration: ";

/// Sessions whose messages are put together at a time.
const SESSIONS: usize = 16_384;

/// Lines of one message follow each other within this, as times are cut to milliseconds.
const ADJOINING_NS: i64 = 2_000_000;

const CURE: &str = "set log_min_duration_statement = 0 for the time in question, %m in log_line_prefix, and lc_messages = 'C'";

/// Whether a line is one of the log's own.
pub(crate) fn is_entry(line: &str) -> bool {
    let json = line.starts_with("{\"timestamp\":\"") && line.contains("\"error_severity\":");
    let csv = || Stamp::iso(line).is_some() && line.split(',').count() >= 20;
    let severity = ["LOG:  ", "ERROR:  ", "FATAL:  ", "WARNING:  "];
    let plain = || {
        let at = severity.iter().find_map(|s| line.find(s));
        let prefix = at.and_then(|at| line.get(..at));
        prefix.is_some_and(|p| moment(p).is_some())
    };
    json || csv() || plain()
}

pub(crate) fn read(files: Vec<Lines>, into: &mut Collector) -> Result<(), Error> {
    let first = files.first().map(Lines::name).unwrap_or_default();
    let mut words = "";
    for file in files {
        let mut reader = Reader::default();
        let name = file.name();
        let mut last = 0;
        file.each(into, |into, at, line| {
            last = at.line;
            reader.line(line, into, at);
            Ok(())
        })?;
        let at = At {
            file: &name,
            line: last,
        };
        reader.end(into, at);
        words = reader.statements.words();
    }
    into.grain(1_000_000);
    into.format(format!("PostgreSQL's log{words}"));
    some(first, CURE, into)
}

/// What the line is of.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Stage {
    Parse,
    Bind,
    Execute,
    Whole,
    Plan,
}

/// A line with a duration.
struct Entry {
    when: When,
    took_ns: i64,
    stage: Stage,
    session: Option<u32>,
    from: From,
}

/// Parts of a message that are not executed yet.
struct Pending {
    entry: Entry,
    line: u64,
}

#[derive(Default)]
struct Reader {
    statements: Statements,
    pending: BTreeMap<u32, Pending>,
    /// Plans, while there are no statements.
    plans: Vec<(Entry, u64)>,
    any: bool,
}

impl Reader {
    fn line(&mut self, line: &str, into: &mut Collector, at: At<'_>) {
        let entry = match entry(line) {
            Ok(Some(entry)) => entry,
            Ok(None) => return,
            Err(reason) => return into.skip(at, reason),
        };
        if entry.stage == Stage::Plan {
            if !self.any && self.plans.len() < crate::OPERATIONS / 8 {
                self.plans.push((entry, at.line));
            }
            return;
        }
        self.any = true;
        let Some(session) = entry.session else {
            return self.add(entry, into, at);
        };
        let before = self.pending.remove(&session);
        let entry = match before {
            Some(before) if before.entry.is_followed_by(&entry) => Entry {
                took_ns: before.entry.took_ns.saturating_add(entry.took_ns),
                ..entry
            },
            Some(before) => {
                let line = before.line;
                self.add(before.entry, into, At { line, ..at });
                entry
            }
            None => entry,
        };
        match entry.stage {
            Stage::Parse | Stage::Bind if self.pending.len() < SESSIONS => {
                let line = at.line;
                self.pending.insert(session, Pending { entry, line });
            }
            _ => self.add(entry, into, at),
        }
    }

    fn end(&mut self, into: &mut Collector, at: At<'_>) {
        for (_, Pending { entry, line }) in std::mem::take(&mut self.pending) {
            self.add(entry, into, At { line, ..at });
        }
        let plans = std::mem::take(&mut self.plans);
        for (entry, line) in plans.into_iter().filter(|_| !self.any) {
            self.statements.add(
                entry.when,
                entry.took_ns,
                entry.from,
                into,
                At { line, ..at },
            );
        }
    }

    fn add(&mut self, entry: Entry, into: &mut Collector, at: At<'_>) {
        self.statements
            .add(entry.when, entry.took_ns, entry.from, into, at);
    }
}

impl Entry {
    /// Whether the next line of its session is of the same message.
    fn is_followed_by(&self, next: &Entry) -> bool {
        let (When::Millisecond(end), When::Millisecond(next_end)) = (self.when, next.when) else {
            return false;
        };
        let starts = next_end.saturating_sub(next.took_ns);
        let rises = self.stage < next.stage && next.stage <= Stage::Execute;
        rises && starts.saturating_sub(end).saturating_abs() <= ADJOINING_NS
    }
}

/// `None` for a line without a duration, which is of something else or goes on with a statement.
fn entry(line: &str) -> Result<Option<Entry>, String> {
    let Some((prefix, message)) = parts(line) else {
        return Ok(None);
    };
    let (duration, text) = message.split_once(" ms").unwrap_or((message, ""));
    let took_ns = scaled(duration.trim(), 6).filter(|ns| *ns >= 0);
    let Some(took_ns) = took_ns else {
        return Err("its duration is no number of milliseconds".to_owned());
    };
    let Some((when, zone)) = moment(prefix) else {
        return Err("no time stands before its duration; add %m to log_line_prefix".to_owned());
    };
    let Some(when) = in_zone(when, zone) else {
        return Err(format!(
            "the zone {} is not known; set log_timezone = 'UTC', or use %n in log_line_prefix",
            zone.chars().take(12).collect::<String>()
        ));
    };
    let text = text.trim_start();
    let stage = [
        ("parse ", Stage::Parse),
        ("bind ", Stage::Bind),
        ("execute ", Stage::Execute),
        ("plan:", Stage::Plan),
    ];
    let stage = stage.into_iter().find(|(word, _)| text.starts_with(word));
    Ok(Some(Entry {
        when,
        took_ns,
        stage: stage.map_or(Stage::Whole, |(_, stage)| stage),
        session: session(prefix),
        from: from(prefix),
    }))
}

/// What stands before a message, and the message behind `duration: `. Within a statement quotes are doubled or escaped, so
/// that nothing in it looks like the beginning of a message.
fn parts(line: &str) -> Option<(&str, &str)> {
    if line.starts_with('{') {
        let (before, message) = line.split_once("\"message\":\"duration: ")?;
        return Some((before, message));
    }
    if let Some((prefix, message)) = line.split_once("LOG:  ") {
        return Some((prefix, message.strip_prefix(DURATION)?));
    }
    line.split_once(",\"duration: ")
}

/// When it was by the clock on the wall, and the word that names the zone; of an epoch none.
fn moment(prefix: &str) -> Option<((i64, bool), &str)> {
    let starts = prefix.char_indices().filter(|(_, c)| c.is_ascii_digit());
    for (at, _) in starts {
        let Some(rest) = prefix.get(at..) else {
            continue;
        };
        if let Some((stamp, length)) = Stamp::iso(rest) {
            let is_second = length < "2026-11-24 13:37:13.".len();
            let behind = rest.get(length..).unwrap_or_default();
            let zone = behind.strip_prefix(' ').unwrap_or(behind);
            let is_zone = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-');
            let ends = zone.find(|c| !is_zone(c)).unwrap_or(zone.len());
            // `+05:30` goes on behind its colon.
            let ends = match zone.get(..ends) {
                Some(word) if word.starts_with(['+', '-']) => {
                    let minutes = zone.get(ends..).filter(|m| m.starts_with(':'));
                    let digits = minutes.and_then(|m| m.get(1..3));
                    let some = digits.is_some_and(|d| d.bytes().all(|b| b.is_ascii_digit()));
                    if some { ends + 3 } else { ends }
                }
                _ => ends,
            };
            return Some(((stamp.local_ns, is_second), zone.get(..ends)?));
        }
    }
    // %n: 1795527436.733
    let mut words = prefix.split(|c: char| !c.is_ascii_digit() && c != '.');
    let epoch = words.find(|w| w.len() == 14 && w.as_bytes().get(10) == Some(&b'.'))?;
    Some(((scaled(epoch, 9)?, false), "UTC"))
}

fn in_zone((local_ns, is_second): (i64, bool), zone: &str) -> Option<When> {
    let ns = local_ns.checked_sub(zone_seconds(zone)?.checked_mul(SECOND_NS)?)?;
    Some(match is_second {
        true => When::Second(ns),
        false => When::Millisecond(ns),
    })
}

/// How far a zone is ahead of UTC.
fn zone_seconds(zone: &str) -> Option<i64> {
    const HOUR: i64 = 3_600;
    const NAMED: [(&str, i64); 16] = [
        ("UTC", 0),
        ("GMT", 0),
        ("WEST", HOUR),
        ("CET", HOUR),
        ("CEST", 2 * HOUR),
        ("EET", 2 * HOUR),
        ("EEST", 3 * HOUR),
        ("MSK", 3 * HOUR),
        ("JST", 9 * HOUR),
        ("AEST", 10 * HOUR),
        ("AEDT", 11 * HOUR),
        ("EST", -5 * HOUR),
        ("EDT", -4 * HOUR),
        ("CDT", -5 * HOUR),
        ("PST", -8 * HOUR),
        ("PDT", -7 * HOUR),
    ];
    if let Some((_, seconds)) = NAMED.iter().find(|(name, _)| *name == zone) {
        return Some(*seconds);
    }
    let digits: String = zone.chars().filter(char::is_ascii_digit).collect();
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes) = match digits.len() {
        2 => (digits.as_str(), "0"),
        4 => digits.split_at_checked(2)?,
        _ => return None,
    };
    let seconds = hours.parse::<i64>().ok()? * HOUR + minutes.parse::<i64>().ok()? * 60;
    Some(sign * seconds)
}

/// `[31779]`; of csvlog the fourth field, of jsonlog `"pid":31779`.
fn session(prefix: &str) -> Option<u32> {
    if let Some((_, rest)) = prefix.split_once("\"pid\":") {
        return rest.split(',').next()?.parse().ok();
    }
    let within = prefix
        .split('[')
        .skip(1)
        .filter_map(|p| p.split(']').next());
    let plain = within.filter_map(|p| p.parse().ok()).next();
    plain.or_else(|| csv::fields(prefix, ',')?.get(3)?.parse().ok())
}

/// Who asked: an address with its port in parentheses (`%r`), or alone (`%h`); of csvlog the fifth field; of jsonlog
/// `remote_host` and `remote_port`.
fn from(prefix: &str) -> From {
    let end = |host: &str, port: &str| {
        let host: IpAddr = host.trim_matches(['[', ']']).parse().ok()?;
        Some(From::Port(SocketAddr::new(host, port.parse().ok()?)))
    };
    if let Some((_, rest)) = prefix.split_once("\"remote_host\":\"") {
        let (host, rest) = rest.split_once('"').unwrap_or_default();
        let port = rest.split_once("\"remote_port\":").map(|(_, p)| p);
        let port = port.and_then(|p| p.split(',').next()).unwrap_or_default();
        return match host {
            "[local]" => From::Local,
            host => end(host, port).unwrap_or(From::Unknown),
        };
    }
    let fields = csv::fields(prefix, ',').unwrap_or_default();
    if let Some(from) = fields.get(4) {
        return match from.rsplit_once(':') {
            None if from == "[local]" => From::Local,
            None => From::Unknown,
            Some((host, port)) => end(host, port).unwrap_or(From::Unknown),
        };
    }
    let is_of_address = |c: char| c.is_ascii_hexdigit() || matches!(c, '.' | ':' | '(' | ')');
    let words = prefix.split(|c: char| !is_of_address(c));
    let alone = words.filter(|w| w.contains(['.', ':'])).find_map(|word| {
        let word = word.trim_matches(':');
        let bare = |w: &str| w.parse().ok().map(From::Host);
        let behind = word.split_once(':').map(|(_, w)| w).unwrap_or_default();
        [word, behind]
            .into_iter()
            .find_map(|w| match w.split_once('(') {
                Some((host, port)) => end(host, port.split(')').next().unwrap_or_default()),
                None => bare(w),
            })
    });
    alone.unwrap_or(match prefix.contains("[local]") {
        true => From::Local,
        false => From::Unknown,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_name_session_and_client_where_they_do() {
        let host = |h: &str| From::Host(h.parse().unwrap());
        let port = |h: &str| From::Port(h.parse().unwrap());
        for (prefix, who) in [
            (
                "2026-11-24 13:37:13.209 UTC [31779] a@b ",
                (Some(31_779), From::Unknown),
            ),
            (
                "2026-11-24 13:37:15 UTC:10.0.0.1(52538):a@b:[31824]: ",
                (Some(31_824), port("10.0.0.1:52538")),
            ),
            ("1795527436.733 127.0.0.1 1 ", (None, host("127.0.0.1"))),
            (
                "2026-11-24 13:37:13.209 UTC [7] fd00::1(99) ",
                (Some(7), port("[fd00::1]:99")),
            ),
            (
                "2026-11-24 13:37:13.209 UTC [7] [local] ",
                (Some(7), From::Local),
            ),
            (
                "2026-11-24 14:37:18.141 CET,\"a\",\"b\",31867,\"[local]\",6b05930e.7c7b,1,\"SELECT\"",
                (Some(31_867), From::Local),
            ),
            (
                "2026-11-24 14:37:18.141 CET,\"a\",\"b\",31867,\"fd00::1:5257\",6b05930e.7c7b",
                (Some(31_867), port("[fd00::1]:5257")),
            ),
            (
                "{\"timestamp\":\"2026-11-24 14:37:18.141 CET\",\"pid\":31867,\"remote_host\":\"10.0.0.1\",\"remote_port\":52574,",
                (Some(31_867), port("10.0.0.1:52574")),
            ),
        ] {
            assert_eq!((session(prefix), from(prefix)), who, "{prefix}");
        }
    }

    #[test]
    fn zones_are_offsets_or_names_of_one_meaning() {
        for (zone, seconds) in [
            ("UTC", Some(0)),
            ("CET", Some(3_600)),
            ("+01", Some(3_600)),
            ("-0330", Some(-12_600)),
            ("+05:30", Some(19_800)),
            ("IST", None),
            ("CST", None),
            ("", None),
        ] {
            assert_eq!(zone_seconds(zone), seconds, "{zone}");
        }
        let (when, zone) = moment("at 2026-11-24 13:37:13.209 +05:30 [1]").unwrap();
        assert_eq!(
            in_zone(when, zone),
            Some(When::Millisecond(1_795_507_633_209_000_000))
        );
    }
}
