//! Runs a classic BPF program as the kernel does: a load beyond the packet rejects it.

use super::super::program::{
    AND, Instruction, JUMP, JUMP_ABOVE, JUMP_AT_LEAST, JUMP_EQUAL, JUMP_WITH, KNOWN, LOAD_BYTE,
    LOAD_HALF, LOAD_HALF_AT_INDEX, LOAD_INDEX, LOAD_WORD, RETURN,
};

/// A packet, and what the kernel knows beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Packet<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) protocol: u16,
    pub(super) kind: u32,
    pub(super) hardware: u32,
    /// The tag that was taken off.
    pub(super) tag: Option<u16>,
}

/// The bytes that are kept of it; 0: rejected.
pub(super) fn run(program: &[Instruction], packet: &Packet<'_>) -> u32 {
    steps(program, packet).unwrap_or(0)
}

fn steps(program: &[Instruction], packet: &Packet<'_>) -> Option<u32> {
    let (mut a, mut x, mut at) = (0_u32, 0_u32, 0_usize);
    loop {
        let i = program[at];
        at += 1;
        let load = |from: u32, bytes: usize| -> Option<u32> {
            let from = from as usize;
            let bytes = packet.bytes.get(from..from + bytes)?;
            Some(bytes.iter().fold(0, |n, b| n << 8 | u32::from(*b)))
        };
        let holds = match i.code {
            RETURN => return Some(i.value),
            LOAD_WORD if i.value >= KNOWN => {
                a = match i.value - KNOWN {
                    0 => u32::from(packet.protocol),
                    4 => packet.kind,
                    28 => packet.hardware,
                    44 => u32::from(packet.tag.unwrap_or(0)),
                    48 => u32::from(packet.tag.is_some()),
                    other => panic!("nothing is known at {other}"),
                };
                continue;
            }
            LOAD_WORD => {
                a = load(i.value, 4)?;
                continue;
            }
            LOAD_HALF => {
                a = load(i.value, 2)?;
                continue;
            }
            LOAD_BYTE => {
                a = load(i.value, 1)?;
                continue;
            }
            LOAD_HALF_AT_INDEX => {
                a = load(x + i.value, 2)?;
                continue;
            }
            LOAD_INDEX => {
                x = 4 * (load(i.value, 1)? & 0xf);
                continue;
            }
            AND => {
                a &= i.value;
                continue;
            }
            JUMP => {
                at += i.value as usize;
                continue;
            }
            JUMP_EQUAL => a == i.value,
            JUMP_ABOVE => a > i.value,
            JUMP_AT_LEAST => a >= i.value,
            JUMP_WITH => a & i.value != 0,
            other => panic!("no such instruction: {other:#x}"),
        };
        at += usize::from(if holds { i.yes } else { i.no });
    }
}
