//! What the name of a file in a folder says of it where its content says nothing: whether somebody meant it to be a
//! capture. Formats are told by content, never by this.

/// What captures are called.
const CAPTURES: [&str; 5] = [".pcap", ".pcapng", ".cap", ".dmp", ".snoop"];

const PACKED: [&str; 3] = [".gz", ".zst", ".lz4"];

/// Whether it is called as captures are. What begins with a dot was not made by who named the others.
pub(crate) fn is_of_capture(file: &str) -> bool {
    let name = without_number(file);
    let hidden = name.rsplit('/').next().is_some_and(|n| n.starts_with('.'));
    !hidden && CAPTURES.iter().any(|end| name.ends_with(end))
}

/// What the members of a rotated set have in common: their name without numbers, times, and how they are packed.
pub(crate) fn without_number(file: &str) -> String {
    let packed = |file: &str| {
        PACKED
            .iter()
            .find_map(|end| Some(file.strip_suffix(end)?.len()))
    };
    let name = file
        .get(..packed(file).unwrap_or(file.len()))
        .unwrap_or(file);
    name.chars().filter(|c| !c.is_ascii_digit()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_of_a_set_are_known_by_their_names() {
        for (a, b) in [
            ("d/ring.pcap", "d/ring.pcap17"),
            ("d/r_00001_20240131235959", "d/r_00002_20240201000000.gz"),
        ] {
            assert_eq!(without_number(a), without_number(b));
        }
        assert_ne!(without_number("d/ring1"), without_number("d/notes1"));
        for (name, is) in [
            ("d/a.pcap3", true),
            ("d/a.pcapng.zst", true),
            ("d/notes.txt", false),
            ("d/._a.pcap", false),
            ("d.pcap/README", false),
        ] {
            assert_eq!(is_of_capture(name), is, "{name}");
        }
    }
}
