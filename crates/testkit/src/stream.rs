//! What a connection carries as a script, for those who are told of its bytes and see no packets: events into
//! [`Chunk`]s with their times, frames and sequence numbers.

use model::{Chunk, Direction, Mark, PacketRef, Time};

/// Something that a connection carries, or that somebody did not see of it.
#[derive(Clone, Debug)]
pub enum Event {
    /// A segment or a datagram of a side that has heard all that the other said.
    Bytes(Direction, Vec<u8>),
    /// The same of a side that spoke at the same time as the other.
    Crossing(Direction, Vec<u8>),
    /// The same, captured so many events before it could be told.
    Late(Direction, Vec<u8>, u32),
    /// A segment of which so many further bytes were cut off.
    Cut(Direction, Vec<u8>, u32),
    /// Bytes that the capture lacks.
    Gap(Direction, u64),
    /// So many milliseconds pass.
    Pause(u32),
    /// The client says that it will send no more, and the server hears that.
    End,
}

/// The client sends a segment or a datagram.
#[must_use]
pub fn up(bytes: &[u8]) -> Event {
    Event::Bytes(Direction::ToServer, bytes.to_vec())
}

/// The server does.
#[must_use]
pub fn down(bytes: &[u8]) -> Event {
    Event::Bytes(Direction::ToClient, bytes.to_vec())
}

/// What is told of an event.
pub enum Told<'a> {
    Chunk(Chunk<'a>),
    /// So many bytes are missing.
    Gap(u64),
}

/// Tells a listener of each event: which direction, and at which order and time. Event n, counted from 1 and
/// without pauses, is frame n, has order n and comes at n milliseconds and the pauses before it. The first
/// byte of the client has the sequence number 1,000, that of the server 5,000. What is returned are order and
/// time of whatever comes behind.
pub fn tell(
    events: &[Event],
    mut listener: impl FnMut(Direction, (u64, Time), Told<'_>),
) -> (u64, Time) {
    let (mut order, mut ms) = (1, 1);
    let mut sequences = [1_000_u32, 5_000];
    let mut ended = None;
    for event in events {
        let (d, data, cut, late) = match event {
            Event::Bytes(d, data) | Event::Crossing(d, data) => (*d, data, 0, 0),
            Event::Late(d, data, late) => (*d, data, 0, *late),
            Event::Cut(d, data, cut) => (*d, data, *cut, 0),
            Event::Gap(d, length) => {
                listener(*d, (order, at(ms)), Told::Gap(*length));
                let sequence = &mut sequences[d.index()];
                *sequence = sequence.wrapping_add(*length as u32);
                (order, ms) = (order + 1, ms + 1);
                continue;
            }
            Event::Pause(pause) => {
                ms += i64::from(*pause);
                continue;
            }
            Event::End => {
                ended = Some(at(ms));
                continue;
            }
        };
        let sequence = &mut sequences[d.index()];
        let mut chunk = chunk(data, cut, (order, at(ms)), *sequence);
        chunk.mark.time = at(ms - i64::from(late));
        chunk.mark.packet.frame = chunk.mark.packet.frame.saturating_sub(late);
        chunk.heard_all = !matches!(event, Event::Crossing(..));
        chunk.peer_ended = ended.filter(|_| d == Direction::ToClient);
        *sequence = sequence.wrapping_add(data.len() as u32 + cut);
        listener(d, (order, at(ms)), Told::Chunk(chunk));
        (order, ms) = (order + 1, ms + 1);
    }
    (order, at(ms))
}

/// Bytes that came in the packet of this order, which is also its frame, from a side that has heard all.
#[must_use]
pub fn chunk(data: &[u8], cut: u32, (order, now): (u64, Time), sequence: u32) -> Chunk<'_> {
    let packet = PacketRef {
        file: 0,
        frame: order as u32,
    };
    Chunk {
        data,
        cut,
        mark: Mark { time: now, packet },
        sequence,
        order,
        now,
        held_since: None,
        heard_all: true,
        peer_ended: None,
    }
}

fn at(ms: i64) -> Time {
    Time(ms * 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Direction::{ToClient, ToServer};

    #[test]
    fn bytes_have_their_frame_time_and_place_in_the_stream() {
        let events = [
            up(b"ask"),
            Event::Gap(ToServer, 7),
            Event::Pause(20),
            Event::Cut(ToServer, vec![0; 5], 2),
            Event::Late(ToClient, vec![1], 2),
            up(&[]),
        ];
        let mut told = Vec::new();
        let end = tell(&events, |d, (order, now), what| match what {
            Told::Chunk(c) => {
                assert_eq!((order, now), (c.order, c.now));
                let place = (c.mark.packet.frame, c.mark.time.0 / 1_000_000, c.sequence);
                told.push((d, place, c.data.len()));
            }
            Told::Gap(length) => assert_eq!((d, order, length), (ToServer, 2, 7)),
        });
        let expected = [
            (ToServer, (1, 1, 1_000), 3),
            (ToServer, (3, 23, 1_010), 5),
            (ToClient, (2, 22, 5_000), 1),
            (ToServer, (5, 25, 1_017), 0),
        ];
        assert_eq!(told, expected);
        assert_eq!(end, (6, at(26)));
    }
}
