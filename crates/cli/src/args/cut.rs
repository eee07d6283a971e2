//! `cut`: which packets, and where to.

use super::explain::rule;
use super::reading::{Inputs, Reading};
use super::value::number;
use clap::Args;
use slowside::{Frames, WhichFinding};
use std::path::PathBuf;

/// Write the packets that prove something to pcapng, with comments that say why they are there
///
/// Give at least one of --finding, --connection, --call, --where, --frames, --from and --to; what they
/// choose adds up. Of a time alone just what is in it is written. Else also the opening of each
/// connection that is cut, without which nobody knows how its windows are scaled, and everything of it
/// between the packets that are wanted, so that its bytes can be put together; of a connection that is
/// not RPC also what was said before (its first 20,000 packets), as its messages need not name what
/// they answer. --only leaves all that out. A call is cut from its request's first packet to its
/// response's last, in both captures where there are two.
///
/// Link type, time to the nanosecond, captured and original length, direction and comments stay as they
/// were. Frames get new numbers; the comments name the old ones. In Wireshark the display filter
/// frame.comment finds the commented ones.
///
/// What is cut looks to a diagnosis like a capture that lacks packets: diagnose the whole.
///
/// The captures are read several times; what can be read only once, as standard input, is kept in
/// TMPDIR meanwhile. With --anonymise addresses become pseudonyms at every layer and payload becomes
/// zeros, but for what pairs the calls of ONC-RPC; checksums are made anew. Times, lengths, ports and
/// sequence numbers stay.
#[derive(Args, Debug)]
#[command(after_long_help = "\
Examples:
  slowside cut client.pcap server.pcap --finding 1 -o evidence.pcapng
  slowside cut server.pcap --where 'response_time > 20ms' -o slow.pcapng")]
#[command(mut_arg("from", |a| a.help("Only what is in this time; alone, all packets in it").long_help(
    "Only what is in this time; alone, all packets in it
\n\
     Calls count by their start. 14:00 on the capture's day or '2026-03-01 14:00:00.5', in local \
     time, 2026-03-01T14:00:00Z, @1772373600.5 (seconds since the epoch), or 90s or +1.5s after the capture's first packet.")))]
#[command(mut_arg("to", |a| a.help("The end of that time; TIME as in --from")))]
pub(crate) struct Cut {
    #[command(flatten)]
    pub(crate) inputs: Inputs,

    /// Where to write; of two captures there are two files
    ///
    /// FILE-client.pcapng and FILE-server.pcapng where -o says FILE.pcapng, or FILE-1 and FILE-2 where
    /// it is not known which is which. `-` is standard output, for one capture. What was cut earlier is replaced,
    /// any other file is left alone.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,

    /// The packets that a finding names as evidence, and the calls they are of
    ///
    /// Its number or its code, as slowside diagnose with the same --where, --from and --to shows it.
    #[arg(long, value_name = "CODE|N", value_parser = which_finding)]
    pub(crate) finding: Option<WhichFinding>,

    /// A connection, by the number that slowside conns shows
    #[arg(long, value_name = "N", value_parser = number)]
    pub(crate) connection: Option<u64>,

    /// Calls with this id, as slowside calls shows it: 0x4ecb8123
    #[arg(long, value_name = "ID", value_parser = call_id)]
    pub(crate) call: Option<u32>,

    /// Frames by number: 812,845,900-910; of several files, FILE:812
    #[arg(long, value_name = "LIST", value_parser = frames)]
    pub(crate) frames: Vec<FrameList>,

    /// Only the packets that were named, without openings and what is around them
    #[arg(long)]
    pub(crate) only: bool,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// Numbers of frames as they were given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct FrameList {
    pub(crate) text: String,
    pub(crate) frames: Vec<Frames>,
}

fn which_finding(text: &str) -> Result<WhichFinding, String> {
    match text.parse() {
        Ok(0) => Err("findings are numbered from 1".into()),
        Ok(n) => Ok(WhichFinding::Number(n)),
        Err(_) => rule(text).map(WhichFinding::Rule),
    }
}

fn call_id(text: &str) -> Result<u32, String> {
    let id = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => text.parse(),
    };
    id.map_err(|_| "ids are as slowside calls shows them: 0x4ecb8123, or 17".into())
}

/// `812,845,900-910`, perhaps behind the name of a file.
fn frames(text: &str) -> Result<FrameList, String> {
    let wrong = || "frames are numbers from 1 and ranges: 812,845,900-910".to_owned();
    let (file, list) = match text.rsplit_once(':') {
        Some((file, list)) => (Some(file.to_owned()), list),
        None => (None, text),
    };
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let number = |n: &str| n.trim().parse().ok().filter(|n| *n > 0_u32);
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then(|| Frames {
            file: file.clone(),
            first,
            last,
        })
    };
    let frames: Option<Vec<Frames>> = list.split(',').map(range).collect();
    Ok(FrameList {
        text: text.to_owned(),
        frames: frames.ok_or_else(wrong)?,
    })
}
