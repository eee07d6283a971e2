//! Things of a page into what they are called in its address: a finding by its code, a connection by its ends, a
//! call by its frame. The same thing has the same name whenever the page is made, whatever stands before it, so that
//! a link that somebody kept still leads there.

use super::ladders;
use super::places::Places;
use crate::value;
use analysis::charts::Ladder;
use analysis::findings::Rule;
use analysis::results::ConnectionResult;
use analysis::sql::StatementResult;
use model::Endpoint;
use std::collections::HashMap;

/// Letters of a name that stand in an address; what is longer is told apart by its hash.
const LETTERS: usize = 60;

/// A code stands for one finding at most.
pub(super) fn finding(rule: Rule) -> String {
    format!("finding-{rule}")
}

pub(super) fn operation(protocol: &str, name: &str) -> String {
    format!("operation-{protocol}-{}", word(name))
}

/// By the hash that `slowside sql` knows it by.
pub(super) fn statement(s: &StatementResult) -> String {
    match (&s.statement, &s.op) {
        (Some(statement), _) => format!("statement-{}-{:016x}", s.protocol, statement.id),
        (None, Some(op)) => format!("statement-{}-none-{}", s.protocol, word(op)),
        (None, None) => format!("statement-{}-further", s.protocol),
    }
}

pub(super) fn file(handle: u64) -> String {
    format!("file-{}", word(&value::file(handle)))
}

pub(super) fn capture(label: &str) -> String {
    format!("capture-{}", word(label))
}

/// By where its request begins and by its protocol's identifier, as a frame may hold several; of several files, with
/// the one whose frame it is.
pub(super) fn call(l: &Ladder, places: &Places<'_>) -> String {
    let id = ladders::id(l);
    let Some(seen) = l.seen.first() else {
        return format!("call-{id}");
    };
    let packet = seen.request_first.packet;
    match places.several_files(seen.capture) {
        true => {
            let file = places.file(seen.capture, packet.file.into());
            let file = file.rsplit('/').next().unwrap_or(file);
            format!("call-{}-{}-{id}", word(file), packet.frame)
        }
        false => format!("call-{}-{id}", packet.frame),
    }
}

/// The connections of a page by number.
pub(super) struct Connections(HashMap<u64, String>);

impl Connections {
    /// Whoever uses the ports of an earlier one again is told from it by a number.
    pub(super) fn new(all: impl Iterator<Item = ConnectionResult>) -> Connections {
        let mut ends: Vec<(u64, Endpoint, Endpoint)> =
            all.map(|c| (c.number, c.client, c.server)).collect();
        ends.sort_unstable_by_key(|(number, ..)| *number);
        ends.dedup();
        let mut used: HashMap<(Endpoint, Endpoint), usize> = HashMap::new();
        let named = ends.into_iter().map(|(number, client, server)| {
            let times = used.entry((client, server)).or_default();
            *times += 1;
            let again = match times {
                1 => String::new(),
                times => format!("-{times}"),
            };
            (number, format!("connection-{client}-{server}{again}"))
        });
        Connections(named.collect())
    }

    pub(super) fn of(&self, number: u64) -> &str {
        self.0.get(&number).map_or("connections", String::as_str)
    }
}

/// Text as one word of an address. What cannot stand there, or has no room, is told apart by a hash.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
    if !text.is_empty() && text.len() <= LETTERS && text.chars().all(plain) {
        return text.to_owned();
    }
    let kept = text.chars().take(LETTERS);
    let kept: String = kept.map(|c| if plain(c) { c } else { '-' }).collect();
    format!("{}-{:08x}", kept.trim_matches('-'), hash(text))
}

/// FNV-1a: the same in every version of slowside and of its compiler.
fn hash(text: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    text.bytes().fold(0x811c_9dc5, step)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_fit_an_address_stand_there_as_they_are() {
        assert_eq!(operation("nfs3", "READ"), "operation-nfs3-READ");
        assert_eq!(capture("client.pcap0"), "capture-client.pcap0");
    }

    #[test]
    fn names_that_do_not_are_one_word_and_stay_apart() {
        let names = ["a b", "a-b", "a\"b", "", "\u{202e}", "<a b>"];
        let mut words: Vec<String> = names.iter().map(|n| word(n)).collect();
        let long = "x".repeat(LETTERS);
        words.extend([long.clone(), long.clone() + "y", long + "z"].map(|n| word(&n)));
        for w in &words {
            let is_plain =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | ':' | '-');
            assert!(!w.is_empty() && w.chars().all(is_plain), "{w}");
        }
        let count = words.len();
        words.sort();
        words.dedup();
        assert_eq!(words.len(), count, "{words:?}");
        assert_eq!(word("a b"), "a-b-10a3f9f2".to_owned(), "the same for ever");
    }
}
