//! What a connection's client has open, into files that are the same for all who open them, and what the server asks to
//! have back.
//!
//! A client that holds a file for itself (an oplock or a lease) is told when another wants it ([MS-SMB2] 3.3.4.6 and
//! 3.3.4.7), and the other waits until it has said what it still may do (3.2.5.19), or has closed the file. Bodies,
//! little-endian:
//!
//! ```text
//! CREATE response          structure:2 = 89, level:1 at 2: 1 to read, 8 and 9 for itself, 255 a lease
//! oplock break, both ways  structure:2 = 24, level:1 reserved:5 file id:16
//! lease break              structure:2 = 44, epoch:2 flags:4 (1 an answer is wanted) lease key:16
//! its acknowledgement      structure:2 = 36, reserved:2 flags:4 lease key:16
//! CREATE request           contexts' offset:4 at 48, length:4 at 52; each
//!                          next:4 name offset:2 name length:2 reserved:2 data offset:2 data length:4;
//!                          "RqLs": lease key:16
//! ```

use super::create::file;
use super::header::{HEADER, u16_at, u32_at};
use crate::session::Span;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use model::limits;
use std::hash::BuildHasher;
use std::sync::Arc;

/// Breaks that wait for their clients.
const BREAKS: usize = 64;

/// Contexts of one CREATE: clients send a handful.
const CONTEXTS: usize = 32;

const OPLOCK: u16 = 24;
const LEASE: u16 = 44;
const EXCLUSIVE: u8 = 8;
const BATCH: u8 = 9;

/// The oplock that a CREATE's response grants.
pub(super) fn level(message: &[u8]) -> u8 {
    message.get(HEADER + 2).copied().unwrap_or_default()
}

/// The lease that a CREATE asks for.
pub(super) fn lease(message: &[u8]) -> Option<u64> {
    let mut at = u32_at(message, HEADER + 48)? as usize;
    for _ in 0..CONTEXTS {
        let context = message.get(at..).filter(|_| at >= HEADER)?;
        let name = usize::from(u16_at(context, 4)?);
        if context.get(name..)?.starts_with(b"RqLs") && u16_at(context, 6)? == 4 {
            return file(context, usize::from(u16_at(context, 10)?));
        }
        match u32_at(context, 0)? as usize {
            0 => return None,
            next => at = at.checked_add(next)?,
        }
    }
    None
}

/// What one message about an oplock or a lease says: which, and whether an answer is wanted of a lease.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Told {
    pub key: u64,
    pub is_lease: bool,
    pub wants_answer: bool,
}

impl Told {
    pub(super) fn read(message: &[u8]) -> Option<Told> {
        let structure = u16_at(message, HEADER)?;
        let key = file(message, HEADER + 8)?;
        let flags = u32_at(message, HEADER + 4)?;
        Some(Told {
            key,
            is_lease: structure != OPLOCK,
            wants_answer: structure == LEASE && flags & 1 != 0,
        })
    }
}

#[derive(Clone, Copy, Debug)]
struct Open {
    file: Option<u64>,
    lease: Option<u64>,
    /// It is its own: nobody else opens it before it is given back.
    is_held: bool,
}

/// What the server asks to have back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Break {
    key: u64,
    pub file: Option<u64>,
    pub span: Span,
    pub bytes: u64,
}

#[derive(Default, Debug)]
pub(super) struct Opens {
    /// By the number of a file's id.
    files: HashMap<u64, Open, FixedState>,
    /// How many of them have a lease.
    leases: HashMap<u64, u32, FixedState>,
    /// The names of shares, by the numbers of trees.
    shares: HashMap<u32, Arc<str>, FixedState>,
    breaks: Vec<Break>,
}

impl Opens {
    /// A share is this tree from here on: the last part of its path.
    pub(super) fn connected(&mut self, tree: u32, path: &str) {
        let share = path.rsplit('\\').next().unwrap_or_default();
        if self.shares.len() >= limits::SMB_FILES {
            self.shares.clear();
        }
        self.shares.insert(tree, share.into());
    }

    /// The path of a file, from the share on where that is known.
    pub(super) fn path(&self, tree: Option<u32>, name: &str) -> Option<String> {
        let share = tree.and_then(|tree| self.shares.get(&tree));
        let name = name.replace('\\', "/");
        (!name.is_empty()).then(|| match share {
            Some(share) => format!("{share}/{name}"),
            None => name,
        })
    }

    /// A file was opened: the oplock that it was given, and the lease that it has.
    pub(super) fn opened(&mut self, id: u64, file: Option<u64>, level: u8, lease: Option<u64>) {
        if self.files.len() >= limits::SMB_FILES {
            // What is left of files that were closed unseen.
            self.files.clear();
            self.leases.clear();
        }
        if let Some(lease) = lease {
            *self.leases.entry(lease).or_default() += 1;
        }
        let open = Open {
            file,
            lease,
            is_held: matches!(level, EXCLUSIVE | BATCH),
        };
        self.files.insert(id, open);
    }

    /// The file with this id, as all who have it open know it.
    pub(super) fn file(&self, id: u64) -> Option<u64> {
        self.files.get(&id)?.file
    }

    /// The server says that another wants what this client holds.
    pub(super) fn breaks(&mut self, told: Told, span: Span, bytes: u64) {
        let open = match told.is_lease {
            true => self.files.values().find(|o| o.lease == Some(told.key)),
            false => self.files.get(&told.key).filter(|o| o.is_held),
        };
        let wanted = if told.is_lease {
            told.wants_answer
        } else {
            open.is_some()
        };
        if wanted && self.breaks.len() < BREAKS {
            self.breaks.push(Break {
                key: told.key,
                file: open.and_then(|o| o.file),
                span,
                bytes,
            });
        }
    }

    /// The client says what it still may do with it: what it was asked, if it was.
    pub(super) fn acknowledged(&mut self, told: Told) -> Option<Break> {
        if let Some(open) = self.files.get_mut(&told.key) {
            open.is_held = false;
        }
        self.given_back(told.key)
    }

    /// The client closes a file: what it was asked to give back, if that was the last that it had of it.
    pub(super) fn closed(&mut self, id: u64) -> Option<Break> {
        let open = self.files.remove(&id)?;
        let Some(lease) = open.lease else {
            return self.given_back(id);
        };
        let others = self.leases.entry(lease).or_default();
        *others = others.saturating_sub(1);
        if *others > 0 {
            return None;
        }
        self.leases.remove(&lease);
        self.given_back(lease)
    }

    fn given_back(&mut self, key: u64) -> Option<Break> {
        let at = self.breaks.iter().position(|b| b.key == key)?;
        Some(self.breaks.remove(at))
    }

    /// Nobody says any more what he gives back.
    pub(super) fn take_breaks(&mut self) -> Vec<Break> {
        std::mem::take(&mut self.breaks)
    }

    /// How many of how many bytes are kept.
    pub(super) fn kept(&self) -> (usize, usize) {
        let shares = self.shares.len();
        (
            self.files.len() + self.leases.len() + shares,
            size_of::<(u64, Open)>(),
        )
    }
}

/// A file by its path, as one number: paths that differ in case alone are the same.
pub(super) fn number(path: &str) -> u64 {
    FixedState::default().hash_one(path.to_lowercase())
}
