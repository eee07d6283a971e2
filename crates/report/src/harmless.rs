//! Text that strangers wrote into text that only shows. Names, statements and files of others may hold
//! characters that clear a terminal, fill a clipboard, turn the direction of what follows or hide words from
//! its reader. Nothing that slowside writes for people or programs holds one of them: whatever is written
//! passes [`Harmless`], the seam behind all outputs.
//!
//! What acts is shown as a space, and in JSON, which has a way to say it, as `\u…`. Line ends and tabs pass
//! the seam, as outputs are made of them; where a value stands within a line or a cell, [`harmless`] takes
//! them out of it. Colors pass where they are ours ([`page`]).

use crate::page;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// Whether a character does something, or hides, where others are shown.
///
/// Beside control characters (Cc) and separators of lines (Zl, Zp) these are Unicode's
/// `Default_Ignorable_Code_Point`: what turns the direction of text, joins, selects, tags and fills. Its
/// ranges hold what is yet to be defined too, so they stay as they are. Annotations (U+FFF9) act alike.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
                | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
        )
}

/// A value that stands within a line, with spaces for what acts.
#[must_use]
pub fn harmless(text: &str) -> String {
    let shown = |c| if acts(c) { ' ' } else { c };
    text.chars().map(shown).collect()
}

/// A text in which bytes of ASCII that `need_no_look` stay, and `instead` writes what comes in the place of each other
/// character. Most of a page needs none, and a processor compares it by blocks.
pub(crate) fn rewritten(
    text: &str,
    need_no_look: impl Fn(u8) -> bool,
    mut instead: impl FnMut(&mut String, char),
) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let plain = run(rest.as_bytes(), |b| b.is_ascii() & need_no_look(b));
        let (shown, behind) = rest.split_at(plain);
        out.push_str(shown);
        let Some(c) = behind.chars().next() else {
            return out;
        };
        instead(&mut out, c);
        rest = behind.strip_prefix(c).unwrap_or_default();
    }
}

/// How many bytes from the first on are such. By blocks, which a processor compares in one go.
fn run(bytes: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    let all = |block: &&[u8; 64]| block.iter().fold(true, |all, &b| all & is_such(b));
    let blocks = bytes.as_chunks().0.iter().take_while(all).count();
    let rest = bytes.get(64 * blocks..).unwrap_or_default();
    64 * blocks + rest.iter().take_while(|&&b| is_such(b)).count()
}

/// Writes text, with a space for each character that acts, but line ends and tabs, and U+FFFD for what is
/// no UTF-8. Each write brings whole characters, as all do that come from `str`.
pub struct Harmless<W> {
    out: W,
    /// What is written in place of a piece that holds something that acts.
    clean: Vec<u8>,
}

impl<W: Write> Harmless<W> {
    pub fn new(out: W) -> Harmless<W> {
        let clean = Vec::new();
        Harmless { out, clean }
    }
}

