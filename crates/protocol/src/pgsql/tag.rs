//! What a command did, from the tag of its CommandComplete: `SELECT 5`, `INSERT 0 3`, `COMMIT`.

/// What a command did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Tag {
    /// It returned so many rows (SELECT, FETCH), or put them into a table (CREATE TABLE AS).
    Returned(u64),
    /// It inserted, changed, deleted or merged so many rows.
    Affected(u64),
    /// It copied so many rows.
    Copied(u64),
    /// It has no number, or is none that counts rows.
    Other,
}

/// Reads a tag.
pub(super) fn parse(tag: &[u8]) -> Tag {
    let mut words = tag.split(|&b| b == b' ');
    let verb = words.next().unwrap_or_default();
    let Some(number) = words.next_back().and_then(number) else {
        return Tag::Other;
    };
    match verb {
        b"SELECT" | b"FETCH" => Tag::Returned(number),
        b"INSERT" | b"UPDATE" | b"DELETE" | b"MERGE" => Tag::Affected(number),
        b"COPY" => Tag::Copied(number),
        _ => Tag::Other,
    }
}

/// A decimal number.
pub(super) fn number(digits: &[u8]) -> Option<u64> {
    if digits.is_empty() {
        return None;
    }
    digits.iter().try_fold(0u64, |n, &b| {
        let digit = b.is_ascii_digit().then(|| u64::from(b - b'0'))?;
        n.checked_mul(10)?.checked_add(digit)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_count_rows() {
        assert_eq!(parse(b"SELECT 5"), Tag::Returned(5));
        assert_eq!(parse(b"FETCH 100"), Tag::Returned(100));
        assert_eq!(parse(b"INSERT 0 3"), Tag::Affected(3));
        assert_eq!(parse(b"UPDATE 0"), Tag::Affected(0));
        assert_eq!(parse(b"COPY 1000"), Tag::Copied(1000));
        assert_eq!(parse(b"MOVE 7"), Tag::Other);
        assert_eq!(parse(b"CREATE TABLE"), Tag::Other);
        assert_eq!(parse(b"SELECT"), Tag::Other);
        assert_eq!(parse(b"SELECT 99999999999999999999"), Tag::Other);
    }
}
