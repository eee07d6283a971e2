//! Globs: `*` stands for any characters, `?` for one; letters match in either case.

/// Whether `text` as a whole has the shape of `pattern`.
///
/// Only the last `*` is ever tried again, so that the work is at most the product of both lengths.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let pattern: &[u8] = pattern.as_bytes();
    let text = text.as_bytes();
    let (mut p, mut t) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(c) = text.get(t) {
        match pattern.get(p) {
            Some(b'*') => {
                retry = Some((p + 1, t));
                p += 1;
                continue;
            }
            Some(b'?') => {}
            Some(w) if w.eq_ignore_ascii_case(c) => {}
            _ => match retry {
                Some((after, start)) => {
                    retry = Some((after, start + 1));
                    (p, t) = (after, start + 1);
                    continue;
                }
                None => return false,
            },
        }
        p += 1;
        t += 1;
    }
    pattern.iter().skip(p).all(|&c| c == b'*')
}

#[cfg(test)]
mod tests {
    use super::matches;

    #[test]
    fn stars_and_question_marks_stand_for_characters() {
        for (pattern, text, expected) in [
            ("READ*", "readdirplus", true),
            ("READ", "READDIR", false),
            ("*dir*", "READDIRPLUS", true),
            ("R??D", "READ", true),
            ("R?D", "READ", false),
            ("*a*b*c", "xxaxxbxxbc", true),
            ("*a*b*c", "xxaxxbxxbcx", false),
            ("", "", true),
            ("*", "", true),
            ("?", "", false),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
