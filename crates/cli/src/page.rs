//! The page that text for people is laid out on, from the terminal and the environment.

use crate::args::{Arguments, Color};
use crate::out;
use report::Page;

/// The page on standard output: as wide as the terminal, 80 columns where there is none.
pub(crate) fn page(arguments: &Arguments) -> Page {
    Page {
        width: out::columns().unwrap_or(Page::PLAIN.width),
        raw_cells: arguments.raw_cells,
        color: match arguments.color {
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
    let terminal = out::is_terminal() && anstyle_query::term_supports_color();
    anstyle_query::clicolor_force() || terminal && anstyle_query::clicolor() != Some(false)
}
