//! `slowside explain`: the manual pages of the findings.

use crate::args::{Explain, page};
use crate::exit::Done;
use analysis::findings::PAGES;
use anyhow::anyhow;
use std::io::{self, BufWriter, Write};

pub(crate) fn run(args: &Explain) -> anyhow::Result<Done> {
    let mut out = BufWriter::new(io::stdout().lock());
    match &args.code {
        Some(code) => {
            let page = page(code).map_err(|m| anyhow!(m))?;
            writeln!(out, "{}: {}\n", page.code, page.title)?;
            writeln!(out, "{}", page.manual.trim())?;
        }
        None => {
            let width = PAGES.iter().map(|p| p.code.len()).max().unwrap_or(0);
            for page in PAGES {
                let head = format!("{:width$}  ", page.code);
                out.write_all(report::wrap(&head, width + 2, page.title).as_bytes())?;
            }
        }
    }
    out.flush()?;
    Ok(Done::Fine)
}
