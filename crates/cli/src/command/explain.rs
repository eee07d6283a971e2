//! `slowside explain`: the manual pages of the findings.

use super::print;
use crate::args::{Explain, rule};
use crate::exit::Done;
use analysis::findings::Rule;
use anyhow::anyhow;

pub(crate) fn run(args: &Explain) -> anyhow::Result<Done> {
    match &args.code {
        Some(code) => {
            let rule = rule(code).map_err(|m| anyhow!(m))?;
            let (title, manual) = (rule.title(), rule.manual());
            let title = report::wrap(&format!("{rule}: "), 2, title);
            print(|out| write!(out, "{title}\n{}", report::reflowed(manual.trim())))?;
        }
        None => {
            let width = Rule::ALL.iter().map(|r| r.code().len()).max().unwrap_or(0);
            let lines = Rule::ALL.iter().map(|rule| {
                let head = format!("{rule:width$}  ");
                report::wrap(&head, width + 2, rule.title())
            });
            let list: String = lines.collect();
            print(|out| out.write_all(list.as_bytes()))?;
        }
    }
    Ok(Done::Fine)
}
