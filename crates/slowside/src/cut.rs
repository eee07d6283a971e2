//! Captures into the packets that prove something, as pcapng files on which Wireshark can be opened.
//!
//! What is wanted (the evidence of a finding, calls, a connection, frames, a stretch of time) is found by
//! the commands that name it ([`wanted`]); then the files are read again: once to see which connections
//! the wanted packets are of and when ([`place`]), once for how these connections were opened
//! ([`choose`]), and once to write what was chosen ([`mod@write`]). So memory follows what was chosen.
//!
//! What is written can be read: with the opening of each connection that is cut, as without it nobody
//! knows how windows are scaled, and with everything of it from the first packet that is wanted to the
//! last, as without that TCP's bytes cannot be put together. A stretch begins with the packet in which a
//! request begins.

mod choose;
mod place;
mod wanted;
mod write;

use crate::Error;
use crate::config::{Captures, Config, Event};
use analysis::findings::Rule;
use analysis::results::Vantage;
use capture::Capture;
use choose::Chooser;
use model::{Batch, Packet, Problems};
use pseudonyms::{Anonymiser, NameKind};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A finding of the diagnosis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WhichFinding {
    /// As `diagnose` numbers them, from 1.
    Number(usize),
    /// All of this rule.
    Rule(Rule),
}

/// Frames `first..=last`, of the file whose name ends so; without one, of the only file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frames {
    pub file: Option<String>,
    pub first: u32,
    pub last: u32,
}

/// What to cut. What is chosen in several ways adds up; where nothing is, the times of [`Config`] choose
/// all packets within them.
#[derive(Default)]
pub struct CutRequest {
    pub finding: Option<WhichFinding>,
    /// As `conns` numbers them.
    pub connection: Option<u64>,
    /// The protocol's own identifier, such as an XID.
    pub call: Option<u32>,
    /// The calls that pass [`Config::filter`]; without a finding, which it narrows.
    pub calls: bool,
    pub frames: Vec<Frames>,
    /// Only the packets that were named, neither what is around them nor openings.
    pub only: bool,
    /// The selection in the user's words, for the file's comment.
    pub words: String,
    /// The program that writes, with its version.
    pub application: String,
    pub anonymiser: Option<Anonymiser>,
}

/// What became of one capture.
#[derive(Clone, Debug)]
pub struct CutCapture {
    pub files: Vec<String>,
    pub side: Option<Vantage>,
    /// Packets read, chosen, and chosen with a comment.
    pub packets: u64,
    pub chosen: u64,
    pub commented: u64,
    pub problems: Problems,
}

/// What `cut` says.
#[derive(Clone, Debug, Default)]
pub struct CutResult {
    /// In the order given; those of which nothing was chosen were not written.
    pub captures: Vec<CutCapture>,
    pub notes: Vec<String>,
}

/// Opens the output for a capture of so many, by its index and where it was taken. What fails says what it
/// was: its errors are whole sentences.
pub type Open<'a> =
    dyn FnMut(usize, usize, Option<Vantage>) -> std::io::Result<Box<dyn Write>> + 'a;

/// Reads captures and writes the packets that were asked for, a file for each capture.
///
/// # Errors
/// When no input can be read, nothing is chosen, or what `open` gives cannot be written.
pub fn cut(
    captures: &Captures,
    request: &CutRequest,
    config: &Config,
    open: &mut Open<'_>,
    events: &mut dyn FnMut(Event),
) -> Result<CutResult, Error> {
    crate::spool(captures, events)?;
    let found = wanted::find(captures, request, config, events)?;
    let mut result = CutResult {
        captures: Vec::new(),
        notes: found.notes,
    };
    let mut choosers = Vec::new();
    for wanted in found.captures {
        let placed = place::place(wanted, config, request.only, events)?;
        choosers.push(Chooser::new(placed, request.only, events)?);
    }
    if choosers.iter().all(|c| c.count.chosen == 0) {
        return Err(Error::Message(
            "no packet is chosen, so nothing was written; slowside calls and conns show what there is"
                .into(),
        ));
    }
    let count = choosers.len();
    for (index, chooser) in choosers.into_iter().enumerate() {
        let mut done = CutCapture {
            files: chooser.files.clone(),
            side: chooser.side,
            packets: chooser.count.packets,
            chosen: chooser.count.chosen,
            commented: chooser.count.commented,
            problems: chooser.problems.clone(),
        };
        if done.chosen > 0 {
            let out = open(index, count, chooser.side).map_err(cannot_write)?;
            let labels = labels(&done.files, request);
            let written = write::write(&chooser, request, &labels, out, events)?;
            done.problems.merge(&written);
        }
        result.captures.push(done);
    }
    Ok(result)
}

/// Whether a file that begins so is one that [`cut`] wrote.
#[must_use]
pub fn is_cut(head: &[u8]) -> bool {
    let says = |words: &[u8]| head.windows(words.len()).any(|w| w == words);
    head.starts_with(&[0x0a, 0x0d, 0x0d, 0x0a]) && says(CUT_BY.as_bytes())
}

/// How the comment of what is written begins.
const CUT_BY: &str = "Cut by ";

/// What failed says itself what it was. Nobody needs to be told that a reader went away.
fn cannot_write(error: std::io::Error) -> Error {
    match error.kind() {
        std::io::ErrorKind::BrokenPipe => Error::Output(error),
        _ => Error::Message(error.to_string()),
    }
}

/// How files are called in what is written.
fn labels(files: &[String], request: &CutRequest) -> Vec<String> {
    let name = |f: &String| match &request.anonymiser {
        Some(names) => names.name(NameKind::File, f),
        None if f == "-" => "standard input".to_owned(),
        None => f.clone(),
    };
    let long: Vec<String> = files.iter().map(name).collect();
    // Without folders, where names are different without them.
    let short: Vec<String> = long.iter().filter_map(|f| short(f)).collect();
    let distinct: HashSet<&String> = short.iter().collect();
    if distinct.len() == long.len() {
        short
    } else {
        long
    }
}

fn short(file: &str) -> Option<String> {
    let name = Path::new(file).file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// Reads a capture packet by packet.
fn each_packet(
    inputs: &[PathBuf],
    events: &mut dyn FnMut(Event),
    take: &mut dyn FnMut(&Capture, &Batch, &Packet) -> Result<(), Error>,
) -> Result<Capture, Error> {
    let mut capture = crate::run::open(inputs)?;
    let mut batch = Batch::default();
    let mut packets = 0;
    while capture
        .next_batch(&mut batch)
        .map_err(|e| Error::Message(e.to_string()))?
    {
        for packet in &batch.packets {
            take(&capture, &batch, packet)?;
        }
        packets += batch.packets.len() as u64;
        let (read, total) = capture.progress();
        events(Event::Progress {
            read,
            total,
            packets,
        });
    }
    Ok(capture)
}
