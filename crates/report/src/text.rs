//! Pieces that the outputs for people share: wrapping, numbers with units, bars, tables, moments.

use crate::harmless::acts;
use crate::page::{Tone, columns, pad, pad_left, prose, shortened, width};
use analysis::results::{CaptureResult, Vantage};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use model::{Problem, Time, format_duration};
pub use model::{counted, grouped};

/// `text` in lines of the page's width at most, the first behind `head`, the others behind as many spaces
/// as `indent` says. A word longer than a line stays whole: it may be a command to copy.
#[must_use]
pub fn wrap(head: &str, indent: usize, text: &str) -> String {
    let mut out = String::from(head);
    let mut column = columns(head);
    let mut fresh = true;
    let width = prose();
    for word in unbroken(text).split_ascii_whitespace() {
        let word = word.replace('\u{a0}', " ");
        let length = columns(&word);
        if !fresh && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
            fresh = true;
        }
        if !fresh {
            out.push(' ');
            column += 1;
        }
        out.push_str(&word);
        column += length;
        fresh = false;
    }
    out.push('\n');
    out
}

/// `text` in which no line ends between a number and its unit.
pub(crate) fn unbroken(text: &str) -> String {
    const UNITS: [&str; 12] = [
        "ns", "µs", "ms", "s", "min", "h", "B", "kB", "MB", "GB", "%", "Mbit/s",
    ];
    let mut out = String::with_capacity(text.len());
    let mut words = text.split(' ').peekable();
    while let Some(word) = words.next() {
        out.push_str(word);
        let number = word.ends_with(|c: char| c.is_ascii_digit());
        let unit = |next: &&str| UNITS.contains(&next.trim_end_matches(['.', ',', ';', ':', ')']));
        match words.peek() {
            Some(next) if number && unit(next) => out.push('\u{a0}'),
            Some(_) => out.push(' '),
            None => {}
        }
    }
    out
}

/// A manual page in lines of the page's width at most: paragraphs end at empty lines, headings (`# …`)
/// stand alone.
#[must_use]
pub fn reflowed(text: &str) -> String {
    let mut out = String::new();
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.lines().chain([""]) {
        let heading = line.starts_with("# ");
        if (heading || line.is_empty()) && !paragraph.is_empty() {
            out.push_str(&wrap("", 0, &paragraph.join(" ")));
            paragraph.clear();
        }
        match (heading, line) {
            (true, line) => out.push_str(&wrap("", 2, line)),
            (false, "") => out.push('\n'),
            (false, line) => paragraph.push(line),
        }
    }
    out.truncate(out.trim_end().len());
    out.push('\n');
    out
}

/// Three significant digits and a unit, powers of 1000: `120 MB`.
#[must_use]
pub fn bytes(n: u64) -> String {
    let mut value = n as f64;
    let mut units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    for next in units {
        if value < 999.5 {
            break;
        }
        value /= 1000.0;
        unit = next;
    }
    let digits = match value {
        _ if unit == "B" || value >= 99.95 => 0,
        v if v >= 9.995 => 1,
        _ => 2,
    };
    format!("{value:.digits$} {unit}")
}

/// Bits per second with a unit: `3.05 Mbit/s`.
#[must_use]
pub fn rate(bps: u64) -> String {
    format!("{}bit/s", bytes(bps).trim_end_matches('B'))
}

/// A duration without a space, for tables in which every number has its own unit.
#[must_use]
pub fn tight(ns: i64) -> String {
    format_duration(ns).replace(' ', "")
}

/// What has to be said beside the summed time of calls that took turns no longer than `elapsed_ns`: more than that passed
/// only because they overlap. Nothing where they hardly do.
pub(crate) fn overlap(summed_ns: i64, elapsed_ns: i64) -> String {
    let at_a_time = summed_ns as f64 / elapsed_ns.max(1) as f64;
    match elapsed_ns > 0 && at_a_time >= 1.5 {
        true => format!(
            "Calls overlap, some {} at a time: all of it passed in {}.",
            grouped(at_a_time.round() as u64),
            format_duration(elapsed_ns)
        ),
        false => String::new(),
    }
}

/// How long a capture lasted.
pub(crate) fn lasted(capture: Option<&CaptureResult>) -> i64 {
    let ends = capture.and_then(|c| c.first.zip(c.last));
    ends.map_or(0, |(first, last)| last - first)
}

