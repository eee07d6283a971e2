//! The pages that slowside writes itself: `UPDATE_EXPECT=1 cargo test -p cli --test all docs` writes them anew.

use crate::command::COMMANDS;
use crate::kit::said;
use expect_test::expect_file;

/// The codes of all findings, and their titles.
fn findings() -> Vec<(String, String)> {
    let list = said(["explain"]);
    let mut all: Vec<(String, String)> = Vec::new();
    for line in list.lines() {
        let (code, title) = line.split_once("  ").unwrap_or((line, ""));
        match (code.is_empty(), all.last_mut()) {
            // A title that goes on.
            (true, Some((_, begun))) => *begun += &format!(" {}", title.trim()),
            _ => all.push((code.to_owned(), title.trim().to_owned())),
        }
    }
    all
}

#[test]
fn the_page_of_findings_is_what_explain_says() {
    let findings = findings();
    assert!(findings.len() > 30, "{findings:?}");
    let mut page = String::from(
        "# Findings\n\nThis page is what `slowside explain` says. Titles, costs, sides and words are explained in the \
         [glossary](glossary.md).\n\n| code | |\n|---|---|\n",
    );
    for (code, title) in &findings {
        page += &format!("| [{code}](#{code}) | {title} |\n");
    }
    for (code, title) in &findings {
        let manual = said(["explain", code]);
        let (_, manual) = manual.split_once("\n\n").expect("a title and sections");
        // Sections of a section.
        let manual = format!("\n{manual}").replace("\n# ", "\n### ");
        page += &format!("\n## {code}\n\n**{title}**\n{manual}");
    }
    expect_file!["../../../../../docs/findings.md"].assert_eq(&page);
}

#[test]
fn the_page_of_options_is_what_help_says() {
    let mut page = String::from(
        "# All options\n\nThis page is what `slowside COMMAND --help` says; [Commands](commands.md) says what each is for.\n",
    );
    for command in COMMANDS {
        let help = said([command, "--help"]);
        let lines = help.lines().map(|line| format!("{}\n", line.trim_end()));
        let help: String = lines.collect();
        page += &format!("\n## slowside {command}\n\n```text\n{help}```\n");
    }
    expect_file!["../../../../../docs/options.md"].assert_eq(&page);
}
