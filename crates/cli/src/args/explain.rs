//! `explain`: which finding.

use analysis::filter::nearest;
use analysis::findings::Rule;
use clap::Args;

/// Explain a finding: what it says, why it costs time, what to check, when it is wrong
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside explain
  slowside explain server-concurrency-cap")]
pub(crate) struct Explain {
    /// Code of a finding; without one, all are listed
    #[arg(value_name = "CODE")]
    pub(crate) code: Option<String>,
}

/// A finding by its code; else a message with codes that resemble it.
pub(crate) fn rule(code: &str) -> Result<Rule, String> {
    Rule::of_code(code).ok_or_else(|| {
        let near = nearest(code, Rule::ALL.iter().map(|r| r.code()));
        if near.is_empty() {
            format!("no finding is called `{code}`; `slowside explain` lists all")
        } else {
            format!(
                "no finding is called `{code}`; did you mean `{}`?",
                near.join("`, `")
            )
        }
    })
}