impl<W: Write> Write for Harmless<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut rest = bytes;
        self.clean.clear();
        while let Some((at, length, instead)) = first_act(rest) {
            self.clean
                .extend_from_slice(rest.get(..at).unwrap_or_default());
            self.clean.extend_from_slice(instead.as_bytes());
            rest = rest.get(at + length..).unwrap_or_default();
        }
        if self.clean.is_empty() {
            self.out.write_all(rest)?;
        } else {
            self.clean.extend_from_slice(rest);
            self.out.write_all(&self.clean)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// What cannot stay as it is: where it stands, how many bytes it takes, and what is written in its place.
fn first_act(bytes: &[u8]) -> Option<(usize, usize, &'static str)> {
    let mut at = 0;
    loop {
        at += plain(bytes.get(at..)?);
        let rest = bytes.get(at..)?;
        let head = rest.get(..4).unwrap_or(rest);
        let chunk = head.utf8_chunks().next()?;
        let (length, instead) = match (chunk.valid().chars().next(), ours(rest)) {
            (None, _) => (chunk.invalid().len(), "\u{fffd}"),
            (Some(_), Some(length)) => (length, "\u{1b}["),
            (Some(c), None) if acts(c) => (c.len_utf8(), " "),
            (Some(c), None) => {
                at += c.len_utf8();
                continue;
            }
        };
        return Some((at, length, instead));
    }
}

/// How long the beginning of one of our styles is, where one begins.
fn ours(bytes: &[u8]) -> Option<usize> {
    let start = page::painted_with().filter(|start| bytes.starts_with(start.as_bytes()));
    start.map(str::len)
}

/// How many bytes from the first on need no look: printable ASCII, tabs, line ends. Rows of calls are gigabytes.
fn plain(bytes: &[u8]) -> usize {
    run(bytes, |b| {
        (b.wrapping_sub(b' ') <= b'~' - b' ') | (b.wrapping_sub(b'\t') <= 1)
    })
}

/// Writes JSON on one line, whose strings say what acts as `\u…`.
pub(crate) fn write_json<T: Serialize + ?Sized>(out: &mut dyn Write, value: &T) -> io::Result<()> {
    let mut json = serde_json::Serializer::with_formatter(out, Escaped);
    value.serialize(&mut json).map_err(io::Error::from)
}

struct Escaped;

impl Formatter for Escaped {
    fn write_string_fragment<W: Write + ?Sized>(
        &mut self,
        out: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut rest = fragment;
        while let Some((at, c)) = rest.char_indices().find(|(_, c)| acts(*c)) {
            let (before, behind) = rest.split_at(at);
            out.write_all(before.as_bytes())?;
            out.write_all(escape(c).as_bytes())?;
            rest = behind.strip_prefix(c).unwrap_or_default();
        }
        out.write_all(rest.as_bytes())
    }
}

/// A character as JSON says it in ASCII (RFC 8259 section 7).
pub(crate) fn escape(c: char) -> String {
    let units = c.encode_utf16(&mut [0; 2]).to_vec();
    units.iter().map(|unit| format!("\\u{unit:04x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{Page, Tone, on_page};

    fn through(text: &[u8]) -> String {
        let mut out = Harmless::new(Vec::new());
        out.write_all(text).expect("memory");
        String::from_utf8(out.out).expect("UTF-8")
    }

    #[test]
    fn what_acts_is_a_space_wherever_it_stands_in_a_block() {
        assert_eq!(through(b"a\x1b]52;c;aGk=\x07b\r\x7f"), "a ]52;c;aGk= b  ");
        assert_eq!(
            through("line\n\ttab é → 表\n".as_bytes()),
            "line\n\ttab é → 表\n"
        );
        for before in 0..200 {
            for c in ['\u{1b}', '\u{9b}', '\u{202e}', '\u{e0041}'] {
                let text = format!("{}{c}é{c}z", "x".repeat(before));
                let shown = format!("{} é z", "x".repeat(before));
                assert_eq!(through(text.as_bytes()), shown);
            }
        }
        assert_eq!(through(b"a\x9b2Jb\xe2\x80"), "a\u{fffd}2Jb\u{fffd}");
    }

    #[test]
    fn of_all_characters_only_those_pass_that_are_shown() {
        let named = "\u{0}\u{7f}\u{85}\u{9b}\u{ad}\u{200b}\u{200d}\u{200e}\u{2028}\u{2029}\u{202e}\
                     \u{2066}\u{2069}\u{feff}\u{fe0f}\u{e0001}\u{e007f}\u{e0100}";
        assert!(named.chars().all(acts), "{named:?}");
        for c in (char::MIN..=char::MAX).filter(|c| !matches!(c, '\n' | '\t')) {
            let passed = through(c.encode_utf8(&mut [0; 4]).as_bytes());
            assert_eq!(passed == c.to_string(), !acts(c), "{c:?}");
            // Rust shows what others print as it is; it prints letters that are blank, and escapes accents.
            let blank = matches!(c, '\u{115f}'..='\u{1160}' | '\u{3164}' | '\u{ffa0}');
            assert!(!acts(c) || blank || c.escape_debug().len() > 1, "{c:?}");
        }
    }

    #[test]
    fn colors_are_ours_alone() {
        let page = Page {
            color: true,
            ..Page::PLAIN
        };
        let painted = on_page(page, || Tone::Accused.paint("a\u{1b}[31mb"));
        assert_eq!(through(painted.as_bytes()), "\u{1b}[1;31ma [31mb\u{1b}[0m");
    }

    #[test]
    fn json_says_what_acts_and_loses_nothing() {
        let text = "a\"\u{1b}\n\u{7f}\u{9b}\u{202e}\u{e0041}é";
        let mut out = Vec::new();
        write_json(&mut out, text).expect("memory");
        let said = String::from_utf8(out).expect("UTF-8");
        assert_eq!(said, r#""a\"\u001b\n\u007f\u009b\u202e\udb40\udc41é""#);
        assert_eq!(serde_json::from_str::<String>(&said).expect("JSON"), text);
    }
}
