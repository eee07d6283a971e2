//! NFSv4 compounds (RFC 8881 section 16.2) into one main operation with its fields, and the list of
//! all operations.
//!
//! A compound is called by its operation of the lowest [`Rank`], the first of several: READ, not
//! COMPOUND, and not the PUTFH and GETATTR around it. Wireshark's `nfs.main_opcode` has coarser ranks
//! and gives every operation of the best one; ours is among those wherever the two were compared.
//! The finer ranks prefer what moves data, then what names or changes a file, to what goes along with
//! it: READ before OPEN, OPEN before LAYOUTGET, COPY before COMMIT, GETATTR before PUTROOTFH.
//!
//! Where the list was cut and shows nothing but such preparation, its main operation is not known:
//! the name is COMPOUND until the reply, which repeats the numbers of the operations, tells more.
//!
//! Data of a WRITE is not looked at. If operations follow after data that runs beyond the bytes at
//! hand, [`Arguments::tail_at`] says where. All operations with such data are of the first rank, so
//! the tail only ever adds to the list.

use crate::rpc::program::Arguments;
use crate::rpc::programs;
use crate::xdr::{Xdr, padded};
use model::{Detail, Field, Name};

/// How much an operation says about what a compound is for; the lowest number says most.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Rank {
    /// Moves or asks for data; also every unknown operation.
    Data,
    /// Changes names, attributes or state.
    Change,
    /// Often goes along with the former: COMMIT, layouts.
    Companion,
    Lookup,
    Access,
    Attributes,
    Handle,
    /// From here on: preparation for something else.
    Verify,
    Put,
    Sequence,
}

/// The operations of a compound: those of NFSv4, or those of its callbacks.
pub(super) trait Grammar {
    /// The name of a compound without a known main operation.
    const COMPOUND: &'static str;

    /// The name of the operation that stands for one which does not exist.
    const ILLEGAL: &'static str;

    fn rank(op: u32) -> Rank;

    /// The name of an operation, `None` for a number without one.
    fn name(op: u32) -> Option<&'static str>;

    /// Passes over an operation's arguments and notes what is worth telling; `None` where they are
    /// cut, unknown or impossible.
    fn arguments(op: u32, x: &mut Xdr<'_>, found: &mut Found) -> Option<()>;

    /// What an operation does to the current and saved file handle.
    fn moves(_op: u32, _found: &Found, _files: &mut Files) {}
}

/// What is worth telling of one operation's arguments.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Found {
    /// Hash of a handle among the arguments.
    pub(super) file: Option<u64>,
    pub(super) offset: Option<u64>,
    pub(super) count: Option<u64>,
    pub(super) stable: Option<u32>,
    pub(super) slot: Option<u32>,
    pub(super) highest_slot: Option<u32>,
    /// Where a name stands: its position and length.
    pub(super) name: Option<(u32, u32)>,
    /// Position after data that runs beyond the bytes at hand.
    data_end: Option<usize>,
}

impl Found {
    /// Passes over a name and notes where it is.
    pub(super) fn name(&mut self, x: &mut Xdr<'_>) -> Option<()> {
        let at = x.position() as u32 + 4;
        let length = x.opaque()?.len() as u32;
        self.name = Some((at, length));
        Some(())
    }

    /// Passes over an opaque of which only the length is wanted.
    pub(super) fn bulk(&mut self, x: &mut Xdr<'_>) -> Option<u32> {
        let length = x.u32()?;
        let padded = padded(length as usize);
        if x.skip(padded).is_none() {
            self.data_end = Some(x.position() + padded);
        }
        Some(length)
    }

    fn tell_slot(&self, detail: &mut Detail) {
        if let Some(slot) = self.slot {
            detail.set(Field::Slot, slot.into());
        }
        if let Some(slot) = self.highest_slot {
            detail.set(Field::HighestSlot, slot.into());
        }
    }

    fn tell(&self, detail: &mut Detail) {
        if let Some(offset) = self.offset {
            detail.set(Field::Offset, offset);
        }
        if let Some(count) = self.count {
            detail.set(Field::Count, count);
        }
        if let Some(stable) = self.stable {
            super::v3::set_stable(stable, detail);
        }
    }
}

/// The current and saved file handle (RFC 8881 section 2.3.1.3), as hashes, where known.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Files {
    pub(super) current: Option<u64>,
    pub(super) saved: Option<u64>,
}

