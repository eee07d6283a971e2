//! `sql`: statements, by what.

use super::reading::{Inputs, Reading};
use super::value::GroupFormat;
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
  slowside sql client.pcap
  slowside sql --client c.pcap --server s.pcap --by user,statement --format csv")]
pub(crate) struct Sql {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// How to write the profile
    #[arg(long, value_enum, default_value_t = GroupFormat::Text)]
    pub(crate) format: GroupFormat,

    /// What to group by: statement, client, program, user, service, connection
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = sql_key, default_value = "statement")]
    pub(crate) by: Vec<SqlKey>,

    /// Show statements as they were sent, with the values in them
    #[arg(long)]
    pub(crate) show_literals: bool,

    /// List all statements and sessions, not only those that took most (text)
    #[arg(long)]
    pub(crate) all: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
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
