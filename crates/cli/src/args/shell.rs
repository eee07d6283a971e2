//! `completions` and `man`: what shells and manuals are given.

use clap::Args;
use std::path::PathBuf;

/// Write what a shell needs to complete commands, options and their values
#[derive(Args, Debug)]
#[command(hide = true)]
#[command(after_long_help = "\
Examples:
  slowside completions bash > /etc/bash_completion.d/slowside
  slowside completions zsh > ~/.zfunc/_slowside")]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

/// Write the manual pages, made of what --help says
#[derive(Args, Debug)]
#[command(hide = true)]
#[command(after_long_help = "\
Examples:
  slowside man diagnose | man -l -
  slowside man --dir /usr/local/share/man/man1")]
pub(crate) struct Man {
    /// The command whose page is written to standard output; without one, the page of slowside
    #[arg(value_name = "COMMAND", conflicts_with = "dir")]
    pub(crate) command: Option<String>,

    /// Write the pages of all commands as files into this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
}
