//! Calls as lines for people: when each began, how long it took, what most of that was, and where to see it.

use crate::calls::CallRow;
use crate::harmless::harmless;
use crate::page::{Tone, columns, shortened, width};
use crate::tiers::how_long;
use jiff::{Timestamp, tz::TimeZone};
use ledger::Line;
use model::{Mark, Outcome, Time, format_duration};

/// What stands above the columns.
const HEADS: [&str; 5] = ["began", "op", "took", "most of it, at least", "frames"];

/// Writes calls, a line each, and below it what the call was about.
pub struct CallsText {
    zone: TimeZone,
    /// Whether there was a call.
    any: bool,
}

impl CallsText {
    /// `zone` is where moments are shown.
    #[must_use]
    pub fn new(zone: TimeZone) -> CallsText {
        CallsText { zone, any: false }
    }

    /// What stands above the first call.
    #[must_use]
    pub fn head(&self) -> String {
        let text = line(&HEADS.map(str::to_owned));
        Tone::Title.paint(&text) + "\n"
    }

    /// Appends a call.
    pub fn write(&mut self, row: &CallRow<'_>, out: &mut Vec<u8>) {
        self.any = true;
        let call = row.call;
        let began = call.request_first.or(call.response_first);
        let took = call.response_time_ns();
        let mut cells = [
            began.map_or_else(String::new, |at| self.moment(at.time)),
            call.op.to_string(),
            took.map_or_else(|| "-".to_owned(), format_duration),
            most(row),
            frames(row),
        ];
        let mut about = about(row);
        // Long names and numbers: frames stand below.
        if columns(&line(&cells)) > width() {
            let [.., frames] = &mut cells;
            about.insert(0, format!("frames {}", std::mem::take(frames)));
        }
        out.extend_from_slice(line(&cells).as_bytes());
        out.push(b'\n');
        let about = about.join("; ");
        if !about.is_empty() {
            let about = shortened(&format!("    {about}"), width());
            out.extend_from_slice(Tone::Faint.paint(&about).as_bytes());
            out.push(b'\n');
        }
    }

    /// What stands below the last call.
    #[must_use]
    pub fn end(&self) -> &'static str {
        match self.any {
            true => "",
            false => "No calls.\n",
        }
    }

    fn moment(&self, time: Time) -> String {
        let micros = Timestamp::from_microsecond(time.0.div_euclid(1_000));
        match micros {
            Ok(stamp) => stamp
                .to_zoned(self.zone.clone())
                .strftime("%H:%M:%S%.6f")
                .to_string(),
            Err(_) => format!("{} ns", time.0),
        }
    }
}

fn line([began, op, took, most, frames]: &[String; 5]) -> String {
    let op = shortened(op, 11);
    let text = format!("{began:<15} {op:<11} {took:>8}  {most:<25} {frames}");
    text.trim_end().to_owned()
}

/// The line of the ledger that certainly has most of it; what the call ended with, where that is no answer.
fn most(row: &CallRow<'_>) -> String {
    let of = |l: &Line| {
        format!(
            "{}: {} {}",
            l.side.name(),
            l.cause.name(),
            format_duration(l.ns.lo_ns)
        )
    };
    let lines = row
        .judged
        .map(|judged| judged.ledger.lines())
        .unwrap_or_default();
    let most = lines
        .iter()
        .max_by_key(|l| l.ns.lo_ns)
        .filter(|l| l.ns.lo_ns > 0);
    match (row.call.outcome, most) {
        (Outcome::NoResponse(_) | Outcome::NoRequest(_) | Outcome::Incomplete(_), _) => {
            row.call.outcome.name().to_owned()
        }
        (_, Some(line)) => of(line),
        (_, None) => "not told".to_owned(),
    }
}

