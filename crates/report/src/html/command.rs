//! Command lines to copy: exact whatever files are called, and harmless to look at.

use crate::text::{harmless, shell};
use std::fmt::Write;

/// A word as a shell reads it back. Names with control characters or such that turn the direction of
/// text are written as `$'…'`, which bash, zsh and ksh understand.
pub(super) fn word(word: &str) -> String {
    if harmless(word) == word {
        return shell(word);
    }
    let word = match word.starts_with('-') {
        true => format!("./{word}"),
        false => word.to_owned(),
    };
    let mut out = String::from("$'");
    for c in word.chars() {
        match c {
            '\'' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            c if harmless(c.encode_utf8(&mut [0; 4])) == " " && c != ' ' => {
                let mut bytes = [0; 4];
                for byte in c.encode_utf8(&mut bytes).bytes() {
                    // Octal has a fixed length: a digit that follows is not taken for part of it.
                    let _ = write!(out, "\\{byte:03o}");
                }
            }
            c => out.push(c),
        }
    }
    out.push('\'');
    out
}

/// Cuts the packets out that a filter shows.
pub(super) fn tshark(file: &str, filter: &str) -> String {
    format!(
        "tshark -r {} -Y {} -w evidence.pcapng",
        word(file),
        word(filter)
    )
}

/// Cuts packets out by number; `None` where there are none.
pub(super) fn editcap(file: &str, frames: &[u32]) -> Option<String> {
    if frames.is_empty() {
        return None;
    }
    let frames: Vec<String> = frames.iter().map(u32::to_string).collect();
    Some(format!(
        "editcap -r {} evidence.pcapng {}",
        word(file),
        frames.join(" ")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let word = word(name);
            assert_eq!(harmless(&word), word);
            let said = std::process::Command::new("bash")
                .args(["-c", &format!("printf %s {word}")])
                .output()
                .expect("bash");
            let said = String::from_utf8(said.stdout).expect("UTF-8");
            assert_eq!(said.strip_prefix("./").unwrap_or(&said), name);
        }
    }
}
