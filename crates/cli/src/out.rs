//! Standard output and standard error, which are opened here and nowhere else (`clippy.toml` refuses it): so
//! every command's words pass the [seam](Harmless), and a new one cannot forget it.

use report::Harmless;
use std::cell::RefCell;
use std::io::{self, BufWriter, IsTerminal, Stderr, Stdout, Write};
use terminal_size::{Width, terminal_size_of};

/// Rows of calls are many.
const BUFFER: usize = 1 << 16;

thread_local! {
    /// What this thread wrote to both, while that is caught.
    static CAUGHT: RefCell<Option<Caught>> = const { RefCell::new(None) };
}

/// What was written to standard output and standard error.
#[derive(Default)]
pub(crate) struct Caught {
    pub(crate) out: Vec<u8>,
    pub(crate) err: Vec<u8>,
}

/// Does something of which nothing reaches the process's own output, if this thread writes it.
pub(crate) fn catch<R>(f: impl FnOnce() -> R) -> (R, Caught) {
    CAUGHT.with_borrow_mut(|caught| *caught = Some(Caught::default()));
    let result = f();
    let caught = CAUGHT.with_borrow_mut(Option::take);
    (result, caught.unwrap_or_default())
}

/// Whether this is not a process of its own.
pub(crate) fn is_caught() -> bool {
    CAUGHT.with_borrow(Option::is_some)
}

/// One of the two while it is caught.
struct Catch(fn(&mut Caught) -> &mut Vec<u8>);

impl Write for Catch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        CAUGHT.with_borrow_mut(|caught| caught.as_mut().map(|c| self.0(c).extend(bytes)));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn stdout() -> Box<dyn Write> {
    match is_caught() {
        true => Box::new(Catch(|caught| &mut caught.out)),
        false => Box::new(terminal().lock()),
    }
}

/// For text in every format.
pub(crate) fn text() -> BufWriter<Harmless<Box<dyn Write>>> {
    BufWriter::with_capacity(BUFFER, Harmless::new(stdout()))
}

/// For packets, which are no text.
pub(crate) fn packets() -> BufWriter<Box<dyn Write>> {
    BufWriter::with_capacity(BUFFER, stdout())
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
    let out: Box<dyn Write> = match is_caught() {
        true => Box::new(Catch(|caught| &mut caught.err)),
        false => Box::new(stderr().lock()),
    };
    let _ = Harmless::new(out).write_all(line.as_bytes());
}

/// Whether somebody looks at standard output.
pub(crate) fn is_terminal() -> bool {
    !is_caught() && terminal().is_terminal()
}

/// Whether somebody looks at standard error.
pub(crate) fn complaints_are_seen() -> bool {
    !is_caught() && stderr().is_terminal()
}

/// Columns of the terminal, where there is one.
pub(crate) fn columns() -> Option<usize> {
    let size = terminal_size_of(terminal()).filter(|_| !is_caught());
    size.map(|(Width(columns), _)| usize::from(columns))
        .filter(|&columns| columns > 0)
}

#[expect(clippy::disallowed_methods, reason = "this is the one place")]
fn stderr() -> Stderr {
    io::stderr()
}
