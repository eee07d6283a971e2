//! The slowside command: arguments into calls of the engine, results to standard output.

mod args;
mod command;
#[cfg(unix)]
mod exhausted;
mod exit;
mod moment;
mod out;
mod page;
mod progress;
mod view;

use args::{Arguments, Command};
use exit::Done;
use std::process::ExitCode;
#[cfg(unix)]
use std::sync::Arc;

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: exhausted::OrEnd = exhausted::OrEnd;

fn main() -> ExitCode {
    survive_limits();
    let result = match args::parse(std::env::args_os()) {
        Ok(arguments) => report::on_page(page::page(&arguments), || run(&arguments)),
        Err(shown) => return exit::usage(&shown),
    };
    exit::code(result)
}

/// A limit on the size of files (`ulimit -f`) is an error of the write that meets it, with a message, not the end of the
/// process. Where memory ends beside the allocator, in the C library or as a thread begins, they say so and abort: that
/// ends with exit code 2, too.
fn survive_limits() {
    #[cfg(unix)]
    {
        use signal_hook::consts::{SIGABRT, SIGXFSZ};
        use signal_hook::flag::{register, register_conditional_shutdown};
        let _ = register(SIGXFSZ, Arc::default());
        let _ = register_conditional_shutdown(SIGABRT, 2, Arc::new(true.into()));
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<Done> {
    match &arguments.command {
        Command::Diagnose(args) => command::diagnose::run(args),
        Command::Calls(args) => command::calls::run(args),
        Command::Ops(args) => command::ops::run(args),
        Command::Conns(args) => command::conns::run(args),
        Command::Sql(args) => command::sql::run(args),
        Command::Startup(args) => command::startup::run(args),
        Command::Info(args) => command::info::run(args),
        Command::Stat(args) => command::stat::run(args),
        Command::Live(args) => command::live::run(args),
        Command::Cut(args) => command::cut::run(args),
        Command::Whatif(args) => command::whatif::run(args),
        Command::Compare(args) => command::compare::run(args),
        Command::Report(args) => command::report::run(args),
        Command::Trace(args) => command::trace::run(args),
        Command::Probe(args) => command::probe::run(args),
        Command::Explain(args) => command::explain::run(args),
        Command::Completions(args) => command::shell::completions(args),
        Command::Man(args) => command::shell::man(args),
    }
}
