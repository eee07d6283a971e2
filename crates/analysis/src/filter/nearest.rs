//! "Did you mean": names that resemble a word.

/// Names that are one slip of the typist away from `word`, contain it, or start alike; nearest
/// first, three at most.
#[must_use]
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    // No name is anywhere near as long; distance takes the product of the lengths.
    if word.len() > 64 {
        return Vec::new();
    }
    let word = word.to_ascii_lowercase();
    let allowed = 1 + word.len() / 4;
    let mut found: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            let d = distance(word.as_bytes(), name.to_ascii_lowercase().as_bytes());
            let part = word.len() >= 3 && (name.contains(&word) || word.contains(name));
            (d <= allowed || part).then_some((d, name))
        })
        .collect();
    found.sort();
    found.into_iter().map(|(_, name)| name).take(3).collect()
}

/// Levenshtein's: characters inserted, removed or replaced.
fn distance(a: &[u8], b: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = i;
        let mut left = i + 1;
        for (y, cell) in b.iter().zip(row.iter_mut().skip(1)) {
            let here = (diagonal + usize::from(x != y))
                .min(left + 1)
                .min(*cell + 1);
            diagonal = *cell;
            *cell = here;
            left = here;
        }
        if let Some(first) = row.first_mut() {
            *first = i + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_and_parts_are_near() {
        assert_eq!(distance(b"kitten", b"sitting"), 3);
        assert_eq!(distance(b"", b"abc"), 3);
        let names = ["server-slow", "server-stall", "small-window", "nagle"];
        assert_eq!(nearest("nagel", names), ["nagle"]);
        assert_eq!(nearest("server", names), ["server-slow", "server-stall"]);
        assert_eq!(nearest("zebra", names), [""; 0]);
    }
}