/// A part of a whole for tables: `61%`, `0.3%`, `<0.1%`, or `-` where there is no whole.
pub(crate) fn share(part: i64, whole: i64) -> String {
    if whole <= 0 {
        return "-".to_owned();
    }
    match 100.0 * part as f64 / whole as f64 {
        p if p > 0.0 && p < 0.05 => "<0.1%".to_owned(),
        p if p > 0.0 && p < 0.95 => format!("{p:.1}%"),
        p => format!("{p:.0}%"),
    }
}

/// One unit for all durations of a table, and how many decimals they get.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Unit {
    pub(crate) name: &'static str,
    ns: f64,
    decimals: usize,
}

impl Unit {
    /// The unit in which a duration like this one reads best: three digits of it or more.
    pub(crate) fn for_duration(ns: i64) -> Unit {
        let (name, unit_ns, decimals) = match ns.unsigned_abs() {
            0..1_000_000 => ("µs", 1e3, 1),
            1_000_000..10_000_000 => ("ms", 1e6, 3),
            10_000_000..10_000_000_000 => ("ms", 1e6, 2),
            _ => ("s", 1e9, 2),
        };
        Unit {
            name,
            ns: unit_ns,
            decimals,
        }
    }

    /// Seconds to the millisecond.
    pub(crate) const SECONDS: Unit = Unit {
        name: "s",
        ns: 1e9,
        decimals: 3,
    };

    /// The number without its unit.
    pub(crate) fn number(self, ns: i64) -> String {
        let text = format!("{:.*}", self.decimals, ns as f64 / self.ns);
        // What rounds to zero has no sign.
        match text.strip_prefix('-') {
            Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
            _ => text,
        }
    }
}

/// A bar of `part` of `whole` in at most `width` columns; any part that is there shows.
pub(crate) fn bar(part: f64, whole: f64, width: usize) -> String {
    if part <= 0.0 || whole <= 0.0 {
        return String::new();
    }
    let eighths = (part / whole * (width * 8) as f64).round().max(1.0) as usize;
    let eighths = eighths.min(width * 8);
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    "█".repeat(eighths / 8) + rest.get(eighths % 8).copied().unwrap_or_default()
}

/// What stands in a table that people also sort, and by which number.
pub(crate) type Sorted = (String, Option<i64>);

/// Text in such a table, which has no number.
pub(crate) fn unsorted(text: &str) -> Sorted {
    (text.to_owned(), None)
}

/// What such rows show.
pub(crate) fn as_shown(rows: Vec<Vec<Sorted>>) -> Vec<Vec<String>> {
    let row = |row: Vec<Sorted>| row.into_iter().map(|(shown, _)| shown).collect();
    rows.into_iter().map(row).collect()
}

/// A table below its title, indented, of rows with their heads.
pub(crate) fn titled(title: &str, rows: Vec<Vec<Sorted>>) -> String {
    let mut rows = as_shown(rows);
    for name in rows.iter_mut().filter_map(|row| row.first_mut()) {
        *name = format!("  {name}");
    }
    Tone::Title.paint(title) + "\n" + &Grid::fitting(rows).text()
}

/// Columns of text under their headings: the first flush left, the others right, `gap` spaces between
/// them.
pub(crate) struct Grid {
    rows: Vec<Vec<String>>,
    widths: Vec<usize>,
    gap: usize,
    /// The first row is of headings.
    headed: bool,
}

impl Grid {
    /// Without headings.
    pub(crate) fn headless(rows: Vec<Vec<String>>, gap: usize) -> Grid {
        Grid {
            headed: false,
            ..Grid::new(rows, gap)
        }
    }

    /// With two spaces between columns, or one if the page is too narrow for two. If it is still, what
    /// stands in the first column is shortened.
    pub(crate) fn fitting(rows: Vec<Vec<String>>) -> Grid {
        let wide = Grid::new(rows, 2);
        if wide.width() <= width() {
            return wide;
        }
        let mut close = Grid::new(wide.rows, 1);
        let beyond = close.width().saturating_sub(width());
        if beyond > 0
            && let Some(first) = close.widths.first_mut()
        {
            let room = first.saturating_sub(beyond).max(FIRST_COLUMN.min(*first));
            *first = room;
            for cell in close.rows.iter_mut().filter_map(|row| row.first_mut()) {
                *cell = shortened(cell, room);
            }
        }
        close
    }

