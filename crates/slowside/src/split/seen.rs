//! Rows of calls before they are written, as bytes: whoever judged a whole capture hands them on to those who write them.
//!
//! ```text
//! SEEN, then once or several times
//! length:4  the rest of it, packed
//! ```

use super::not_ours;
use crate::calls::{CallSeen, CallSink, calls};
use crate::config::{Captures, Config};
use crate::{Error, Event};
use analysis::findings::Owners;
use analysis::ledgers::Judged;
use analysis::results::{CaptureResult, Why};
use analysis::tiers::Beneath;
use model::{Call, Sql};
use pack::{pack, unpack};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

/// How a file of them begins.
pub const SEEN: &[u8; 16] = b"slowside seen 1\n";

/// Calls that are handed on at once.
const CALLS: usize = 8_192;

/// Some of them.
#[derive(Serialize, Deserialize, Default)]
pub struct Part {
    files: Vec<String>,
    /// Of calls of the client's capture of two.
    server_files: Vec<String>,
    owners: Owners,
    sqls: Vec<Arc<Sql>>,
    calls: Vec<One>,
}

/// A call as [`CallSeen`] has it.
#[derive(Serialize, Deserialize)]
struct One {
    call: Call,
    /// Its place among the statements, from 1; 0 for none.
    sql: u32,
    judged: Option<Judged>,
    connection: Option<u64>,
    unpaired: Option<Why>,
    beneath: Option<Beneath>,
    path: Option<String>,
    order: u64,
}

impl Part {
    fn add(&mut self, seen: &CallSeen<'_>, places: &mut HashMap<*const Sql, u32>) {
        if self.calls.is_empty() {
            self.files = seen.files.to_vec();
            self.server_files = seen.server_files.to_vec();
            self.owners = seen.owners.clone();
        }
        let mut call = seen.call.clone();
        let sql = call.sql.take().map_or(0, |sql| {
            *places.entry(Arc::as_ptr(&sql)).or_insert_with(|| {
                // It is kept, so that no other comes to be where it is.
                self.sqls.push(sql);
                self.sqls.len() as u32
            })
        });
        self.calls.push(One {
            call,
            sql,
            judged: seen.judged.clone(),
            connection: seen.connection,
            unpaired: seen.unpaired,
            beneath: seen.beneath,
            path: seen.path.map(str::to_owned),
            order: seen.order,
        });
    }

    /// Whether it has room for another call, which is of the same capture.
    fn takes(&self, seen: &CallSeen<'_>) -> bool {
        let are_of_two = !self.server_files.is_empty();
        let is_same = are_of_two != seen.server_files.is_empty();
        self.calls.is_empty() || is_same && self.calls.len() < CALLS
    }

    /// As they stand in a file, behind [`SEEN`].
    #[must_use]
    pub fn write(&self) -> Vec<u8> {
        let mut bytes = vec![0; 4];
        // It fails for what has no bytes, such as maps, and there is none.
        let _ = pack(self, &mut bytes);
        let length = bytes.len() as u32 - 4;
        bytes.splice(..4, length.to_le_bytes());
        bytes
    }
}

/// The calls of what shards [told](super::TOLD) of a capture or of both ends, a file each: thousands at a time, which [`calls`]
/// hands on as they are.
///
/// # Errors
/// When it cannot be read, or `sink` fails.
pub fn judge(
    told: &Captures,
    config: &Config,
    sink: &mut dyn FnMut(Part) -> io::Result<()>,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<CaptureResult>, Error> {
    let config = &Config {
        handed_on: true,
        ..config.clone()
    };
    let (mut part, mut places) = (Part::default(), HashMap::new());
    let mut take = |seen: &CallSeen<'_>| {
        if !part.takes(seen) {
            places.clear();
            sink(std::mem::take(&mut part))?;
        }
        part.add(seen, &mut places);
        Ok(())
    };
    let known = calls(told, config, &mut take, events)?;
    if !part.calls.is_empty() {
        sink(part)?;
    }
    Ok(known)
}

/// A file of them.
pub(crate) struct Seen(BufReader<File>);

impl Seen {
    /// Opens it, if it is one.
    pub(crate) fn open(inputs: &[PathBuf]) -> Option<Seen> {
        let [path] = inputs else {
            return None;
        };
        let mut file = BufReader::new(File::open(path).ok().filter(|_| path.is_file())?);
        let mut head = [0; SEEN.len()];
        file.read_exact(&mut head).ok()?;
        (head == *SEEN).then_some(Seen(file))
    }

    /// Whoever judged has told what is to be known of the capture.
    pub(crate) fn hand_on(mut self, sink: &mut CallSink<'_>) -> Result<Vec<CaptureResult>, Error> {
        let mut length = [0; 4];
        while self.0.read_exact(&mut length).is_ok() {
            let mut bytes = Vec::new();
            let mut rest = self.0.by_ref().take(u32::from_le_bytes(length).into());
            rest.read_to_end(&mut bytes)?;
            let part: Part = unpack(&bytes).ok_or_else(not_ours)?;
            for mut one in part.calls {
                let sql = (one.sql as usize).checked_sub(1);
                one.call.sql = sql.and_then(|sql| part.sqls.get(sql).cloned());
                sink(&CallSeen {
                    call: &one.call,
                    files: &part.files,
                    server_files: &part.server_files,
                    judged: one.judged,
                    connection: one.connection,
                    unpaired: one.unpaired,
                    hops: Vec::new(),
                    beneath: one.beneath,
                    pressures: Vec::new(),
                    owners: &part.owners,
                    path: one.path.as_deref(),
                    order: one.order,
                })?;
            }
        }
        Ok(Vec::new())
    }
}