/// [`Arguments::note`]: the index of the main operation, and how many operations are in the tail.
#[derive(Clone, Copy)]
pub(super) struct Note {
    pub(super) main: Option<u16>,
    tail: u16,
}

impl Note {
    pub(super) fn of(a: &Arguments) -> Note {
        let main = a.note as u16;
        Note {
            main: main.checked_sub(1),
            tail: (a.note >> 16) as u16,
        }
    }

    fn write(self, a: &mut Arguments) {
        let main = self.main.map_or(0, |i| i.saturating_add(1));
        a.note = u32::from(self.tail) << 16 | u32::from(main);
    }
}

/// Reads an array of operations, the rest of a compound's arguments.
pub(super) fn read<G: Grammar>(a: &mut Arguments, x: &mut Xdr<'_>) {
    let count = x.u32();
    let walked = walk::<G>(a, x, count.unwrap_or(0), 0);
    let is_complete = count.is_some() && walked.left == 0;
    let mut note = Note {
        main: None,
        tail: walked.tail,
    };
    match walked.main {
        Some(main) if is_complete || main.rank < Rank::Verify => {
            a.op = name::<G>(main.op);
            note.main = Some(main.index);
            if let Some(file) = main.file {
                a.detail.set(Field::File, file);
            }
            main.found.tell(&mut a.detail);
        }
        _ => a.op = Name::of(G::COMPOUND),
    }
    note.write(a);
}

/// Reads on at [`Arguments::tail_at`].
pub(super) fn tail<G: Grammar>(a: &mut Arguments, body: &[u8]) {
    let Some(base) = a.tail_at.take() else {
        return;
    };
    let mut note = Note::of(a);
    note.tail = walk::<G>(a, &mut Xdr::new(body), note.tail.into(), base).tail;
    note.write(a);
}

/// The operations by name, comma separated.
pub(super) fn text<G: Grammar>(operations: &[u8]) -> String {
    let mut text = String::new();
    for &op in operations {
        if !text.is_empty() {
            text.push(',');
        }
        text.push_str(&match op {
            BEYOND => Name::of(G::ILLEGAL),
            op => name::<G>(op.into()),
        });
    }
    text
}

pub(super) fn name<G: Grammar>(op: u32) -> Name {
    match G::name(op) {
        Some(name) => Name::of(name),
        None => programs::name_of_number(op),
    }
}

/// Stands in [`Arguments::operations`] for numbers that do not fit: ILLEGAL (10044), in practice.
const BEYOND: u8 = u8::MAX;

/// A number as it stands in the list.
pub(super) fn short(op: u32) -> u8 {
    u8::try_from(op).unwrap_or(BEYOND)
}

/// Adds to the list; a longer one than it can hold keeps its beginning.
pub(super) fn list(a: &mut Arguments, op: u32) {
    let _ = a.operations.try_push(short(op));
}

struct Main {
    op: u32,
    index: u16,
    rank: Rank,
    file: Option<u64>,
    found: Found,
}

struct Walked {
    main: Option<Main>,
    /// Operations that could not be read.
    left: u32,
    /// Those of them that follow bulk data.
    tail: u16,
}

/// Walks `count` operations; `x` began `base` bytes into the arguments.
fn walk<G: Grammar>(a: &mut Arguments, x: &mut Xdr<'_>, count: u32, base: u64) -> Walked {
    let mut walked = Walked {
        main: None,
        left: count,
        tail: 0,
    };
    let mut files = Files::default();
    let mut index: u16 = 0;
    while walked.left > 0 {
        let Some(op) = x.u32() else { break };
        walked.left -= 1;
        list(a, op);
        let mut found = Found::default();
        let passed = G::arguments(op, x, &mut found);
        if a.operations.len() == 1 {
            // SEQUENCE is the first operation or not valid (RFC 8881 section 18.46.3).
            found.tell_slot(&mut a.detail);
        }
        let rank = G::rank(op);
        if walked.main.as_ref().is_none_or(|main| rank < main.rank) {
            walked.main = Some(Main {
                op,
                index,
                rank,
                file: found.file.or(files.current),
                found,
            });
        }
        if let Some(end) = found.data_end {
            if walked.left > 0 {
                a.tail_at = Some(base + end as u64);
                walked.tail = u16::try_from(walked.left).unwrap_or(u16::MAX);
            }
            break;
        }
        if passed.is_none() {
            break;
        }
        G::moves(op, &found, &mut files);
        index = index.saturating_add(1);
    }
    walked
}
