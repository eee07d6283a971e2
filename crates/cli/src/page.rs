//! The page that text for people is laid out on, from the terminal and the environment.

use crate::args::Color;
use report::Page;
use std::io::{IsTerminal, stdout};
use terminal_size::{Width, terminal_size_of};

/// The page on standard output: as wide as the terminal, 80 columns where there is none.
pub(crate) fn page(color: Color) -> Page {
    let width = terminal_size_of(stdout()).map(|(Width(columns), _)| usize::from(columns));
    Page {
        width: width
            .filter(|&columns| columns > 0)
            .unwrap_or(Page::PLAIN.width),
        color: match color {
            Color::Always => true,
            Color::Never => false,
            Color::Auto => wanted(),
        },
    }
}

/// What the environment says (no-color.org, bixense.com/clicolors): `NO_COLOR` before
/// `CLICOLOR_FORCE`, and without either, terminals that know colors have them.
fn wanted() -> bool {
    if anstyle_query::no_color() {
        return false;
    }
    let terminal = stdout().is_terminal() && anstyle_query::term_supports_color();
    anstyle_query::clicolor_force() || terminal && anstyle_query::clicolor() != Some(false)
}
