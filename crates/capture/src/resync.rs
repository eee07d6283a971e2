//! From a place that makes no sense to the next record that does. A record is believed again when
//! its header makes sense on its own and leads to further headers that do, close in time, or to the
//! exact end of the file.

use model::limits::PACKET_BYTES;

/// Bytes looked at beyond a place before it is judged: three of the longest records.
pub(crate) const LOOK_AHEAD: usize = 3 * (64 + PACKET_BYTES as usize);

/// Seconds between neighboring records beyond which a header is doubted.
pub(crate) const DAY: u32 = 86_400;

/// A record whose header makes sense on its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Believed {
    /// Bytes of the record, header included.
    pub(crate) length: usize,
    /// Its time, where the header has one.
    pub(crate) seconds: Option<u32>,
}

/// Where reading got lost, and why.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) kind: &'static str,
    pub(crate) what: String,
}

/// What a search found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    /// A believable record at this index.
    Record(usize),
    /// Nothing before this index; more bytes are needed to go on.
    More(usize),
    /// Nothing up to the end of the file.
    Nothing,
}

/// Searches `bytes` from `from` on for `links` records in a row, or fewer that lead exactly to the
/// end of the file (`last`) and are near the second `near`.
pub(crate) fn search(
    bytes: &[u8],
    from: usize,
    last: bool,
    links: usize,
    near: Option<u32>,
    believe: impl Fn(&[u8]) -> Option<Believed>,
) -> Found {
    let judged = if last {
        bytes.len()
    } else {
        bytes.len().saturating_sub(LOOK_AHEAD)
    };
    for candidate in from..judged {
        if chain(bytes, candidate, last, links, near, &believe) {
            return Found::Record(candidate);
        }
    }
    if last {
        Found::Nothing
    } else {
        Found::More(judged.max(from))
    }
}

fn chain(
    bytes: &[u8],
    candidate: usize,
    last: bool,
    links: usize,
    near: Option<u32>,
    believe: &impl Fn(&[u8]) -> Option<Believed>,
) -> bool {
    let mut at = candidate;
    let mut previous: Option<u32> = None;
    let mut first = None;
    for link in 0..links {
        let rest = bytes.get(at..).unwrap_or_default();
        if rest.is_empty() {
            return link > 0 && last && at == bytes.len() && close(near, first);
        }
        let Some(record) = believe(rest) else {
            return false;
        };
        if !close(previous, record.seconds) {
            return false;
        }
        previous = record.seconds;
        first = first.or(record.seconds);
        at = at.saturating_add(record.length);
    }
    at <= bytes.len()
}

fn close(a: Option<u32>, b: Option<u32>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => a.abs_diff(b) <= DAY,
        _ => true,
    }
}