    /// Spaces between columns.
    pub(crate) fn gap(&self) -> usize {
        self.gap
    }

    pub(crate) fn new(mut rows: Vec<Vec<String>>, gap: usize) -> Grid {
        let mut widths = Vec::new();
        for row in &mut rows {
            // An empty first column still sets the others in.
            widths.resize(row.len().max(widths.len()), 1);
            for (width, cell) in widths.iter_mut().zip(row) {
                // No value ends a line of the table.
                if cell.contains(['\n', '\t']) {
                    *cell = cell.replace(['\n', '\t'], " ");
                }
                *width = columns(cell).max(*width);
            }
        }
        Grid {
            rows,
            widths,
            gap,
            headed: true,
        }
    }

    /// Columns of the terminal that the first `n` columns of the grid take.
    pub(crate) fn width_of(&self, n: usize) -> usize {
        let widths: usize = self.widths.iter().take(n).sum();
        widths + self.gap * n.min(self.widths.len()).saturating_sub(1)
    }

    pub(crate) fn width(&self) -> usize {
        self.width_of(self.widths.len())
    }

    /// The lines, without spaces at their ends. Where the page is too narrow for all columns, the last
    /// ones are left out, which the headings say.
    pub(crate) fn lines(&self) -> Vec<String> {
        let all = self.widths.len();
        let cut = self.width() > width();
        let fits = |n: &usize| self.width_of(*n) + 2 <= width();
        let shown = if cut {
            (1..all).rev().find(fits).unwrap_or(1)
        } else {
            all
        };
        let mut lines: Vec<String> = self.rows.iter().map(|row| self.line(row, shown)).collect();
        if let Some(first) = lines.first_mut() {
            if cut {
                first.push_str(" …");
            }
            if self.headed {
                *first = Tone::Faint.paint(first);
            }
        }
        lines
    }

    fn line(&self, row: &[String], shown: usize) -> String {
        let mut line = String::new();
        let gap = " ".repeat(self.gap);
        for (i, (cell, width)) in row.iter().zip(&self.widths).take(shown).enumerate() {
            if i == 0 {
                line.push_str(&pad(cell, *width));
            } else {
                line.push_str(&gap);
                line.push_str(&pad_left(cell, *width));
            }
        }
        line.truncate(line.trim_end().len());
        line
    }

    pub(crate) fn text(&self) -> String {
        self.lines()
            .iter()
            .map(|line| format!("{line}\n"))
            .collect()
    }
}

/// So much of the first column is always shown.
const FIRST_COLUMN: usize = 12;

/// A moment in the zone, with its offset: `2023-11-14 22:13:20.000123 +00:00`; a full second has no
/// fraction.
#[must_use]
pub fn moment(time: Time, zone: &TimeZone) -> String {
    // Nanoseconds are for programs.
    let micros = time.0.div_euclid(1_000);
    let Ok(stamp) = Timestamp::from_microsecond(micros) else {
        return format!("{} ns", time.0);
    };
    let zoned = stamp.to_zoned(zone.clone());
    zoned.strftime("%Y-%m-%d %H:%M:%S%.f %:z").to_string()
}

/// A kind of problem in words, with the first place.
pub(crate) fn problem(kind: &str, p: &Problem) -> String {
    let first = p.first.to_string();
    let place = if first.is_empty() {
        first
    } else {
        format!(" ({first})")
    };
    format!("{kind}, {}: {}{place}", grouped(p.count), p.example)
}

/// What of a capture could not be read, for the end of a page.
pub(crate) fn damage(capture: &CaptureResult) -> String {
    let mut text = String::new();
    for (kind, p) in capture.problems.iter() {
        let (tone, head) = match p.damage {
            true => (Tone::Severe, "Damaged: "),
            false => (Tone::Notable, "Note: "),
        };
        text.push_str(&wrap(&tone.paint(head), 3, &problem(kind, p)));
    }
    text
}

/// Where a capture was taken, in words.
pub(crate) fn taken(vantage: Option<Vantage>) -> &'static str {
    match vantage {
        Some(Vantage::Client) => "taken at the client",
        Some(Vantage::Server) => "taken at the server",
        Some(Vantage::Middle) => "taken between client and server",
        Some(Vantage::Unknown) | None => "side unknown",
    }
}

