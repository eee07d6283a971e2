//! What the bodies of requests and responses say ([MS-SMB2] 2.2.9 to 2.2.22), little-endian; offsets are
//! from the message's header:
//!
//! ```text
//! TREE_CONNECT request   structure:2 flags:2 path offset:2 path length:2 … path in UTF-16
//! CREATE request         structure:2 … name offset:2 at 44, name length:2 at 46 … name in UTF-16
//! CLOSE, FLUSH request   structure:2 flags:2 reserved:4 file id:16
//! READ request           structure:2 padding:1 flags:1 length:4 offset:8 file id:16
//! READ response          structure:2 data offset:1 reserved:1 length:4
//! WRITE request          structure:2 data offset:2 length:4 offset:8 file id:16
//! WRITE response         structure:2 reserved:2 count:4
//! LOCK request           structure:2 locks:2 sequence:4 file id:16, each lock: offset:8 length:8 flags:4 …
//! CREATE response        … file id:16 at 64
//! ```

use super::header::{
    CLOSE, CREATE, FLUSH, HEADER, LOCK, READ, TREE_CONNECT, WRITE, u16_at, u32_at, u64_at,
};
use foldhash::fast::FixedState;
use model::{Detail, Field};
use std::hash::BuildHasher;

/// Bytes of a body that are looked at, where no name stands in it.
pub(super) const BODY: usize = 44;

/// Of a lock: that it is let go.
const UNLOCK: u32 = 4;

/// Whether a LOCK lets go.
pub(super) fn unlocks(message: &[u8]) -> bool {
    u32_at(message, HEADER + 40).is_some_and(|flags| flags & UNLOCK != 0)
}

/// Whether a request has a name, so that more of it is looked at.
pub(super) fn has_name(command: u16) -> bool {
    matches!(command, CREATE | TREE_CONNECT)
}

/// The name in a request, as people write it, and whether all of it was captured.
pub(super) fn name(command: u16, message: &[u8]) -> Option<(String, bool)> {
    let at = match command {
        CREATE => HEADER + 44,
        TREE_CONNECT => HEADER + 4,
        _ => return None,
    };
    let start = usize::from(u16_at(message, at)?);
    let length = usize::from(u16_at(message, at + 2)?);
    let name = message.get(start..)?;
    let whole = name.get(..length);
    let (units, _) = whole.unwrap_or(name).as_chunks::<2>();
    let units = units.iter().map(|u| u16::from_le_bytes(*u));
    let text = char::decode_utf16(units).map(|c| c.unwrap_or('\u{fffd}'));
    Some((text.collect(), whole.is_some()))
}

/// A file's id as one number.
pub(super) fn file(message: &[u8], at: usize) -> Option<u64> {
    let id = (u64_at(message, at)?, u64_at(message, at + 8)?);
    // Of a compound: that of the file which the request before it opens.
    let related = id == (u64::MAX, u64::MAX);
    (!related).then(|| FixedState::default().hash_one(id))
}

/// What a request says.
pub(super) fn request(command: u16, message: &[u8]) -> Detail {
    let mut detail = Detail::default();
    let mut set = |field, value: Option<u64>| {
        if let Some(value) = value {
            detail.set(field, value);
        }
    };
    match command {
        READ | WRITE => {
            set(Field::File, file(message, HEADER + 16));
            set(Field::Offset, u64_at(message, HEADER + 8));
            set(Field::Count, u32_at(message, HEADER + 4).map(u64::from));
        }
        LOCK => {
            set(Field::File, file(message, HEADER + 8));
            set(Field::Offset, u64_at(message, HEADER + 24));
            set(Field::Count, u64_at(message, HEADER + 32));
        }
        CLOSE | FLUSH => set(Field::File, file(message, HEADER + 8)),
        _ => {}
    }
    detail
}

/// Adds what a response that is no error says.
pub(super) fn response(command: u16, message: &[u8], detail: &mut Detail) {
    let returned = match command {
        READ | WRITE => u32_at(message, HEADER + 4),
        _ => None,
    };
    if let Some(returned) = returned {
        detail.set(Field::Returned, returned.into());
    }
    if command == CREATE
        && let Some(file) = file(message, HEADER + 64)
    {
        detail.set(Field::File, file);
    }
}
