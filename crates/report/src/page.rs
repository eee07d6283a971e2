//! The page that text for people is laid out on: how wide it is, and what its words mean in colors.
//!
//! Text is made of many small pieces, and each that wraps a line, fits a table or paints a word needs
//! the page. So it stands beside them, set by [`on_page`] for what is written inside, and is not handed
//! through all of them. It belongs to the thread. Elsewhere it is 80 columns without colors, so that
//! what goes into a file or a pipe is always the same.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::sync::OnceLock;
use unicode_width::UnicodeWidthStr;

/// Where text is going to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Page {
    /// Columns; no table is wider, unless a single word is.
    pub width: usize,
    /// Whether it shows ANSI colors.
    pub color: bool,
    /// Whether cells of CSV are as they are, also where a spreadsheet would calculate them.
    pub raw_cells: bool,
}

impl Page {
    /// A file, or a pipe.
    pub const PLAIN: Page = Page {
        width: 80,
        color: false,
        raw_cells: false,
    };
    /// Narrower than this nothing can be laid out.
    const NARROWEST: usize = 40;
    /// Longer lines of prose are hard to read.
    const PROSE: usize = 100;
}

thread_local! {
    static PAGE: Cell<Page> = const { Cell::new(Page::PLAIN) };
}

/// Lays out what `write` writes on this page.
pub fn on_page<T>(page: Page, write: impl FnOnce() -> T) -> T {
    /// Puts the page before back, also when writing panics.
    struct Back(Page);
    impl Drop for Back {
        fn drop(&mut self) {
            PAGE.set(self.0);
        }
    }
    let _back = Back(PAGE.replace(page));
    write()
}

/// Whether text for people has colors now.
#[must_use]
pub fn has_colors() -> bool {
    PAGE.get().color
}

/// Whether programs read the cells of CSV, not a spreadsheet.
pub(crate) fn has_raw_cells() -> bool {
    PAGE.get().raw_cells
}

/// What our styles begin with: `ESC [`, and a number that nobody else knows, which the
/// [seam](mod@crate::harmless) takes out. So no text from outside has a color, or does worse.
fn style_start() -> &'static str {
    STYLE_START.get_or_init(|| format!("\u{1b}[{};", RandomState::new().hash_one(0)))
}

static STYLE_START: OnceLock<String> = OnceLock::new();

/// The same where anything was painted; there is no such number where nothing was, and nothing to try.
pub(crate) fn painted_with() -> Option<&'static str> {
    STYLE_START.get().map(String::as_str)
}

/// Columns for tables.
pub(crate) fn width() -> usize {
    PAGE.get().width.max(Page::NARROWEST)
}

/// Columns for sentences and bars.
pub(crate) fn prose() -> usize {
    width().min(Page::PROSE)
}

/// What words mean, for those pages that have colors. Nothing is said by a color alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Tone {
    /// The side that is slow, and its part of the time.
    Accused,
    /// What costs most or ends the work, and damage.
    Severe,
    /// What is worth a look.
    Notable,
    /// Nothing is wrong.
    Fine,
    /// The title of a section.
    Title,
    /// What only some readers need: headings of columns, commands to copy, provenance.
    Faint,
}

impl Tone {
    /// ECMA-48 section 8.3.117.
    fn style(self) -> &'static str {
        match self {
            Tone::Accused => "1;31",
            Tone::Severe => "31",
            Tone::Notable => "33",
            Tone::Fine => "32",
            Tone::Title => "1",
            Tone::Faint => "2",
        }
    }

    /// The text in its color, or as it is on a page without.
    pub(crate) fn paint(self, text: &str) -> String {
        if text.is_empty() || !PAGE.get().color {
            return text.to_owned();
        }
        let (start, style) = (style_start(), self.style());
        format!("{start}{style}m{text}{start}0m")
    }

    /// Every line by itself, so that none ends in a color.
    pub(crate) fn paint_lines(self, text: &str) -> String {
        text.split_inclusive('\n')
            .map(|line| match line.strip_suffix('\n') {
                Some(line) => self.paint(line) + "\n",
                None => self.paint(line),
            })
            .collect()
    }
}

