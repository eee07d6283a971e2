//! `slowside completions` and `slowside man`: what shells and `man` want to know, made of the
//! definition of the command line, so that it is never behind it.

use super::print;
use crate::args::{Arguments, Completions, Man};
use crate::exit::Done;
use anyhow::{Context, anyhow};
use clap::CommandFactory;
use clap_mangen::Man as Page;
use replace::{Kind, Replacement};
use std::fs;
use std::io::Write;

const NAME: &str = "slowside";

/// Nobody else's page has such a name.
const PAGE: Kind = Kind {
    name: "manual page",
    option: "--dir",
    is: |_| true,
};

pub(crate) fn completions(args: &Completions) -> anyhow::Result<Done> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Arguments::command(), NAME, &mut script);
    print(|out| out.write_all(&script))?;
    Ok(Done::Fine)
}

pub(crate) fn man(args: &Man) -> anyhow::Result<Done> {
    if let Some(dir) = &args.dir {
        fs::create_dir_all(dir).with_context(|| format!("cannot make {}", dir.display()))?;
        let mut files = Vec::new();
        for (name, page) in pages()? {
            let file = Replacement::create(&dir.join(format!("{name}.1")), &PAGE)?;
            file.writer()?.write_all(&page)?;
            files.push(file);
        }
        // None before all are whole: they belong together.
        files.into_iter().try_for_each(Replacement::commit)?;
        return Ok(Done::Fine);
    }
    let wanted = args
        .command
        .as_ref()
        .map_or(NAME.to_owned(), |command| format!("{NAME}-{command}"));
    let pages = pages()?;
    let page = pages.iter().find(|(name, _)| *name == wanted);
    let (_, page) = page.ok_or_else(|| {
        let command = args.command.as_deref().unwrap_or_default();
        anyhow!("no command is called `{command}`; slowside --help lists them")
    })?;
    print(|out| out.write_all(page))?;
    Ok(Done::Fine)
}

/// Each page's name and its text in roff.
fn pages() -> anyhow::Result<Vec<(String, Vec<u8>)>> {
    let mut root = Arguments::command();
    // Makes subcommands know the options that all have.
    root.build();
    let mut pages = vec![(NAME.to_owned(), page(&root)?)];
    for command in root.get_subcommands().filter(|c| c.get_name() != "help") {
        let name = format!("{NAME}-{}", command.get_name());
        let page = page(&command.clone().display_name(name.clone()))?;
        pages.push((name, page));
    }
    Ok(pages)
}

fn page(command: &clap::Command) -> anyhow::Result<Vec<u8>> {
    let (mut page, mut extra) = (Vec::new(), Vec::new());
    let name = command.get_display_name().unwrap_or(NAME);
    let man = Page::new(command.clone())
        .title(name)
        .date("")
        .source(concat!("slowside ", env!("CARGO_PKG_VERSION")))
        .manual("slowside");
    let mut sections = || {
        man.render_title(&mut page)?;
        man.render_name_section(&mut page)?;
        man.render_synopsis_section(&mut page)?;
        man.render_description_section(&mut page)?;
        man.render_options_section(&mut page)?;
        if command.get_subcommands().any(|c| !c.is_hide_set()) {
            man.render_subcommands_section(&mut page)?;
        }
        man.render_extra_section(&mut extra)
    };
    sections().context("cannot make a manual page")?;
    // What stands behind the options are the examples; lines that begin with spaces stay lines.
    let extra = String::from_utf8_lossy(&extra);
    let examples = extra.replacen(".SH EXTRA\nExamples:\n", ".SH EXAMPLES\n", 1);
    let examples = examples.split("\nExit codes:").next().unwrap_or_default();
    page.extend_from_slice(examples.trim_end().as_bytes());
    page.extend_from_slice(EXIT_STATUS.as_bytes());
    Ok(ascii(&String::from_utf8_lossy(&page)).into_bytes())
}

/// Letters that not every `troff` reads as they are, by their names (groff_char(7)).
fn ascii(page: &str) -> String {
    let mut out = String::with_capacity(page.len());
    for c in page.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.push_str(&format!("\\[u{:04X}]", u32::from(c)));
        }
    }
    out
}

const EXIT_STATUS: &str = "
.SH EXIT STATUS
.TP
0
Done. So it is when whoever reads the output closes it early.
.TP
1
Done, and there is a finding at or above \\fB\\-\\-fail\\-on\\fR.
.TP
2
It could not be done: one line on standard error says why, and the cure.
.TP
3
Done, but some input was damaged: what and how much is in the output.
";
