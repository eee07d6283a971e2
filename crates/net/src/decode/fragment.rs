//! IP fragments into datagrams (RFC 791 section 3.2, RFC 8200 section 4.5), also where the snap
//! length cut every fragment: a datagram is complete when its bytes were all *sent*, and what was
//! captured of it without a hole from its start is handed on.
//!
//! Choices: the first copy of a byte counts, as in most receivers; a fragment that only repeats what
//! is held (or a datagram just finished) is a mirror's copy if it follows at once and the next
//! datagram with the same identification if it follows later; incomplete datagrams are few and
//! bounded, so a vector in order of arrival serves as table and as queue. At most one datagram ends
//! with each fragment, so that the fragment's order names it.

use super::ip::Ip;
use super::view::{Note, View};
use model::{Mark, Time, limits};
use std::collections::VecDeque;
use std::net::IpAddr;

/// A copy that follows this late is not a copy: no host reuses an identification this soon, and no
/// mirror delays one copy of a packet longer.
const COPY_NS: i64 = 10_000_000;

/// Finished datagrams remembered to recognise copies of their fragments.
const FINISHED: usize = 64;

/// No IP datagram with fragments is longer.
const DATAGRAM_BYTES: u32 = 65_535;

const UDP: u8 = 17;

/// What a header says about a fragment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Fragment {
    pub(super) id: u32,
    /// In bytes.
    pub(super) offset: u32,
    pub(super) more: bool,
    pub(super) protocol: u8,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Key {
    id: u32,
    /// Part of the key in IPv4 alone: later fragments of IPv6 may carry another number.
    protocol: Option<u8>,
    source: IpAddr,
    destination: IpAddr,
}

/// Bytes `start..end` of a datagram, of which the first `captured` were captured.
#[derive(Clone, Copy, Debug)]
struct Piece {
    start: u32,
    end: u32,
    captured: u32,
}

/// A datagram of which some fragments came.
#[derive(Debug)]
pub(super) struct Datagram {
    key: Key,
    /// Of the first fragment, once that came.
    pub(super) ip: Ip,
    pub(super) protocol: u8,
    /// The earliest fragment of its first sending, where it was sent before and lacked a part.
    pub(super) begun: Mark,
    /// The earliest and the latest fragment.
    pub(super) first: Mark,
    pub(super) last: Mark,
    /// When it began again in another.
    pub(super) resent: Option<Time>,
    bytes: Vec<u8>,
    /// In order, without overlap.
    pieces: Vec<Piece>,
    /// Sum of the pieces.
    held: u32,
    /// Known once the last fragment came.
    total: Option<u32>,
}

/// How a datagram ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ending {
    Complete,
    /// Its identification was used again, or the capture ended.
    Incomplete,
    /// It began again in another, which goes on for it.
    SentAgain,
    /// A bound of [`limits`] ended it.
    Evicted,
}

#[derive(Default, Debug)]
pub(super) struct Reassembly {
    /// In the order in which their earliest fragments came.
    datagrams: Vec<Datagram>,
    finished: VecDeque<(Key, Time)>,
    pub(super) duplicates: u64,
}

impl Reassembly {
    /// Takes a fragment; gives the datagram that ended with it, if one did.
    pub(super) fn add(
        &mut self,
        ip: &Ip,
        fragment: Fragment,
        view: View<'_>,
        mark: Mark,
    ) -> Result<Option<(Datagram, Ending)>, Note> {
        let mut length = view.wire;
        if fragment.more {
            length &= !7;
        }
        let end = fragment.offset.saturating_add(length);
        if length == 0 || end > DATAGRAM_BYTES {
            return Err(view.note("bogus-fragment", "end of fragment", end));
        }
        let view = view.with_length(length);
        let key = Key {
            id: fragment.id,
            protocol: ip.source.is_ipv4().then_some(fragment.protocol),
            source: ip.source,
            destination: ip.destination,
        };
        let Some(index) = self.datagrams.iter().rposition(|d| d.key == key) else {
            if self.just_finished(&key, mark.time) {
                self.duplicates += 1;
                return Ok(None);
            }
            let mut datagram = Datagram::new(key, ip, fragment, view, mark)?;
            let ended = match self.sent_before(&datagram) {
                Some(mut before) => {
                    before.resent = Some(mark.time);
                    datagram.begun = before.begun;
                    Some((before, Ending::SentAgain))
                }
                None => self.make_room(mark.time),
            };
            self.datagrams.push(datagram);
            return Ok(ended);
        };
        let Some(datagram) = self.datagrams.get_mut(index) else {
            return Ok(None);
        };
        let expired = mark.time - datagram.first.time > limits::FRAGMENT_WAIT_NS;
        let late = mark.time - datagram.last.time > COPY_NS;
        if expired || late && datagram.holds(fragment.offset, end) {
            let new = Datagram::new(key, ip, fragment, view, mark)?;
            let old = self.datagrams.remove(index);
            self.datagrams.push(new);
            let ending = if expired {
                Ending::Evicted
            } else {
                Ending::Incomplete
            };
            return Ok(Some((old, ending)));
        }
        if !datagram.insert(ip, fragment, view, mark)? {
            self.duplicates += 1;
        }
        if datagram.total != Some(datagram.held) {
            return Ok(None);
        }
        if self.finished.len() == FINISHED {
            self.finished.pop_front();
        }
        self.finished.push_back((key, mark.time));
        Ok(Some((self.datagrams.remove(index), Ending::Complete)))
    }

