//! The slowside command: its library runs it. What happens where memory ends is the process's, so it is said here.

#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: cli::OrEnd = cli::OrEnd;

fn main() -> std::process::ExitCode {
    cli::main()
}
