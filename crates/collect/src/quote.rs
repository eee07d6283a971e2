//! Words into a line of a POSIX shell, the one place where that is done.
//!
//! A word stands between apostrophes, within which nothing means anything but the apostrophe itself. Lines with newlines
//! in them are for `sh` alone: what a login shell may be (csh) does not take them.

/// A word as a shell reads it back. What cannot be in an argument at all ends it there: a NUL.
pub(crate) fn quoted(word: &[u8]) -> Vec<u8> {
    let word = word.split(|b| *b == 0).next().unwrap_or_default();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-+=./:,@%".contains(b);
    if !word.is_empty() && word.iter().all(plain) {
        return word.to_vec();
    }
    let mut out = vec![b'\''];
    for byte in word {
        match byte {
            b'\'' => out.extend(br"'\''"),
            other => out.push(*other),
        }
    }
    out.push(b'\'');
    out
}

/// The same of text.
#[must_use]
pub(crate) fn word(text: &str) -> String {
    String::from_utf8_lossy(&quoted(text.as_bytes())).into_owned()
}

/// Words as one line.
pub fn line<S: AsRef<str>>(words: impl IntoIterator<Item = S>) -> String {
    let words: Vec<String> = words.into_iter().map(|w| word(w.as_ref())).collect();
    words.join(" ")
}

/// A script with these variables set before it.
pub(crate) fn script(variables: &[(&str, &str)], body: &str) -> String {
    let set = variables
        .iter()
        .map(|(name, value)| format!("{name}={}\n", word(value)));
    set.chain([body.to_owned()]).collect()
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;
    use std::process::Command;

    fn through_a_shell(words: &[Vec<u8>]) -> Vec<u8> {
        let mut line = b"printf '%s\\0'".to_vec();
        for word in words {
            line.push(b' ');
            line.extend(quoted(word));
        }
        let output = Command::new("sh")
            .arg("-c")
            .arg(OsString::from_vec(line))
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(200))]
        #[test]
        fn any_bytes_survive_a_shell(words in prop::collection::vec(prop::collection::vec(1_u8.., 0..40), 1..5)) {
            let expected: Vec<u8> = words.iter().flat_map(|w| w.iter().copied().chain([0])).collect();
            prop_assert_eq!(through_a_shell(&words), expected);
        }
    }

    #[test]
    fn what_shells_act_on_survives_too() {
        let words = [
            "", "'", "''", "a b", "$(id)", "`id`", "\\", "!!", "*", "~", "#", "\n", "-n", "a=b;c",
            "é",
        ];
        let words: Vec<Vec<u8>> = words.iter().map(|w| w.as_bytes().to_vec()).collect();
        let expected: Vec<u8> = words
            .iter()
            .flat_map(|w| w.iter().copied().chain([0]))
            .collect();
        assert_eq!(through_a_shell(&words), expected);
    }

    #[test]
    fn plain_words_stay_as_they_are_and_variables_hold_any() {
        assert_eq!(
            line(["host", "10.0.0.5", "port 2049"]),
            "host 10.0.0.5 'port 2049'"
        );
        assert_eq!(
            script(&[("a", "it's"), ("b", "")], "echo"),
            "a='it'\\''s'\nb=''\necho"
        );
    }
}
