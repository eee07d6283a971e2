//! What titles above distributions say: which operations, and in which unit.

use super::Unit;
use crate::OperationKind;

/// Operations that neither read nor write: procedures of NFS, and functions of file systems.
const OTHERS: [&str; 17] = [
    "access",
    "close",
    "commit",
    "create",
    "fsync",
    "getattr",
    "link",
    "lookup",
    "mkdir",
    "open",
    "readdir",
    "readdirplus",
    "remove",
    "rename",
    "setattr",
    "statfs",
    "sync",
];

/// The kind that a title names, if it is one alone: of `nfsd_proc_read`, `op-read-done` and `flags = Sync-Read`
/// that is a read, of `read/write` it is open.
pub(super) fn kind(title: &str) -> OperationKind {
    let mut found = OperationKind::Unsaid;
    for word in words(title) {
        let kind = match word.as_str() {
            "read" | "reads" | "pread" | "readv" => OperationKind::Read,
            "write" | "writes" | "pwrite" | "writev" => OperationKind::Write,
            // As in Sync-Read, it says how.
            "sync" if found != OperationKind::Unsaid => found,
            w if OTHERS.contains(&w) => OperationKind::Other,
            _ => continue,
        };
        let how = found == OperationKind::Other && words(title).any(|w| w == "sync");
        if found != OperationKind::Unsaid && found != kind && !how {
            return OperationKind::Unsaid;
        }
        found = kind;
    }
    found
}

/// The unit that a title says, if any; in `every 5 seconds` and `slower than 10 ms` it is no title's.
pub(super) fn unit(title: &str) -> Option<Unit> {
    let words = title.split(|c: char| !c.is_alphanumeric());
    let mut after_number = false;
    words.filter(|w| !w.is_empty()).find_map(|word| {
        let is_number = word.bytes().all(|b| b.is_ascii_digit());
        let unit = unit_of(&word.to_lowercase()).filter(|_| !after_number);
        after_number = is_number;
        unit
    })
}

/// Whether it names anything; a time that a tool prints at intervals does not.
pub(super) fn is_title(line: &str) -> bool {
    line.chars().any(char::is_alphabetic)
}

pub(super) fn unit_of(word: &str) -> Option<Unit> {
    Some(match word {
        "ns" | "nsec" | "nsecs" | "nanosecond" | "nanoseconds" => Unit::Ns(1),
        "us" | "\u{b5}s" | "\u{3bc}s" | "usec" | "usecs" | "microsecond" | "microseconds" => {
            Unit::Ns(1_000)
        }
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => Unit::Ns(1_000_000),
        "sec" | "secs" | "second" | "seconds" => Unit::Ns(1_000_000_000),
        "byte" | "bytes" | "kb" | "kbytes" | "sectors" | "blocks" => Unit::Other,
        _ => return None,
    })
}

fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    let words = text.split(|c: char| !c.is_alphabetic());
    words.filter(|w| !w.is_empty()).map(str::to_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_names_the_operations_and_their_unit() {
        for (title, is) in [
            ("read", OperationKind::Read),
            ("operation = 'write'", OperationKind::Write),
            ("Function = nfsd_proc_read", OperationKind::Read),
            ("@usecs[nfs3_read]", OperationKind::Read),
            ("flags = Sync-Write", OperationKind::Write),
            ("operation = fsync", OperationKind::Other),
            (
                "NFSv3 read/write distributions (us):",
                OperationKind::Unsaid,
            ),
            ("@ns[10.0.0.1]", OperationKind::Unsaid),
            ("thread", OperationKind::Unsaid),
        ] {
            assert_eq!(kind(title), is, "{title}");
        }
        for (title, is) in [
            (
                "NFSv3 read/write distributions (us):",
                Some(Unit::Ns(1_000)),
            ),
            ("@read_ms", Some(Unit::Ns(1_000_000))),
            ("@nsecs[4711]", Some(Unit::Ns(1))),
            ("size in bytes", Some(Unit::Other)),
            ("the status of this", None),
            ("Tracing, output every 5 secs", None),
        ] {
            assert_eq!(unit(title), is, "{title}");
        }
    }
}