/// A word as a POSIX shell reads it back; one that holds what [acts] is written as `$'…'`, which bash, zsh
/// and ksh understand.
pub(crate) fn shell(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_./:+,@%=-".contains(c);
    // A name like an option, or standard input's, needs a folder before it.
    let word = if word.starts_with('-') {
        format!("./{word}")
    } else {
        word.to_owned()
    };
    if !word.is_empty() && word.chars().all(plain) {
        return word;
    }
    quoted(&word)
}

/// A word in quotes.
pub(crate) fn quoted(word: &str) -> String {
    if !word.contains(acts) {
        return format!("'{}'", word.replace('\'', "'\\''"));
    }
    let mut out = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => out.extend(['\\', c]),
            // Octal has a fixed length: a digit that follows is not taken for part of it.
            c if acts(c) => {
                let mut bytes = [0; 4];
                let bytes = c.encode_utf8(&mut bytes).bytes();
                out.extend(bytes.map(|byte| format!("\\{byte:03o}")));
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_manual_page_is_as_narrow_as_the_terminal() {
        let page = crate::Page {
            width: 40,
            ..crate::Page::PLAIN
        };
        let manual = "# What it says\nThe server works on only N calls at a time; further ones\nqueue.\n\n# How sure\nVery.";
        let narrow = crate::on_page(page, || super::reflowed(manual));
        assert_eq!(
            narrow,
            "# What it says\nThe server works on only N calls at a\ntime; further ones queue.\n\n# How sure\nVery.\n"
        );
    }

    use super::*;

    #[test]
    fn lines_end_before_column_81_and_words_stay_whole() {
        let text = wrap("   Do: ", 7, &"word ".repeat(40));
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        assert!(text.lines().skip(1).all(|l| l.starts_with("       word")));
        let long = "x".repeat(100);
        assert_eq!(
            wrap("", 2, &format!("a {long} b")),
            format!("a\n  {long}\n  b\n")
        );
    }

    #[test]
    fn numbers_are_grouped_and_have_units() {
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(123), "123");
        assert_eq!(counted(1, "call"), "1 call");
        assert_eq!(bytes(999), "999 B");
        assert_eq!(bytes(65_536), "65.5 kB");
        assert_eq!(bytes(999_700), "1.00 MB");
        assert_eq!(bytes(120_588_168), "121 MB");
        let unit = Unit::for_duration(33_000_000);
        assert_eq!(unit.number(33_190_000), "33.19");
        assert_eq!(unit.number(-1_000), "0.00");
        assert_eq!(Unit::for_duration(-5_220_000).number(16_277), "0.016");
    }

    #[test]
    fn bars_show_their_share() {
        assert_eq!(bar(1.0, 2.0, 4), "██");
        assert_eq!(bar(0.0, 2.0, 4), "");
        assert_eq!(bar(0.001, 2.0, 4), "▏");
        assert_eq!(bar(9.0, 2.0, 4), "████");
    }

    #[test]
    fn words_survive_the_shell() {
        assert_eq!(shell("a.pcap"), "a.pcap");
        assert_eq!(shell("my file's.pcap"), "'my file'\\''s.pcap'");
        assert_eq!(shell("-x"), "./-x");
        assert_eq!(shell(""), "''");
    }

    #[test]
    fn names_survive_the_shell_and_steer_nothing() {
        for name in [
            "a.pcap",
            "-r",
            "it's.pcap",
            "a\nb'\\.pcap",
            "gepj.\u{202e}exe",
            "x\u{1b}[2J7",
            "$(id)`id`",
        ] {
            let word = shell(name);
            assert_eq!(crate::harmless::harmless(&word), word);
            let said = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {word}")])
                .output()
                .expect("bash");
            let said = String::from_utf8(said.stdout).expect("UTF-8");
            assert_eq!(said.strip_prefix("./").unwrap_or(&said), name);
        }
    }

    #[test]
    fn moments_carry_their_offset() {
        let zone = TimeZone::fixed(jiff::tz::offset(2));
        assert_eq!(
            moment(Time(1_700_000_000_000_123_456), &zone),
            "2023-11-15 00:13:20.000123 +02:00"
        );
        assert_eq!(
            moment(Time::MAX, &TimeZone::UTC),
            "2262-04-11 23:47:16.854775 +00:00"
        );
    }
}