    /// The oldest datagram that never became complete, at the end of the capture.
    pub(super) fn pop(&mut self) -> Option<Datagram> {
        (!self.datagrams.is_empty()).then(|| self.datagrams.remove(0))
    }

    fn just_finished(&self, key: &Key, now: Time) -> bool {
        self.finished
            .iter()
            .any(|(k, time)| k == key && now - *time <= COPY_NS)
    }

    /// An incomplete datagram that is sent again in this one: the same ports, length, checksum and
    /// first bytes. Who asks by UDP does so when the answer does not come.
    fn sent_before(&mut self, again: &Datagram) -> Option<Datagram> {
        let start = again.start()?;
        let same = |d: &Datagram| {
            (d.key.source, d.key.destination) == (again.key.source, again.key.destination)
                && d.start() == Some(start)
        };
        let index = self.datagrams.iter().position(same)?;
        Some(self.datagrams.remove(index))
    }

    /// Ends the oldest datagram if it waited too long or its place is needed.
    fn make_room(&mut self, now: Time) -> Option<(Datagram, Ending)> {
        let oldest = self.datagrams.first()?;
        let full = self.datagrams.len() >= limits::FRAGMENTED_DATAGRAMS;
        let expired = now - oldest.first.time > limits::FRAGMENT_WAIT_NS;
        (full || expired).then(|| (self.datagrams.remove(0), Ending::Evicted))
    }
}

impl Datagram {
    fn new(
        key: Key,
        ip: &Ip,
        fragment: Fragment,
        view: View<'_>,
        mark: Mark,
    ) -> Result<Datagram, Note> {
        let mut datagram = Datagram {
            key,
            ip: *ip,
            protocol: fragment.protocol,
            begun: mark,
            first: mark,
            last: mark,
            resent: None,
            bytes: Vec::new(),
            pieces: Vec::new(),
            held: 0,
            total: None,
        };
        datagram.insert(ip, fragment, view, mark)?;
        Ok(datagram)
    }

    /// UDP's header, if it has a checksum, and the number by which an RPC call is known.
    fn start(&self) -> Option<&[u8; 12]> {
        let first = self.pieces.first().filter(|p| p.start == 0)?;
        let bytes = self.bytes.first_chunk::<12>()?;
        let summed = !matches!(bytes, [_, _, _, _, _, _, 0, 0, ..]);
        (summed && self.protocol == UDP && first.captured >= 12).then_some(bytes)
    }

    /// Whether all of `start..end` came already.
    fn holds(&self, start: u32, end: u32) -> bool {
        let mut at = start;
        for piece in &self.pieces {
            if piece.start <= at && piece.end > at {
                at = piece.end;
            }
        }
        at >= end
    }

    /// Keeps the bytes of a fragment that did not come before; whether there were any.
    fn insert(
        &mut self,
        ip: &Ip,
        fragment: Fragment,
        view: View<'_>,
        mark: Mark,
    ) -> Result<bool, Note> {
        let (start, end) = (fragment.offset, fragment.offset + view.wire);
        let known_end = self.pieces.last().map_or(0, |piece| piece.end);
        let contradicts = match self.total {
            Some(total) => end > total || !fragment.more && end != total,
            None => !fragment.more && known_end > end,
        };
        if contradicts {
            return Err(view.note("bogus-fragment", "end of fragment", end));
        }
        if !fragment.more {
            self.total = Some(end);
        }
        if start == 0 && self.pieces.first().is_none_or(|piece| piece.start != 0) {
            self.ip = *ip;
            self.protocol = fragment.protocol;
        }
        self.last = mark;
        let held_before = self.held;
        let mut at = start;
        let mut index = self.pieces.partition_point(|piece| piece.end <= start);
        while at < end {
            let next = self.pieces.get(index);
            if let Some(piece) = next.filter(|piece| piece.start <= at) {
                at = piece.end;
            } else {
                let hole_end = next.map_or(end, |piece| piece.start.min(end));
                let data = view.skip(at - start).with_length(hole_end - at).data;
                self.pieces.insert(
                    index,
                    Piece {
                        start: at,
                        end: hole_end,
                        captured: data.len() as u32,
                    },
                );
                self.write(at as usize, data);
                self.held += hole_end - at;
                at = hole_end;
            }
            index += 1;
        }
        Ok(self.held > held_before)
    }

    fn write(&mut self, at: usize, data: &[u8]) {
        let end = at + data.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        if let Some(place) = self.bytes.get_mut(at..end) {
            place.copy_from_slice(data);
        }
    }

    /// How many of its bytes came.
    pub(super) fn held(&self) -> u32 {
        self.held
    }

    /// How long it is, once its last fragment came.
    pub(super) fn total(&self) -> Option<u32> {
        self.total
    }

    /// The bytes captured without a hole from the start, and the length of the whole on the wire;
    /// `None` where the first fragment did not come.
    ///
    /// Where the last fragment did not come, UDP's own length tells the whole; TCP's next sequence
    /// numbers will show the rest to be missing, so there it is what came without a hole.
    pub(super) fn payload(&self) -> Option<(&[u8], u32)> {
        let (mut sent, mut captured) = (0, 0);
        for piece in self.pieces.iter() {
            if piece.start != sent {
                break;
            }
            if captured == sent {
                captured += piece.captured;
            }
            sent = piece.end;
        }
        let data = self.bytes.get(..captured as usize)?;
        let udp_length = match *data {
            [_, _, _, _, a, b, ..] if self.protocol == UDP => u16::from_be_bytes([a, b]).into(),
            _ => 0,
        };
        (sent > 0).then_some((data, self.total.unwrap_or(sent.max(udp_length))))
    }
}
