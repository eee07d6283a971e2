//! Streams for `rpc_tcp` in packets that were cut so that the headers of some messages are hidden.

use crate::messages::part;
use crate::{words, write};
use testkit::rpc::{self, NFS, READ, WRITE, opaque, record};

/// Captured bytes of each packet.
const SHOWN: usize = 120;
/// The kind of packet that is cut.
const CUT: u8 = 2 << 1;

/// How a client writes its counter into XIDs.
type Order = fn(u32) -> u32;

fn read_call(xid: u32) -> Vec<u8> {
    let arguments = [opaque(b"file"), words(&[0, 0, 8_192])].concat();
    record(&rpc::call(xid, NFS, READ, &arguments))
}

fn write_call(xid: u32, count: u32) -> Vec<u8> {
    let head = [opaque(b"file"), words(&[0, 0, count, 2])].concat();
    let arguments = [head, opaque(&vec![0xdd; count as usize])].concat();
    record(&rpc::call(xid, NFS, WRITE, &arguments))
}

fn read_reply(xid: u32, count: u32) -> Vec<u8> {
    let results = [
        words(&[0, 0, count, 1]),
        opaque(&vec![0xdd; count as usize]),
    ]
    .concat();
    record(&rpc::reply(xid, &results))
}

fn write_reply(xid: u32, count: u32) -> Vec<u8> {
    record(&rpc::reply(xid, &words(&[0, 0, 0, count, 2, 1, 2])))
}

/// One packet as `targets::rpc_tcp` reads it.
fn cut(direction: u8, bytes: &[u8], shown: usize) -> Vec<u8> {
    let (shown, hidden) = bytes.split_at(shown.min(bytes.len()));
    [
        &part(CUT | direction, shown)[..],
        &(hidden.len() as u16).to_le_bytes(),
    ]
    .concat()
}

fn up(bytes: &[u8]) -> Vec<u8> {
    cut(0, bytes, SHOWN)
}

fn down(bytes: &[u8]) -> Vec<u8> {
    cut(1, bytes, SHOWN)
}

/// Counters 10 to 15, each message in a packet of its own: READs, then WRITEs of 8 KiB.
fn teach(order: Order) -> Vec<u8> {
    let calls = (10..16).map(order).enumerate().map(|(i, xid)| match i {
        0..3 => [up(&read_call(xid)), down(&read_reply(xid, 8_192))].concat(),
        _ => [up(&write_call(xid, 8_192)), down(&write_reply(xid, 8_192))].concat(),
    });
    calls.flatten().collect()
}

/// WRITE, READ, WRITE and READ in two packets, the next READ, and the replies.
fn mixed(order: Order) -> Vec<u8> {
    let [a, b, c, d, e] = [16, 17, 18, 19, 20].map(order);
    let calls = [
        write_call(a, 8_192),
        read_call(b),
        write_call(c, 8_192),
        read_call(d),
    ]
    .concat();
    let (first, second) = calls.split_at(9_000);
    let replies = [
        down(&write_reply(a, 8_192)),
        down(&write_reply(c, 8_192)),
        down(&read_reply(b, 8_192)),
        down(&read_reply(d, 100)),
        down(&read_reply(e, 8_192)),
    ];
    [
        teach(order),
        up(first),
        up(second),
        up(&read_call(e)),
        replies.concat(),
    ]
    .concat()
}

/// WRITEs of two lengths, and replies that are cut before they tell which.
fn two_lengths() -> Vec<u8> {
    let hidden = [8_192, 4_096, 4_096];
    let calls: Vec<u8> = (17..)
        .zip(hidden)
        .flat_map(|(xid, n)| write_call(xid, n))
        .collect();
    let replies = (18..20).flat_map(|xid| cut(1, &write_reply(xid, 4_096), 40));
    [
        teach(|xid| xid),
        up(&write_call(16, 4_096)),
        down(&write_reply(16, 4_096)),
        up(&calls),
        up(&read_call(20)),
        replies.collect(),
    ]
    .concat()
}

/// WRITEs in the last packet of a client.
fn last_packet() -> Vec<u8> {
    let calls: Vec<u8> = (16..19).flat_map(|xid| write_call(xid, 8_192)).collect();
    let replies = (16..19).flat_map(|xid| down(&write_reply(xid, 8_192)));
    [teach(|xid| xid), up(&calls), replies.collect()].concat()
}

/// A server that answers in order, and then several calls in one packet.
fn hidden_replies() -> Vec<u8> {
    let mut all = Vec::new();
    for xid in 100..170 {
        all.extend(cut(0, &write_call(xid, 64), 60));
        all.extend(cut(1, &write_reply(xid, 64), 36));
    }
    (170..176).for_each(|xid| all.extend(cut(0, &write_call(xid, 64), 60)));
    let replies: Vec<u8> = (170..175).flat_map(|xid| write_reply(xid, 64)).collect();
    all.extend(cut(1, &replies, 60));
    all.extend(cut(1, &write_reply(175, 64), 60));
    all
}

pub fn write_all() {
    write("rpc_tcp", "hidden", &mixed(|xid| xid));
    write("rpc_tcp", "hidden-swapped", &mixed(u32::swap_bytes));
    write("rpc_tcp", "hidden-sparse", &mixed(|xid| 2 * xid));
    write("rpc_tcp", "hidden-two-lengths", &two_lengths());
    write("rpc_tcp", "hidden-last", &last_packet());
    write("rpc_tcp", "hidden-replies", &hidden_replies());
    // All but the XID of a request is hidden.
    let named = [
        up(&write_call(16, 8_192)[..8]),
        down(&write_reply(16, 8_192)),
    ]
    .concat();
    write(
        "rpc_tcp",
        "hidden-named",
        &[teach(|xid| xid), named].concat(),
    );
}
