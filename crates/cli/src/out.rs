//! Standard output and standard error, which are opened here and nowhere else (`clippy.toml` refuses it): so
//! every command's words pass the [seam](Harmless), and a new one cannot forget it.

use report::Harmless;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, StdoutLock, Write};
use terminal_size::{Width, terminal_size_of};

/// Rows of calls are many.
const BUFFER: usize = 1 << 16;

/// For text in every format.
pub(crate) fn text() -> BufWriter<Harmless<StdoutLock<'static>>> {
    BufWriter::with_capacity(BUFFER, Harmless::new(terminal().lock()))
}

/// For packets, which are no text.
pub(crate) fn packets() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(BUFFER, terminal().lock())
}

/// For the view, whose screen lets only what shows into its cells.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub(crate) fn terminal() -> Stdout {
    io::stdout()
}

/// One line on standard error. There is nobody to tell when that fails.
pub(crate) fn complain(message: &str) {
    let words: Vec<&str> = message.split_whitespace().collect();
    let line = format!("slowside: {}\n", words.join(" "));
    let _ = Harmless::new(stderr().lock()).write_all(line.as_bytes());
}

/// Whether somebody looks at standard output.
pub(crate) fn is_terminal() -> bool {
    terminal().is_terminal()
}

/// Whether somebody looks at standard error.
pub(crate) fn complaints_are_seen() -> bool {
    stderr().is_terminal()
}

/// Columns of the terminal, where there is one.
pub(crate) fn columns() -> Option<usize> {
    terminal_size_of(terminal())
        .map(|(Width(columns), _)| usize::from(columns))
        .filter(|&columns| columns > 0)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn stderr() -> Stderr {
    io::stderr()
}
