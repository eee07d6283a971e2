//! What shards told of a batch, as bytes, into the records of a [stream](crate::stream).
//!
//! ```text
//! length:4  number:8  weight:8  length:4  calls and what they need, packed  all else, packed
//! ```
//!
//! Rows of calls are made in a second reading, which needs no more than calls.

use super::piece::{End, Problem};
use super::{not_ours, shard};
use crate::Error;
use crate::link::{Number, Records};
use model::{
    Arp, Call, ConnectionSummary, Episode, FileName, Gap, Knock, Notice, Outstanding, Sql, Time,
};
use pack::{pack, unpack};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::sync::Arc;

/// Number and weight of what is told, and the length of its first part.
pub(super) const FIXED: usize = 20;

/// Calls, and what is said of all.
#[derive(Serialize, Deserialize, Default)]
pub(super) struct Told {
    /// When the capture's first packet came.
    pub first: Option<Time>,
    /// The capture's files, told once, before all else.
    pub files: Vec<String>,
    pub reached: Option<Time>,
    pub calls: Vec<Call>,
    /// What calls of databases share: by its number from 1, 0 for none.
    pub sql: Vec<u32>,
    pub sqls: Vec<Arc<Sql>>,
    pub file_names: Vec<FileName>,
    /// Behind the last batch.
    pub ends: Vec<End>,
    pub problems: Vec<Problem>,
    /// Packets of no connection, which one share has.
    pub not_ip: u64,
    pub not_tcp_or_udp: u64,
}

/// What a diagnosis needs beside them.
#[derive(Serialize, Deserialize)]
struct Beside {
    outstanding: Vec<Outstanding>,
    episodes: Vec<Episode>,
    connections: Vec<(u64, ConnectionSummary)>,
    gaps: Vec<Gap>,
    knocks: Vec<Knock>,
    arps: Vec<Arp>,
    notices: Vec<Notice>,
}

impl Told {
    /// With these records, of connections that take up so many bytes.
    pub(super) fn write(mut self, records: &mut Records, weight: u64) -> (u64, Vec<u8>) {
        let mut numbers: HashMap<*const Sql, u32> = HashMap::new();
        for call in &mut records.calls {
            let number = call.sql.take().map_or(0, |sql| {
                let next = self.sqls.len() as u32 + 1;
                *numbers.entry(Arc::as_ptr(&sql)).or_insert_with(|| {
                    self.sqls.push(sql);
                    next
                })
            });
            self.sql.push(number);
        }
        let told = Told {
            reached: records.reached,
            calls: std::mem::take(&mut records.calls),
            file_names: std::mem::take(&mut records.file_names),
            ..self
        };
        let beside = Beside {
            outstanding: std::mem::take(&mut records.outstanding),
            episodes: std::mem::take(&mut records.episodes),
            connections: std::mem::take(&mut records.connections),
            gaps: std::mem::take(&mut records.gaps),
            knocks: std::mem::take(&mut records.knocks),
            arps: std::mem::take(&mut records.arps),
            notices: std::mem::take(&mut records.notices),
        };
        let number = shard::number(records);
        let mut packed = Vec::new();
        // It fails for what has no bytes, such as maps, and there is none.
        let _ = pack(&told, &mut packed);
        let first = packed.len() as u32;
        let _ = pack(&beside, &mut packed);
        let mut bytes = Vec::with_capacity(4 + FIXED + packed.len());
        bytes.extend_from_slice(&((FIXED + packed.len()) as u32).to_le_bytes());
        bytes.extend_from_slice(&number.to_le_bytes());
        bytes.extend_from_slice(&weight.to_le_bytes());
        bytes.extend_from_slice(&first.to_le_bytes());
        bytes.append(&mut packed);
        (number, bytes)
    }

    pub(super) fn read(bytes: &[u8], everything: bool) -> Result<(Told, Records), Error> {
        let read = || {
            let (fixed, rest) = bytes.split_first_chunk::<FIXED>()?;
            let length = u32::from_le_bytes(*fixed.last_chunk()?);
            let (told, beside) = rest.split_at_checked(usize::try_from(length).ok()?)?;
            let mut told: Told = unpack(told)?;
            let mut records = Records {
                number: Some(match u64::from_le_bytes(*fixed.first_chunk()?) {
                    u64::MAX => Number::Last,
                    number => Number::Batch(number),
                }),
                reached: told.reached,
                calls: std::mem::take(&mut told.calls),
                file_names: std::mem::take(&mut told.file_names),
                ..Records::default()
            };
            for (call, number) in records.calls.iter_mut().zip(&told.sql) {
                let number = (*number as usize).checked_sub(1);
                call.sql = number.and_then(|n| told.sqls.get(n).cloned());
            }
            if everything {
                let beside: Beside = unpack(beside)?;
                records.outstanding = beside.outstanding;
                records.episodes = beside.episodes;
                records.connections = beside.connections;
                records.gaps = beside.gaps;
                records.knocks = beside.knocks;
                records.arps = beside.arps;
                records.notices = beside.notices;
            }
            Some((told, records))
        };
        read().ok_or_else(not_ours)
    }
}

/// Whether connections that take up so much would all be kept by one process that has this room.
pub(super) fn fits(weight: u64, room: u64) -> Result<(), Error> {
    if weight <= room {
        return Ok(());
    }
    let need = weight.saturating_mul(2).div_ceil(100 << 20) * 100;
    Err(Error::Message(format!(
        "open connections take up more than seven sixteenths of the budget of memory, and one process would forget some; \
         give memory=\"{need}M\" or more"
    )))
}
