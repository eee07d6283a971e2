//! Packets of any link type through `net::Decoder`.

use arbitrary::{Result, Unstructured};
use model::{Batch, LinkType, Packet, PacketRef, Time};
use net::{Decoder, PacketAnonymiser, Segment};
use pseudonyms::Anonymiser;

/// The link types a packet's first byte chooses from; beyond them, the next two bytes are the type.
pub const LINK_TYPES: [u16; 15] = [
    1, 101, 113, 276, 0, 108, 9, 50, 12, 14, 228, 229, 51, 105, 127,
];

/// What a packet's second byte may ask for.
const LONGER: u8 = 1;
const LATER: u8 = 2;

/// Per packet: link type, what to do, and its bytes behind their number.
fn packets(data: &[u8]) -> Result<Batch> {
    let mut u = Unstructured::new(data);
    let mut batch = Batch::default();
    let mut time = 0;
    while !u.is_empty() {
        let link_type = match LINK_TYPES.get(usize::from(u.arbitrary::<u8>()?)) {
            Some(&known) => known,
            None => u.arbitrary()?,
        };
        let what: u8 = u.arbitrary()?;
        let mut more = 0;
        if what & LONGER != 0 {
            more = u32::from(u.arbitrary::<u16>()?);
        }
        if what & LATER != 0 {
            time += i64::from(u.arbitrary::<i16>()?) * 1_000_000;
        }
        let length = usize::from(u.arbitrary::<u16>()?).min(u.len());
        let bytes = u.bytes(length)?;
        let order = batch.packets.len() as u64;
        batch.packets.push(Packet {
            time: Time(time),
            order,
            at: PacketRef {
                file: 0,
                frame: order as u32 + 1,
            },
            link_type: LinkType(link_type),
            start: batch.bytes.len() as u32,
            captured: length as u32,
            length: length as u32 + more,
        });
        batch.bytes.extend(bytes);
        time += 1_000;
    }
    Ok(batch)
}

fn check(segments: &[Segment], batch: &Batch) {
    let mut last = 0;
    for s in segments {
        let end = s.payload_start as usize + s.payload_captured as usize;
        assert!(end <= batch.bytes.len());
        assert!(s.payload_captured <= s.payload_length);
        assert!(s.order >= last && s.tcp.sack_count <= 4);
        last = s.order;
    }
}

/// What must not depend on how packets are put into batches.
fn content(s: &Segment, batch: &Batch) -> impl PartialEq + std::fmt::Debug + use<> {
    let from = s.payload_start as usize;
    let payload = batch.bytes[from..from + s.payload_captured as usize].to_vec();
    let tcp = (
        s.tcp.sequence,
        s.tcp.acknowledgement,
        s.tcp.flags,
        s.tcp.timestamps,
        s.tcp.sack,
    );
    (
        s.order,
        s.mark,
        s.first,
        s.source,
        s.destination,
        payload,
        s.payload_length,
        tcp,
    )
}

pub fn decode(data: &[u8]) {
    let Ok(batch) = packets(data) else { return };
    let mut single = Decoder::new(&[]);
    let mut pieces = Vec::new();
    let mut last = Batch::default();
    let names = Anonymiser::new(b"fuzz");
    let mut anonymiser = PacketAnonymiser::new(&names);
    for packet in &batch.packets {
        let mut hidden = batch.bytes_of(packet).to_vec();
        anonymiser.packet(packet.link_type, &mut hidden, packet.length);
        assert_eq!(hidden.len(), packet.captured as usize);
        let bytes = batch.bytes_of(packet).to_vec();
        last = Batch {
            bytes,
            packets: vec![Packet {
                start: 0,
                ..*packet
            }],
        };
        let mut segments = Vec::new();
        single.decode(&mut last, &mut segments);
        check(&segments, &last);
        assert!(segments.len() <= 1);
        pieces.extend(segments.iter().map(|s| content(s, &last)));
    }
    let mut segments = Vec::new();
    single.finish(&mut last, &mut segments);
    pieces.extend(segments.iter().map(|s| content(s, &last)));

    let mut whole = batch;
    let mut decoder = Decoder::new(&[]);
    let mut segments = Vec::new();
    decoder.decode(&mut whole, &mut segments);
    decoder.finish(&mut whole, &mut segments);
    check(&segments, &whole);
    let joined: Vec<_> = segments.iter().map(|s| content(s, &whole)).collect();
    assert_eq!(joined, pieces);
    assert_eq!(decoder.counts(), single.counts());
    assert_eq!(decoder.counts().segments, segments.len() as u64);
    assert_eq!(decoder.problems(), single.problems());
}
