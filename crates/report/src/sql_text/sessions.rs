//! Sessions for people: what each sent, received and took, and whose it is.

use super::{SESSIONS, SqlStyle, is_told, shown};
use crate::harmless::harmless;
use crate::page::Tone;
use crate::text::{bytes, counted, grouped, wrap};
use analysis::sql::{SessionResult, SqlResult};
use model::sql::op;
use model::{Purpose, format_duration};

/// The section of a page.
pub(super) fn section(result: &SqlResult, style: SqlStyle) -> String {
    let (rows, more) = shown(&result.sessions, style, SESSIONS);
    let mut text = format!("\n{}\n", Tone::Title.paint("Sessions"));
    for s in rows {
        text.push_str(&session(s));
    }
    if more > 0 {
        let more = counted(more as u64, "further session");
        text.push_str(&format!("… and {more} with less time (--all shows them)\n"));
    }
    let hint = match result.captures.len() {
        2 => "--session N --follow, with the first of the captures alone, shows one call by call",
        _ => "--session N --follow shows one call by call",
    };
    let hint = wrap("", 0, hint);
    text.push_str(&Tone::Faint.paint_lines(&hint));
    text
}

fn session(s: &SessionResult) -> String {
    let (numbers, who) = of_session(s);
    let mut text = wrap("", 3, &numbers);
    if !who.is_empty() {
        text.push_str(&wrap("   ", 3, &who));
    }
    text
}

/// What a session is for, in words.
pub(crate) fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::RedoTransport => "Data Guard's redo transport",
        Purpose::DataGuardBroker => "Data Guard's broker",
        Purpose::GoldenGate => "GoldenGate",
    }
}

/// A unit as it was agreed on, and what the client asked for.
pub(crate) fn unit(agreed: u32, asked: Option<u32>) -> String {
    let asked = asked.filter(|&asked| asked != agreed);
    let asked = asked.map_or(String::new(), |n| {
        format!(" (asked for {})", grouped(n.into()))
    });
    format!("{} B{asked}", grouped(agreed.into()))
}

/// What the logon was made of, by the names that its calls have everywhere.
fn phases(s: &SessionResult) -> String {
    let phases = [
        ("TCP", s.tcp_ns),
        ("TLS", s.tls_ns),
        (op::CONNECT.as_str(), s.connect_ns),
        (op::NEGOTIATE.as_str(), s.negotiate_ns),
        (op::LOGON.as_str(), s.logon_ns),
    ];
    let told = phases.iter().filter(|(_, ns)| *ns > 0);
    let told: Vec<String> = told
        .map(|(name, ns)| format!("{name} {}", format_duration(*ns)))
        .collect();
    match told.len() {
        ..2 => String::new(),
        _ => format!(" ({})", told.join(" + ")),
    }
}

/// A session's time, and the parts that it is the sum of.
fn parts(s: &SessionResult) -> String {
    let parts = [
        ("logon", s.opening_ns()),
        ("work", s.work_ns()),
        ("client", s.think_ns.saturating_add(s.before_ns)),
        ("untold", s.untold_ns()),
    ];
    let untold = |ns: i64| is_told(ns.saturating_abs(), s.span_ns());
    let told = parts.iter().filter(|(name, ns)| match *name {
        "untold" => untold(*ns),
        _ => *ns > 0,
    });
    let told: Vec<String> = told
        .map(|(name, ns)| match *name {
            "logon" => format!("{name} {}{}", format_duration(*ns), phases(s)),
            "work" if is_told(s.overlap_ns, s.span_ns()) => {
                let twice = format_duration(s.overlap_ns);
                format!(
                    "{name} {} (calls overlap for {twice})",
                    format_duration(*ns)
                )
            }
            _ => format!("{name} {}", format_duration(*ns)),
        })
        .collect();
    format!("{}: {}", format_duration(s.span_ns()), told.join(", "))
}

/// What a session did, and whose it is.
pub(crate) fn of_session(s: &SessionResult) -> (String, String) {
    let of = &s.session;
    let mut who: Vec<String> = of
        .purpose
        .map(purpose)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let named = [
        ("user", &of.user),
        ("database", &of.database),
        ("program", &of.program),
    ];
    for (name, value) in named {
        if let Some(value) = value {
            who.push(format!("{name} {}", harmless(value)));
        }
    }
    if let (Some(sdu), tdu) = (of.sdu_bytes, of.tdu_bytes) {
        who.push(format!("SDU {}", unit(sdu, of.sdu_offered_bytes)));
        who.extend(tdu.map(|tdu| format!("TDU {}", unit(tdu, of.tdu_offered_bytes))));
    }
    if let Some(largest) = s.largest_packet_bytes {
        who.push(format!("largest packet {} B", grouped(largest)));
    }
    if of.big_endian {
        who.push("a big-endian client: cursors and rows are not read".to_owned());
    }
    who.extend(of.cipher.map(|cipher| format!("encrypted with {cipher}")));
    who.extend(of.checksum.map(|hash| format!("checksums of {hash}")));
    let marks = match (of.unproven, of.plaintext_password) {
        (true, _) => ", a version whose layouts are unproven",
        (_, true) => ", the password was readable",
        _ => "",
    };
    let numbers = format!(
        "{}. {} → {} {}: {}, {} sent, {} received; {}{marks}",
        s.number,
        s.client,
        s.server,
        s.protocol,
        counted(s.round_trips, "round trip"),
        bytes(s.sent_bytes),
        bytes(s.received_bytes),
        parts(s),
    );
    (numbers, who.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::SqlSession;

    fn who(session: SqlSession) -> String {
        let mut one = crate::samples::profile().sessions.remove(0);
        one.session = session.into();
        of_session(&one).1
    }

    #[test]
    fn a_session_says_first_what_it_is_for() {
        let of = |purpose| SqlSession {
            user: Some("sys".into()),
            purpose: Some(purpose),
            ..SqlSession::default()
        };
        let said = who(of(Purpose::RedoTransport));
        assert_eq!(said, "Data Guard's redo transport, user sys");
        let said = who(of(Purpose::DataGuardBroker));
        assert_eq!(said, "Data Guard's broker, user sys");
        assert_eq!(who(of(Purpose::GoldenGate)), "GoldenGate, user sys");
    }

    #[test]
    fn a_protected_session_says_with_what() {
        let said = who(SqlSession {
            database: Some("orcl".into()),
            cipher: Some("AES256"),
            checksum: Some("SHA1"),
            ..SqlSession::default()
        });
        assert_eq!(
            said,
            "database orcl, encrypted with AES256, checksums of SHA1"
        );
    }
}
