//! Chosen packets into a pcapng file, with comments that say why they are there.

use super::choose::{Choice, Chooser};
use super::{CUT_BY, CutRequest, cannot_write};
use crate::Error;
use crate::config::Event;
use capture::{Beside, Interface, PacketBlock, PcapNgWriter};
use model::{LinkType, Packet, Problems, Time, Where};
use net::PacketAnonymiser;
use std::collections::HashMap;
use std::io::Write;

/// Interfaces of one file that are told apart.
const INTERFACES: u32 = 256;

/// Writes what was chosen of a capture. `labels` name its files.
pub(super) fn write(
    chooser: &Chooser<'_>,
    request: &CutRequest,
    labels: &[String],
    out: Box<dyn Write>,
    events: &mut dyn FnMut(Event),
) -> Result<Problems, Error> {
    let mut writer = PcapNgWriter::new(
        out,
        &request.application,
        &section(chooser, request, labels),
    )
    .map_err(cannot_write)?;
    let mut interfaces: HashMap<(u16, LinkType, u32), u32> = HashMap::new();
    let mut anonymiser = request.anonymiser.as_ref().map(PacketAnonymiser::new);
    let mut problems = Problems::default();
    let mut bytes = Vec::new();
    let capture = super::each_packet(&chooser.inputs, events, &mut |capture, batch, packet| {
        let outline = chooser.outline(packet, batch.bytes_of(packet));
        let Some(choice) = chooser.choose(packet, outline.as_ref()) else {
            return Ok(());
        };
        let label = labels
            .get(usize::from(packet.at.file))
            .map_or("", String::as_str);
        let beside = capture.beside(batch, packet);
        let from = (
            packet.at.file,
            packet.link_type,
            beside.interface.min(INTERFACES),
        );
        let interface = match interfaces.get(&from) {
            Some(known) => *known,
            None => {
                let summary = capture.summary();
                let file = summary.files.get(usize::from(packet.at.file));
                let snaplens = file.map_or(&[][..], |f| &f.snaplens);
                let unlimited = snaplens.contains(&0);
                let side = chooser.side.map_or("", |s| s.name());
                let number = writer
                    .interface(&Interface {
                        link_type: packet.link_type,
                        snaplen: snaplens.last().copied().filter(|_| !unlimited).unwrap_or(0),
                        name: if side.is_empty() { label } else { side },
                        description: &format!("interface {} of {label}", beside.interface),
                    })
                    .map_err(cannot_write)?;
                interfaces.insert(from, number);
                number
            }
        };
        if packet.time < Time(0) {
            problems.note("time-before-1970", || {
                let place = Where {
                    file: label.to_owned(),
                    frame: Some(packet.at.frame),
                    ..Where::default()
                };
                (
                    "pcapng cannot say such a time; 1970 is written".into(),
                    place,
                )
            });
        }
        let comments = comments(
            chooser,
            packet,
            choice,
            label,
            &beside,
            anonymiser.is_some(),
        );
        bytes.clear();
        bytes.extend_from_slice(batch.bytes_of(packet));
        if let Some(anonymiser) = &mut anonymiser {
            anonymiser.packet(packet.link_type, &mut bytes, packet.length);
        }
        writer
            .packet(&PacketBlock {
                interface,
                time: packet.time,
                bytes: &bytes,
                length: packet.length,
                flags: beside.flags,
                comments: &comments,
            })
            .map_err(cannot_write)?;
        Ok(())
    })?;
    if capture.problems().lacks_more_than(&chooser.problems) {
        return Err(Error::Message(format!(
            "cannot read {} again to write what was chosen; copy the capture, or take it again",
            chooser.files.join(", ")
        )));
    }
    writer.finish().map_err(cannot_write)?;
    Ok(problems)
}

/// What the section says of the whole file.
fn section(chooser: &Chooser<'_>, request: &CutRequest, labels: &[String]) -> String {
    let count = chooser.count;
    let taken = chooser
        .side
        .map_or_else(String::new, |s| format!(", taken at the {}", s.name()));
    let mut text = format!(
        "{CUT_BY}{} from {}{taken}: {}. {} of {} packets, {} of them with comments that say why. ",
        request.application,
        labels.join(", "),
        request.words,
        count.chosen,
        count.packets,
        count.commented,
    );
    text.push_str(if request.only {
        "Only packets that were named."
    } else {
        "With the opening of each connection, and what was between the packets that are wanted; the rest is left out and not lost."
    });
    if request.anonymiser.is_some() {
        text.push_str(" Addresses are pseudonyms, payload is zeros (of ONC-RPC: XID, type, program, version and procedure stay), checksums were made anew.");
    }
    text
}

/// Why a packet is here, in one comment, behind those that it had.
fn comments(
    chooser: &Chooser<'_>,
    packet: &Packet,
    choice: Choice,
    label: &str,
    beside: &Beside,
    anonymous: bool,
) -> Vec<String> {
    let mut why: Vec<&str> = Vec::new();
    if let Some(reasons) = chooser.why.get(&packet.at) {
        why.extend(reasons.iter().map(String::as_str));
    }
    if chooser.is_named(packet.at) {
        why.push("named by its number");
    }
    if choice == Choice::Opening {
        why.push("opening of a connection that is cut");
    }
    // What others wrote may hold names.
    let mut comments = if anonymous {
        Vec::new()
    } else {
        beside.comments.clone()
    };
    if !why.is_empty() {
        comments.push(format!(
            "frame {} of {label}: {}",
            packet.at.frame,
            why.join("; ")
        ));
    }
    comments
}
