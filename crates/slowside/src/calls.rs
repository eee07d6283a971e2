//! Captures into a row for each call, with its ledger: they are judged first, and read again for the rows,
//! as what divides a call's time may come long after it.

use crate::config::{Captures, Config, Event};
use crate::diagnose::{Diagnosed, ReadOptions};
use crate::{Error, run};
use analysis::file_names::FileNames;
use analysis::ledgers::Judged;
use analysis::results::{CaptureResult, Vantage};
use model::Call;
use std::io;
use std::path::PathBuf;

/// A call, and what the judgement knows of it.
pub struct CallSeen<'a> {
    pub call: &'a Call,
    /// The names of its capture's files, by [`PacketRef::file`](model::PacketRef), and those of the server's
    /// capture where there are two.
    pub files: &'a [String],
    pub server_files: &'a [String],
    pub judged: Option<Judged>,
    /// What packets said of files' names until then.
    pub names: &'a FileNames,
}

/// Who takes the rows.
pub type CallSink<'a> = dyn FnMut(&CallSeen<'_>) -> io::Result<()> + 'a;

/// Reads one capture or those of both ends and hands every call to `sink`: in order of completion at the
/// client, then those that only the server's capture has. What can be read only once has to be
/// [kept](crate::spool()) before.
///
/// # Errors
/// When no input can be read, or `sink` fails.
pub fn calls(
    captures: &Captures,
    config: &Config,
    sink: &mut CallSink<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<CaptureResult>, Error> {
    let read = ReadOptions {
        rows: true,
        ..ReadOptions::new(None, config)
    };
    let Diagnosed {
        diagnosis,
        captures,
        judged,
        ..
    } = read.as_is_best(captures, events)?;
    let judged = judged.unwrap_or_default();
    match &captures {
        Captures::One(files) | Captures::Client(files) | Captures::Server(files) => {
            rows(
                files,
                &[],
                config,
                |row| (true, judged.get(0, row)),
                sink,
                events,
            )?;
        }
        Captures::Two(a, b)
        | Captures::Sides {
            client: a,
            server: b,
        } => {
            let first = diagnosis.captures.first();
            let (client, server) = match first.and_then(|c| c.side) {
                Some(Vantage::Server) => (b, a),
                _ => (a, b),
            };
            let names = diagnosis.captures.iter();
            let at_server = names.clone().find(|c| c.side == Some(Vantage::Server));
            let names = at_server.map_or(&[][..], |c| &c.files);
            rows(
                client,
                names,
                config,
                |row| (true, judged.get(0, row)),
                sink,
                events,
            )?;
            let alone = |row| (!judged.is_matched(row), judged.get(1, row));
            rows(server, &[], config, alone, sink, events)?;
        }
    }
    Ok(diagnosis.captures)
}

/// Reads a capture and hands on those of its calls that are wanted, by their number.
fn rows(
    inputs: &[PathBuf],
    server_files: &[String],
    config: &Config,
    judged: impl Fn(u64) -> (bool, Option<Judged>),
    sink: &mut CallSink<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<(), Error> {
    let mut number = 0;
    let mut take = |call: &Call, names: &FileNames, files: &[String]| {
        let (wanted, judged) = judged(number);
        number += 1;
        match wanted {
            true => sink(&CallSeen {
                call,
                files,
                server_files,
                judged,
                names,
            }),
            false => Ok(()),
        }
    };
    run::read_named(inputs, config, true, &mut take, events)?;
    Ok(())
}
