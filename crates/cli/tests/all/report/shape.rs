//! What every page is: one file, without a network, the same for any number of threads, and made so that
//! it can be read without its charts.

use super::page::{Page, between};
use super::{lab, report, said};
use std::collections::BTreeSet;
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn a_page_asks_nothing_of_a_network() {
    for (name, captures) in lab().into_iter().take(6) {
        asks_nothing(&report(&captures), &name);
    }
}

pub(crate) fn asks_nothing(page: &Page, name: &str) {
    for attribute in [
        " src=\"",
        " href=\"",
        " action=\"",
        " xlink:href=\"",
        " srcset=\"",
    ] {
        for value in page.words.split(attribute).skip(1) {
            let value = value.split('"').next().unwrap_or_default();
            assert!(
                value.starts_with('#') || value == "data:,",
                "{name}: {value}"
            );
        }
    }
    let style = between(&page.text, "<style>", "</style>").expect("a style");
    assert!(!style.contains("@import"), "{name}");
    for url in style.split("url(").skip(1) {
        let url = url.trim_start_matches(['"', '\'']);
        assert!(
            url.starts_with("data:") || url.starts_with('#'),
            "{name}: {url}"
        );
    }
    assert!(page.text.len() < 3_000_000, "{name}: {}", page.text.len());
}

#[test]
fn the_policy_allows_the_page_s_own_script_and_style_only() {
    let (_, captures) = lab().into_iter().next().expect("a case");
    has_its_policy(&report(&captures));
}

pub(crate) fn has_its_policy(page: &Page) {
    let policy = between(
        &page.text,
        "http-equiv=\"Content-Security-Policy\" content=\"",
        "\"",
    );
    let policy = policy.expect("a policy");
    assert!(policy.starts_with("default-src 'none'; "), "{policy}");
    assert!(
        !policy.contains("unsafe") && !policy.contains("http"),
        "{policy}"
    );
    let style = between(&page.text, "<style>", "</style>").expect("a style");
    let (before, _) = page.text.rsplit_once("</script>").expect("a script");
    let (_, script) = before.rsplit_once("<script>").expect("a script");
    for (directive, text) in [("style-src", style), ("script-src", script)] {
        let said = between(policy, &format!("{directive} 'sha256-"), "'").expect("a hash");
        assert_eq!(hexadecimal(said), sha256(text), "{directive}");
    }
}

/// The digest as coreutils has it.
fn sha256(text: &str) -> String {
    let mut child = Command::new("sha256sum")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("coreutils");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(text.as_bytes()).expect("a reader");
    drop(stdin);
    let output = child.wait_with_output().expect("an end");
    String::from_utf8_lossy(&output.stdout)
        .chars()
        .take(64)
        .collect()
}

/// Base64 (RFC 4648) of 32 bytes.
fn hexadecimal(base64: &str) -> String {
    const DIGITS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digits = base64.trim_end_matches('=').chars();
    let bits: String = digits
        .map(|c| format!("{:06b}", DIGITS.find(c).expect("a digit")))
        .collect();
    let nibbles = bits.as_bytes().chunks(4).take(64);
    let nibble =
        |n: &[u8]| u8::from_str_radix(std::str::from_utf8(n).expect("bits"), 2).expect("bits");
    nibbles.map(|n| format!("{:x}", nibble(n))).collect()
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for name in ["server-cap", "packet-loss"] {
        let (_, captures) = lab().into_iter().find(|(n, _)| n == name).expect("a case");
        let with = |threads| said(&["report", "-o", "-", "--threads", threads], &captures);
        let one = with("1");
        for threads in ["2", "5"] {
            assert!(
                with(threads) == one,
                "{name} differs with {threads} threads"
            );
        }
    }
}

/// What a page's address can name, but for what is of the page itself.
fn names(page: &Page) -> BTreeSet<String> {
    let ids = page.words.split(" id=\"").skip(1);
    let ids = ids.map(|id| id.split('"').next().unwrap_or_default().to_owned());
    ids.filter(|id| !id.ends_with("-title")).collect()
}

#[test]
fn what_a_link_names_is_the_same_thing_in_a_page_that_shows_other_things_too() {
    let (_, captures) = lab()
        .into_iter()
        .find(|(n, _)| n == "packet-loss")
        .expect("a case");
    let all = names(&report(&captures));
    for name in ["finding-network-loss", "operation-nfs3-READ", "captures"] {
        assert!(all.contains(name), "{name} is not in {all:?}");
    }
    for kind in ["connection-10.", "call-", "capture-", "file-"] {
        assert!(all.iter().any(|id| id.starts_with(kind)), "{kind}: {all:?}");
    }
    // A connection that is not shown in full is a row.
    let fewer = Page::new(said(
        &["report", "-o", "-", "--connections", "1"],
        &captures,
    ));
    assert_eq!(names(&fewer), all);
    // Nor does it matter which capture was given first.
    let swapped: Vec<_> = captures.iter().rev().cloned().collect();
    let swapped = names(&report(&swapped));
    assert_eq!(swapped, all);
}

#[test]
fn the_contents_are_questions_that_the_sections_answer_in_their_order() {
    for (name, captures) in lab().into_iter().take(8) {
        let page = report(&captures);
        let contents =
            between(&page.words, "<nav class=\"questions\"", "</nav>").expect("contents");
        let entries = contents.split(" href=\"#").skip(1);
        let entries: Vec<&str> = entries.filter_map(|e| e.split('"').next()).collect();
        let sections = page.words.split("<section id=\"").skip(1);
        let sections: Vec<&str> = sections.filter_map(|s| s.split('"').next()).collect();
        assert_eq!(sections.first(), Some(&"verdict"), "{name}");
        assert_eq!(entries, sections[1..], "{name}");
        assert_eq!(contents.matches("?</a>").count(), entries.len(), "{name}");
    }
}

#[test]
fn a_page_is_in_order_for_those_who_do_not_see_it() {
    for (name, captures) in lab().into_iter().take(8) {
        is_in_order(&report(&captures), &name);
    }
}

pub(crate) fn is_in_order(page: &Page, name: &str) {
    assert!(page.text.contains("<html lang=\"en\">"));
    let mut level = 0;
    for heading in page.words.split("<h").skip(1) {
        let Some(next) = heading.chars().next().and_then(|c| c.to_digit(10)) else {
            continue;
        };
        if !heading.starts_with(|c: char| c.is_ascii_digit())
            || heading.chars().nth(1).is_some_and(char::is_alphanumeric)
        {
            continue;
        }
        assert!(next <= level + 1, "{name}: h{next} follows h{level}");
        level = next;
    }
    let mut ids = BTreeSet::new();
    for id in page.words.split(" id=\"").skip(1) {
        let id = id.split('"').next().unwrap_or_default();
        assert!(ids.insert(id), "{name}: {id} is there twice");
    }
    for target in page.words.split(" href=\"#").skip(1) {
        let target = target.split('"').next().unwrap_or_default();
        assert!(ids.contains(target), "{name}: nothing is called {target}");
    }
    for label in page.words.split(" aria-labelledby=\"").skip(1) {
        let label = label.split('"').next().unwrap_or_default();
        assert!(ids.contains(label), "{name}: nothing is called {label}");
    }
    for figure in page.words.split("<figure").skip(1) {
        let figure = figure.split("</figure>").next().unwrap_or_default();
        assert!(figure.contains("<figcaption>"), "{name}: {figure}");
    }
    for table in page.words.split("<table").skip(1) {
        let table = table.split("</table>").next().unwrap_or_default();
        assert!(table.contains("<caption"), "{name}: {table}");
    }
}
