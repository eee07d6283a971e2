//! `sql`: statements, by what.

use super::reading::{Inputs, Reading};
use super::value::{Output, Sorted, TableFormat};
use analysis::sql::SqlKey;
use clap::Args;

/// Profile the statements of databases: time, round trips, rows per fetch, and whose time it was
///
/// Oracle SQL*Net, PostgreSQL and MySQL are read off the wire. Statements are shown without their
/// literals, and no value, row or password is shown. With captures of both ends the server's part is
/// measured, with one it is estimated.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside sql client.pcap --session 3 --follow
  slowside sql --client c.pcap --server s.pcap --by user,statement --format csv")]
pub(crate) struct Sql {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the profile
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub(crate) format: TableFormat,

    #[command(flatten)]
    pub(crate) output: Output,

    #[command(flatten)]
    pub(crate) sorted: Sorted,

    /// What to group by: statement, client, program, user, service, connection
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sql_key, default_value = "statement")]
    pub(crate) by: Vec<SqlKey>,

    /// Show statements as they were sent, with the values in them
    #[arg(long)]
    pub(crate) show_literals: bool,

    /// Take one session alone, by its number in the list of sessions
    #[arg(long, value_name = "N", value_parser = session)]
    pub(crate) session: Option<usize>,

    /// Show the calls of that session in the order of time: statements, rows, waits, frames
    ///
    /// Values of bind variables and rows are never read.
    #[arg(long, requires = "session")]
    pub(crate) follow: bool,

    /// List the packets of that session, of SQL*Net: time, direction, type, size, gap, statement
    ///
    /// With the distribution of their sizes, and frames. A trace has the same: slowside trace --packets.
    #[arg(long, requires = "session", conflicts_with = "follow")]
    pub(crate) packets: bool,

    /// List all statements and sessions, not only those that took most (text)
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

fn session(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|&n| n > 0);
    number.ok_or_else(|| "sessions are counted from 1".into())
}

fn sql_key(text: &str) -> Result<SqlKey, String> {
    Ok(match text.trim() {
        "statement" => SqlKey::Statement,
        "client" => SqlKey::Client,
        "program" => SqlKey::Program,
        "user" => SqlKey::User,
        "service" | "database" => SqlKey::Service,
        "connection" => SqlKey::Connection,
        _ => {
            return Err(
                "the keys are statement, client, program, user, service, connection".into(),
            );
        }
    })
}
