//! Packets of TNS, whole and damaged, through `protocol::Conversation`.

use crate::rpc::{CLOSES, Run};
use arbitrary::{Result, Unstructured};
use model::{Direction, Transport};

/// A packet around `body`.
fn packet(long: bool, kind: u8, body: &[u8]) -> Vec<u8> {
    let length = 8 + body.len() as u32;
    let mut bytes = match long {
        true => length.to_be_bytes().to_vec(),
        false => [(length as u16).to_be_bytes(), [0; 2]].concat(),
    };
    bytes.extend([kind, 0, 0, 0]);
    bytes.extend(body);
    bytes
}

/// Per packet: what it is, and its bytes behind their number.
fn packets(run: &mut Run, data: &[u8]) -> Result<()> {
    const DATA: u8 = 6;
    let mut u = Unstructured::new(data);
    while !u.is_empty() {
        let what: u8 = u.arbitrary()?;
        let d = match what & 1 {
            0 => Direction::ToServer,
            _ => Direction::ToClient,
        };
        let long = what & 2 != 0;
        let length = usize::from(u.arbitrary::<u16>()?);
        let mut passed = length as u64;
        match what >> 2 & 7 {
            // Gaps and ends; else bytes: a payload, a packet of any kind, or as they are, perhaps cut.
            0 if length > 0 => run.with(|conversation, cx| conversation.gap(cx, d, passed)),
            1 => run.close(CLOSES[length % 4]),
            kind => {
                let bytes = u.bytes(length.min(u.len()))?;
                let cut = match kind {
                    2 => u32::from(u.arbitrary::<u16>()?),
                    _ => 0,
                };
                let bytes = match kind {
                    3..=5 => packet(long, DATA, &[&[0, 0], bytes].concat()),
                    6 => match bytes.split_first() {
                        Some((kind, body)) => packet(long, *kind, body),
                        None => continue,
                    },
                    _ => bytes.to_vec(),
                };
                if bytes.is_empty() && cut == 0 {
                    continue;
                }
                passed = bytes.len() as u64 + u64::from(cut);
                let chunk = run.chunk(d, &bytes, cut, false);
                run.with(|conversation, cx| conversation.data(cx, d, &chunk));
            }
        }
        let next = &mut run.sequences[d.index()];
        *next = next.wrapping_add(passed as u32);
        run.step([1_000, 1_000_000, 40_000_000, 60_000_000_000][usize::from(what >> 5 & 3)]);
    }
    Ok(())
}

pub fn tns(data: &[u8]) {
    let mut run = Run::new(Transport::Tcp);
    (run.info.client.port, run.info.server.port) = (40_000, 1_521);
    run.info.roles_known = data.len().is_multiple_of(2);
    // A file that ends in mid-packet is one like any other.
    let _ = packets(&mut run, data);
    run.finish();
}
