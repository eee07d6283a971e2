//! Bridge protocol data units (IEEE 802.1D-2004 section 9.3), plain and, with a tree for each VLAN, in
//! Cisco's SNAP form.

use model::{Bpdu, Bridge, Tree};

/// LLC of the spanning tree's service access point.
const LLC: [u8; 3] = [0x42, 0x42, 0x03];
/// SNAP of Cisco's per-VLAN spanning tree.
const SNAP: [u8; 8] = [0xaa, 0xaa, 0x03, 0x00, 0x00, 0x0c, 0x01, 0x0b];
/// Where Cisco's says which VLAN it is: behind the longer of the two forms, whichever it is.
const VLAN_AT: usize = 36;

/// VLANs are numbered below this (IEEE 802.1Q).
const VLANS: u16 = 1 << 12;

/// Times are in units of 1/256 s.
const TICK_NS: i64 = 1_000_000_000 / 256;

/// What stands behind Ethernet's addresses and tags, from the length on; `tag` is the outermost.
pub(super) fn read(behind: &[u8], tag: Option<u16>) -> Option<Bpdu> {
    let llc = behind.get(2..)?;
    let (unit, per_vlan) = match (llc.strip_prefix(&LLC), llc.strip_prefix(&SNAP)) {
        (Some(unit), _) => (unit, false),
        (None, unit) => (unit?, true),
    };
    let &[0, 0, version, kind] = unit.first_chunk()? else {
        return None;
    };
    let vlan = match unit.get(VLAN_AT..).and_then(|t| t.first_chunk()) {
        Some(&[0, 0, 0, 2, a, b]) if per_vlan => Some(u16::from_be_bytes([a, b])),
        _ => tag,
    };
    let vlan = vlan.filter(|v| *v < VLANS);
    let tree = match kind {
        0x00 | 0x02 => Some(tree(unit.get(4..)?.first_chunk()?)),
        0x80 => None,
        _ => return None,
    };
    Some(Bpdu {
        vlan,
        version,
        tree,
    })
}

fn tree(body: &[u8; 31]) -> Tree {
    let &[
        flags,
        r0,
        r1,
        r2,
        r3,
        r4,
        r5,
        r6,
        r7,
        _,
        _,
        _,
        _,
        b0,
        b1,
        b2,
        b3,
        b4,
        b5,
        b6,
        b7,
        p0,
        p1,
        _,
        _,
        m0,
        m1,
        h0,
        h1,
        d0,
        d1,
    ] = body;
    let ticks = |a, b| i64::from(u16::from_be_bytes([a, b])) * TICK_NS;
    Tree {
        root: Bridge {
            priority: u16::from_be_bytes([r0, r1]),
            hardware: [r2, r3, r4, r5, r6, r7],
        },
        bridge: Bridge {
            priority: u16::from_be_bytes([b0, b1]),
            hardware: [b2, b3, b4, b5, b6, b7],
        },
        port: u16::from_be_bytes([p0, p1]),
        changing: flags & 1 == 1,
        max_age_ns: ticks(m0, m1),
        hello_ns: ticks(h0, h1),
        forward_delay_ns: ticks(d0, d1),
    }
}