/// Columns of a terminal that a text takes.
#[must_use]
pub fn columns(text: &str) -> usize {
    // A style is `ESC [ … m`.
    let mut parts = text.split("\u{1b}[");
    let first = parts.next().map_or(0, UnicodeWidthStr::width);
    let rest = parts.map(|part| part.split_once('m').map_or(part, |(_, text)| text).width());
    first + rest.sum::<usize>()
}

/// The text and spaces up to this column.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(spaces))
}

/// The same in front of it.
#[must_use]
pub fn pad_left(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(columns(text));
    format!("{}{text}", " ".repeat(spaces))
}

/// A text without its middle, if it is longer than this.
#[must_use]
pub fn shortened(text: &str, room: usize) -> String {
    let letters: Vec<char> = text.chars().collect();
    if letters.len() <= room {
        return text.to_owned();
    }
    let kept = room.saturating_sub(1);
    let head = letters.iter().take(kept / 2);
    let tail = letters.iter().skip(letters.len() - (kept - kept / 2));
    head.chain(&['…']).chain(tail).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;

    #[test]
    fn words_have_colors_only_on_a_page_that_has() {
        assert_eq!(Tone::Accused.paint("SERVER"), "SERVER");
        let page = Page {
            width: 60,
            color: true,
            ..Page::PLAIN
        };
        let (painted, wide) = on_page(page, || (Tone::Accused.paint("SERVER"), width()));
        assert_eq!((columns(&painted), wide), (6, 60));
        assert_eq!(width(), 80);
    }

    /// The pages of all samples.
    fn pages() -> Vec<String> {
        use crate::{
            OpsStyle, SqlStyle, conn_text, conns_text, diagnosis_text, ops_text, sql_text,
        };
        use jiff::tz::TimeZone;
        let style = OpsStyle {
            zone: TimeZone::UTC,
            histogram: true,
        };
        let sql = SqlStyle {
            all: false,
            literals: false,
        };
        let conns = samples::conns();
        let first = conns.connections.get(0).expect("samples");
        let mut pages = [const { Vec::new() }; 5];
        let [a, b, c, d, e] = &mut pages;
        diagnosis_text(&samples::diagnosis(), &TimeZone::UTC, a).expect("memory");
        ops_text(&samples::ops(), &style, b).expect("memory");
        conns_text(&conns, true, c).expect("memory");
        conn_text(&conns, &first, &TimeZone::UTC, d).expect("memory");
        sql_text(&samples::profile(), sql, e).expect("memory");
        let text = |page: Vec<u8>| String::from_utf8(page).expect("UTF-8");
        pages.map(text).to_vec()
    }

    #[test]
    fn no_line_is_wider_than_the_page() {
        // Commands and filters are copied: they stay in one piece.
        let whole = ["tshark", "frame.number", "slowside explain"];
        let mut wrong = Vec::new();
        for width in [40, 50, 60, 72, 80, 100, 132, 200] {
            for color in [false, true] {
                let page = Page {
                    width,
                    color,
                    ..Page::PLAIN
                };
                for page in on_page(page, pages) {
                    let lines = page
                        .lines()
                        .filter(|l| !whole.iter().any(|w| l.contains(w)));
                    for line in lines.filter(|l| columns(l) > width) {
                        let words = line.split_whitespace().count();
                        wrong.extend((words > 1).then(|| format!("{width}: {line}")));
                    }
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn wide_pages_have_wide_tables() {
        let on = |width| {
            let page = Page {
                width,
                ..Page::PLAIN
            };
            on_page(page, pages)
        };
        let widest = |pages: Vec<String>| {
            let lines = pages
                .iter()
                .flat_map(|p| p.lines())
                .filter(|l| !l.contains("tshark"));
            lines.map(columns).max()
        };
        assert!(widest(on(140)) > widest(on(80)));
    }

    #[test]
    fn columns_are_those_of_a_terminal() {
        assert_eq!(columns("→ µs █ …"), 8);
        assert_eq!(columns("表"), 2);
        assert_eq!(pad_left("x", 3), "  x");
        assert_eq!(shortened("0123456789", 5), "01…89");
    }
}
