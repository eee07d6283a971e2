//! Whole files, as text, into what is understood of them.

mod awr;
mod blocks;
mod csv;
mod files;
mod fio;
mod ganesha;
mod histograms;
mod oracle;
mod random;
mod round_trips;
mod statements;
mod sums;

use crate::lines::Lines;
use crate::{Application, Error, Operation, OperationKind};
use std::io::Cursor;

fn read_named(files: &[(&str, &[u8])], limit: usize) -> Result<Application, Error> {
    let files = files
        .iter()
        .map(|(name, bytes)| Lines::new((*name).to_string(), Cursor::new(bytes.to_vec())))
        .collect::<Result<Vec<_>, _>>()?;
    crate::take(files, limit)
}

fn read(text: &str) -> Application {
    read_named(&[("log", text.as_bytes())], 1000).unwrap()
}

fn error(text: &str) -> String {
    read_named(&[("log", text.as_bytes())], 1000)
        .unwrap_err()
        .to_string()
}

/// Start and end of each operation.
fn times(application: &Application) -> Vec<(i64, i64)> {
    let operations = application.operations.iter();
    operations.map(|o| (o.start_ns, o.end_ns)).collect()
}

fn operation(start_ns: i64, end_ns: i64, kind: OperationKind, offset: u64, size: u64) -> Operation {
    Operation {
        start_ns,
        end_ns,
        absolute: true,
        kind,
        offset: Some(offset),
        size: Some(size),
        client: None,
        session: None,
    }
}
