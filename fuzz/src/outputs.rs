//! What commands wrote, held against what is promised of it: nothing in it acts on a terminal, in a cell, or on a page,
//! it is well-formed, and there is not too much of it.
//!
//! All of it is told here anew, and asks nothing of the code that is to see to it.

use serde_json::Value;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// Also Markdown.
    Text,
    Csv,
    Json,
    JsonLines,
    Page,
}

/// Bytes that may be written for each that was read, and beside those: headings, the sentences of a diagnosis, the page's
/// own script and style, the rows of the first silence that `stat` writes in full.
const TIMES: usize = 100;
const BESIDE: usize = 8 << 20;

pub(crate) fn bounded(written: usize, read: usize, line: &str) {
    assert!(
        written <= TIMES * read + BESIDE,
        "{line}: {written} bytes of {read}"
    );
}

pub(crate) fn check(bytes: &[u8], kind: Kind) {
    let text = std::str::from_utf8(bytes).unwrap_or_else(|e| panic!("no UTF-8: {e}"));
    // Most lines of a page are plain, and an instrumented look at each character takes longer than the command.
    for line in text.split('\n').filter(|line| is_odd(line)) {
        if let Some(c) = line.chars().find(|&c| acts(c)) {
            panic!("{kind:?}: {c:?} in {line:?}");
        }
    }
    match kind {
        Kind::Text => {}
        Kind::Csv => cells(text),
        Kind::Json => drop(json(text)),
        Kind::JsonLines => text.lines().for_each(|line| drop(json(line))),
        Kind::Page => page(text),
    }
}

/// Whether there is more than printable ASCII. Without a branch for each byte, as each is traced.
fn is_odd(line: &str) -> bool {
    let odd = |b: u8| b & 0x80 | (b.wrapping_sub(b' ') & 0x80) | (b.wrapping_add(1) & 0x80);
    line.bytes().fold(0, |all, b| all | odd(b)) != 0
}

/// What no output holds, whatever a stranger wrote.
fn acts(c: char) -> bool {
    let hidden = matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{feff}' | '\u{e0000}'..='\u{e007f}');
    c.is_control() && !matches!(c, '\n' | '\t') || hidden
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"))
}

/// RFC 4180: rows are as long as their heading, and no cell is a formula.
fn cells(text: &str) {
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut row, mut cell) = (Vec::new(), String::new());
    let mut quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if quoted && chars.peek() == Some(&'"') => cell.extend(chars.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(std::mem::take(&mut cell)),
            '\n' if !quoted => {
                row.push(std::mem::take(&mut cell));
                rows.push(std::mem::take(&mut row));
            }
            c => cell.push(c),
        }
    }
    assert!(
        !quoted && row.is_empty() && cell.is_empty(),
        "ends within a row: {text}"
    );
    let Some(heading) = rows.first() else { return };
    for row in &rows {
        assert_eq!(row.len(), heading.len(), "{row:?} below {heading:?}");
        for cell in row {
            let number = cell
                .trim_start_matches(['-', '+'])
                .starts_with(|c: char| c.is_ascii_digit() || c == '.');
            let formula = cell.starts_with(['=', '+', '-', '@']) && cell.len() > 1 && !number;
            assert!(!formula, "{cell:?} in {row:?}");
        }
    }
}

/// Tags are ours: one script, one style, and no attribute that runs or loads something.
fn page(text: &str) {
    let (mut scripts, mut at) = (0, 0);
    while let Some(open) = text[at..].find('<') {
        let rest = &text[at + open..];
        let close = rest
            .find('>')
            .unwrap_or_else(|| panic!("a tag without an end: {rest}"));
        let tag = &rest[..close];
        at += open + close + 1;
        let words = tag.split(|c: char| c.is_ascii_whitespace());
        for word in words {
            let lower = word.to_ascii_lowercase();
            let handler = lower.starts_with("on") && lower.contains('=');
            assert!(
                !handler && !lower.contains("javascript:") && !lower.starts_with("src="),
                "{tag}"
            );
        }
        for whole in ["script", "style"] {
            if tag[1..].starts_with(whole) {
                scripts += usize::from(whole == "script");
                let end = format!("</{whole}>");
                let behind = text[at..]
                    .find(&end)
                    .unwrap_or_else(|| panic!("{whole} without an end"));
                at += behind + end.len();
            }
        }
    }
    assert!(
        text.starts_with("<!DOCTYPE html>") && scripts <= 2,
        "{scripts} scripts"
    );
}
