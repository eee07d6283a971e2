//! Writes the seeds: small inputs of every kind each target knows, made by hand and with `testkit`.
//! `cargo run --example seeds` in this folder; the result is the same every time.

mod captures;
mod hidden;
mod hosts;
mod links;
mod messages;
mod mysql;
mod names;
mod pgsql;
mod readers;
mod requests;
mod segments;
mod smb2;
mod texts;
mod tns;
mod traces;
mod wire;

use std::fs;
use std::path::Path;
use testkit::rpc::{WRITE, record, write_call};
use testkit::rpc::{error_reply, getattr_call, getattr_reply, read_call, read_reply};
use testkit::{Conversation, TestPacket, datagram, fragments};

fn main() {
    readers::write_all();
    links::write_all();
    segments::write_all();
    messages::streams();
    messages::turns();
    messages::programmes();
    hidden::write_all();
    pgsql::write_all();
    mysql::write_all();
    texts::write_all();
    hosts::write_all();
    tns::write_all();
    traces::write_all();
    names::write_all();
    smb2::write_all();
    wire::write_all();
    requests::write_all();
    captures::write_all();
}

fn write(target: &str, name: &str, bytes: &[u8]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("seeds")
        .join(target);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), bytes).expect("a file");
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

/// A few NFS calls over one connection.
fn nfs() -> Vec<TestPacket> {
    let mut c = Conversation::nfs();
    c.timestamps(true).spacing(100_000).handshake();
    c.client(&record(&getattr_call(1, b"handle")))
        .after(1_000_000);
    c.server(&record(&getattr_reply(1))).client_ack();
    c.client(&record(&read_call(2, b"handle", 4_096, 2_000)));
    c.client(&record(&write_call(3, b"handle", 0, &[7; 1_800], 2)))
        .server_ack()
        .after(5_000_000);
    c.server(&record(&read_reply(2, &[9; 2_000], true)));
    c.server(&record(&error_reply(3, WRITE, 28)))
        .client_ack()
        .finish();
    c.packets()
}

/// Calls over UDP, the last in fragments.
fn udp() -> Vec<TestPacket> {
    let (client, server) = (([10, 0, 0, 1], 700).into(), ([10, 0, 0, 2], 2_049).into());
    let mut packets = vec![
        datagram(
            1_000_000_000,
            client,
            server,
            1,
            &getattr_call(5, b"handle"),
        ),
        datagram(1_002_000_000, server, client, 2, &getattr_reply(5)),
        datagram(
            1_003_000_000,
            client,
            server,
            3,
            &read_call(6, b"handle", 0, 3_000),
        ),
    ];
    let long = datagram(
        1_009_000_000,
        server,
        client,
        4,
        &read_reply(6, &[1; 3_000], false),
    );
    packets.extend(fragments(&long, 1_500, 9));
    packets
}