/// Of its request and of its answer.
fn frames(row: &CallRow<'_>) -> String {
    let call = row.call;
    let first = call.request_first.or(call.response_first);
    let last = call.response_last.or(call.request_last);
    let frame = |mark: Option<Mark>| mark.map(|m| m.packet.frame);
    match (frame(first), frame(last)) {
        (Some(first), Some(last)) if first != last => format!("{first}-{last}"),
        (Some(one), _) | (_, Some(one)) => one.to_string(),
        (None, None) => String::new(),
    }
}

/// The file or statement, whether it failed, why one capture alone has it, and the capture where there are several.
fn about(row: &CallRow<'_>) -> Vec<String> {
    let mut parts = Vec::new();
    if row.call.outcome.is_error() {
        parts.push(format!("error {}", row.call.outcome.name()));
    }
    if let Some(why) = row.unpaired {
        parts.push(why.name().to_owned());
    }
    if row.files.len() > 1
        && let Some(file) = row.file().and_then(|file| row.file_name(file))
    {
        parts.push(harmless(file));
    }
    let beneath = row.beneath.and_then(how_long);
    parts.extend(beneath.map(|ns| format!("calls of its server's own for {ns}")));
    if let Some(path) = row.file_path() {
        parts.push(harmless(path));
    }
    if let Some(application) = row.application() {
        let before = application.before_ns.map_or_else(String::new, |ns| {
            format!(", {} of it before the wire", format_duration(ns))
        });
        let waited = format_duration(application.ns);
        parts.push(format!("its application waits {waited}{before}"));
    }
    parts.extend(row.pressures.iter().map(|p| {
        let device = match p.device.as_str() {
            "" => String::new(),
            device => format!(" of {}", harmless(device)),
        };
        format!(
            "high at the {}: {}{device}",
            p.side.name(),
            p.counter.name()
        )
    }));
    if let Some(statement) = row.statement() {
        parts.push(harmless(&statement.normal));
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use analysis::ledgers::Judged;
    use expect_test::expect;
    use ledger::{Bounds, Cause, Ledger};
    use model::Direction;

    #[test]
    fn a_call_is_a_line_and_what_it_is_about() {
        let call = samples::call();
        let owners = analysis::findings::Owners::default();
        let files = ["a,1.pcap".to_owned(), "b.pcap".to_owned()];
        let row = CallRow {
            call: &call,
            files: &files,
            server_files: &[],
            judged: None,
            owners: &owners,
            path: Some("/srv/data"),
            connection: None,
            unpaired: None,
            order: 1,
            hops: &[],
            beneath: None,
            pressures: &[],
        };
        let mut text = CallsText::new(TimeZone::UTC);
        let mut out = Vec::new();
        assert_eq!(text.end(), "No calls.\n");
        text.write(&row, &mut out);
        let page = text.head() + &String::from_utf8(out).expect("text") + text.end();
        expect![[r#"
            began           op              took  most of it, at least      frames
            22:13:20.000000 READ         25.0 ms  not told                  10-13
                a,1.pcap; /srv/data
        "#]]
        .assert_eq(&page);
        assert!(page.lines().all(|l| columns(l) <= 80), "{page}");

        // The longest name of a cause, and frames of a large capture.
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(25_000_000));
        ledger.charge(
            Cause::NagleDelayedAck,
            Direction::ToServer,
            Bounds::exactly(25_000_000),
        );
        let judged = Judged {
            ledger,
            in_diagnosis: true,
            server: None,
            clock_offset_ns: 0,
            application: None,
        };
        let mut far = call.clone();
        for mark in [&mut far.request_first, &mut far.response_last] {
            mark.as_mut().expect("seen").packet.frame += 1_000_000;
        }
        let mut out = Vec::new();
        let row = CallRow {
            call: &far,
            judged: Some(&judged),
            ..row
        };
        text.write(&row, &mut out);
        expect![[r#"
            22:13:20.000000 READ         25.0 ms  client: nagle-delayed-ack 25.0 ms
                frames 1000010-1000013; a,1.pcap; /srv/data
        "#]]
        .assert_eq(&String::from_utf8(out).expect("text"));
    }
}
