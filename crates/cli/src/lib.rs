//! The slowside command: arguments into calls of the engine, results to standard output. A library only so that
//! it can be run within another process ([`Line`]).

mod args;
mod command;
#[cfg(unix)]
mod exhausted;
mod exit;
mod line;
mod moment;
mod out;
mod page;
mod progress;
mod view;

#[cfg(unix)]
pub use exhausted::OrEnd;
pub use line::{Line, Said, memory_bytes, screens};

use args::{Arguments, Command};
use exit::Done;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

/// The whole program.
#[must_use]
pub fn main() -> ExitCode {
    survive_limits();
    ExitCode::from(match args::parse(std::env::args_os()) {
        Ok(arguments) => answer(&arguments),
        Err(shown) => exit::usage(&shown),
    })
}

/// Does what is asked, and gives the exit code.
fn answer(arguments: &Arguments) -> u8 {
    answer_by(run, arguments)
}

fn answer_by(run: fn(&Arguments) -> anyhow::Result<Done>, arguments: &Arguments) -> u8 {
    let done = report::on_page(page::page(arguments), || run(arguments));
    exit::code(done)
}

/// A limit on the size of files (`ulimit -f`) is an error of the write that meets it, with a message, not the end of the
/// process. All threads share one place for memory; where it ends beside the allocator, in the C library or as a thread
/// begins, they say so and abort: that ends with exit code 2, too.
fn survive_limits() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGABRT, SIGXFSZ};
        use signal_hook::flag::{register, register_conditional_shutdown};
        exhausted::share_memory_among_threads();
        let _ = register(SIGXFSZ, Arc::default());
        let _ = register_conditional_shutdown(SIGABRT, 2, Arc::new(true.into()));
        exhausted::end_where_a_thread_cannot_start();
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Done> {
    let Some(command) = &arguments.command else {
        return command::welcome::run();
    };
    match command {
        Command::Diagnose(_)
        | Command::Calls(_)
        | Command::Ops(_)
        | Command::Conns(_)
        | Command::Sql(_)
        | Command::Report(_) => ask(arguments),
        Command::Startup(args) => command::startup::run(args),
        Command::Info(args) => command::info::run(args),
        Command::Stat(args) => command::stat::run(args),
        Command::Live(args) => command::live::run(args),
        Command::Capture(args) => command::capture::run(args),
        Command::Cut(args) => command::cut::run(args),
        Command::Whatif(args) => command::whatif::run(args),
        Command::Compare(args) => command::compare::run(args),
        Command::Trace(args) => command::trace::run(args),
        Command::Probe(args) => command::probe::run(args),
        Command::Demo(args) => command::demo::run(args),
        Command::Explain(args) => command::explain::run(args),
        Command::Completions(args) => command::shell::completions(args),
        Command::Man(args) => command::shell::man(args),
    }
}

/// The questions that functions ask ([`Line::ask`]); apart from the rest, so that a program that asks no more of it is built
/// without the rest.
fn ask(arguments: &Arguments) -> anyhow::Result<Done> {
    match &arguments.command {
        Some(Command::Diagnose(args)) => command::diagnose::run(args),
        Some(Command::Calls(args)) => command::calls::run(args),
        Some(Command::Ops(args)) => command::ops::run(args),
        Some(Command::Conns(args)) => command::conns::run(args),
        Some(Command::Sql(args)) => command::sql::run(args),
        Some(Command::Report(args)) => command::report::run(args),
        _ => anyhow::bail!("only the program slowside does that"),
    }
}
