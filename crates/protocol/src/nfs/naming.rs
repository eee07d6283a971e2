//! What NFS's arguments and results say of files' names: the steps of a call, and the handles in its reply.
//! Only for who asks for it: there are as many names as files.

use super::compound::Found;
use super::v4_arguments::{self, name as skip_opaque};
use super::v4_results::{self, Returned};
use super::{handle, operation, v2, v3};
use crate::rpc::program::Arguments;
use crate::rpc::walk::{Listing, Location, Step, Walk, Walker, text};
use crate::xdr::Xdr;
use model::Naming;

/// `fattr3` (RFC 1813 section 2.6).
const ATTRIBUTES3: usize = 84;
/// `cookieverf3`, `verifier4`.
const VERIFIER: usize = 8;

/// The steps of a call that may tell names.
pub(super) fn walk(version: u32, procedure: u32, a: &Arguments, body: &[u8]) -> Option<Walk> {
    let mut x = Xdr::new(body);
    let x = &mut x;
    match (version, procedure) {
        // LOOKUP, CREATE, MKDIR (RFC 1094 section 2.2).
        (2, 4 | 9 | 14) => Some(entered(v2_handle(x)?, x.opaque()?)),
        // RENAME
        (2, 11) => {
            let (from, old) = (v2_handle(x)?, x.opaque()?);
            Some(moved(from, old, v2_handle(x)?, x.opaque()?))
        }
        // LINK
        (2, 12) => Some(linked(v2_handle(x)?, v2_handle(x)?, x.opaque()?)),
        // LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD (RFC 1813 section 3.3).
        (3, 3 | 8..=11) => Some(entered(handle::hash(x.opaque()?), x.opaque()?)),
        (3, 14) => {
            let (from, old) = (handle::hash(x.opaque()?), x.opaque()?);
            Some(moved(from, old, handle::hash(x.opaque()?), x.opaque()?))
        }
        (3, 15) => {
            let file = handle::hash(x.opaque()?);
            Some(linked(file, handle::hash(x.opaque()?), x.opaque()?))
        }
        (3, v3::READDIRPLUS) => {
            let directory = handle::hash(x.opaque()?);
            Some(Walk(vec![Step::Put(directory), Step::List]))
        }
        (4, operation::COMPOUND) => {
            let tells = |op: &u8| operation::TELL_NAMES.contains(op);
            a.operations.iter().any(tells).then(|| compound(x))
        }
        _ => None,
    }
}

fn v2_handle(x: &mut Xdr<'_>) -> Option<u64> {
    x.fixed::<{ v2::HANDLE }>().map(|h| handle::hash(h))
}

fn entered(directory: u64, name: &[u8]) -> Walk {
    let enter = Step::Enter(text(name));
    Walk(vec![Step::Put(directory), enter, Step::Handle])
}

fn moved(from: u64, old: &[u8], to: u64, new: &[u8]) -> Walk {
    let rename = Step::Rename(text(old), text(new));
    Walk(vec![Step::Put(from), Step::Save, Step::Put(to), rename])
}

fn linked(file: u64, directory: u64, name: &[u8]) -> Walk {
    let link = Step::Link(text(name));
    Walk(vec![
        Step::Put(file),
        Step::Save,
        Step::Put(directory),
        link,
    ])
}

/// A step for each operation, as far as they can be read.
fn compound(x: &mut Xdr<'_>) -> Walk {
    let mut walk = Walk::default();
    let _ = steps(x, &mut walk);
    walk
}

fn steps(x: &mut Xdr<'_>, walk: &mut Walk) -> Option<()> {
    skip_opaque(x)?; // tag
    x.skip(4)?; // minorversion
    for _ in 0..x.u32()? {
        let op = x.u32()?;
        let at = x.clone();
        let mut found = Found::default();
        v4_arguments::read(op, x, &mut found)?;
        let name = || {
            let (start, length) = found.name?;
            at.peek(start, length).map(text)
        };
        let step = match (op, found.file) {
            (operation::PUTFH, Some(file)) => Step::Put(file),
            (operation::PUTROOTFH, _) => Step::Root,
            (operation::SAVEFH, _) => Step::Save,
            (operation::RESTOREFH, _) => Step::Restore,
            (operation::GETFH, _) => Step::Handle,
            (operation::READDIR, _) => Step::List,
            // Without a name it stays with the file itself.
            (operation::OPEN, _) => name().map_or(Step::Stay, Step::Enter),
            (operation::CREATE | operation::LOOKUP, _) => name().map_or(Step::Lose, Step::Enter),
            (operation::LINK, _) => name().map_or(Step::Stay, Step::Link),
            (operation::RENAME, _) => {
                let mut names = at.clone();
                Step::Rename(text(names.opaque()?), text(names.opaque()?))
            }
            (op, _) if operation::LEAVES.contains(&op) => Step::Lose,
            _ => Step::Stay,
        };
        if !walk.push(step) {
            break;
        }
    }
    Some(())
}

/// Tells what a reply says of names; the entries of a directory are still to be read.
pub(super) fn walked(
    version: u32,
    procedure: u32,
    walk: &Walk,
    results: &[u8],
    tell: &mut dyn FnMut(Naming),
) -> Option<Listing> {
    let mut x = Xdr::new(results);
    let mut walker = Walker::default();
    if x.u32()? != 0 && version != 4 {
        return None;
    }
    if version == 4 {
        skip_opaque(&mut x)?; // tag
        x.skip(4)?; // count
    }
    for step in &walk.0 {
        let mut handle = None;
        if version == 4 {
            let (op, status) = (x.u32()?, x.u32()?);
            if status != 0 {
                return None;
            }
            match step {
                Step::Handle => handle = x.clone().opaque().map(handle::hash),
                Step::List => {
                    x.skip(VERIFIER)?;
                    return listing(&x, walker, version);
                }
                _ => {}
            }
            v4_results::read(op, &mut x, &mut Returned::default())?;
        } else {
            match step {
                Step::Handle => handle = Some(returned(version, procedure, &mut x)?),
                Step::List => {
                    attributes(&mut x)?;
                    x.skip(VERIFIER)?;
                    return listing(&x, walker, version);
                }
                _ => {}
            }
        }
        walker.step(step, handle).map(&mut *tell);
    }
    None
}

fn listing(x: &Xdr<'_>, walker: Walker, version: u32) -> Option<Listing> {
    Some(Listing {
        at: x.position(),
        directory: walker.current?,
        version,
    })
}

/// The handle that a reply of NFSv2 or v3 begins with.
fn returned(version: u32, procedure: u32, x: &mut Xdr<'_>) -> Option<u64> {
    // LOOKUP always has one, what creates may leave it out.
    if version == 3 && procedure != 3 && x.u32()? == 0 {
        return None;
    }
    match version {
        2 => v2_handle(x),
        _ => x.opaque().map(handle::hash),
    }
}

/// `post_op_attr`.
fn attributes(x: &mut Xdr<'_>) -> Option<()> {
    match x.u32()? {
        0 => Some(()),
        _ => x.skip(ATTRIBUTES3),
    }
}

/// Tells the entries of a directory that stand whole in `bytes`: how many bytes they are, and whether there
/// are more.
pub(crate) fn entries(
    listing: &Listing,
    bytes: &[u8],
    tell: &mut dyn FnMut(Naming),
) -> (usize, bool) {
    let mut x = Xdr::new(bytes);
    let mut read = 0;
    while let Some(entry) = entry(listing.version, &listing.directory, &mut x) {
        read = x.position();
        match entry {
            Entry::Last => return (read, false),
            Entry::Named(naming) => naming.into_iter().for_each(&mut *tell),
        }
    }
    (read, true)
}

enum Entry {
    Named(Option<Naming>),
    Last,
}

/// `entryplus3` (RFC 1813 section 3.3.17), `entry4` (RFC 8881 section 18.23).
fn entry(version: u32, directory: &Location, x: &mut Xdr<'_>) -> Option<Entry> {
    if x.u32()? == 0 {
        return Some(Entry::Last);
    }
    let (name, file) = match version {
        3 => {
            x.skip(8)?; // fileid
            let name = x.opaque()?;
            x.skip(8)?; // cookie
            attributes(x)?;
            let has_handle = x.u32()? != 0;
            let file = match has_handle {
                true => Some(x.opaque()?),
                false => None,
            };
            (name, file)
        }
        _ => {
            x.skip(8)?; // cookie
            let name = x.opaque()?;
            let mut mask = x.clone();
            v4_arguments::bitmap(x)?;
            let values = x.opaque()?;
            (name, among(&mut mask, values))
        }
    };
    // Its end, the padding of an opaque, may be cut; the next entry's start is then, too.
    let named = file.and_then(|f| directory.holds(&text(name), handle::hash(f)));
    Some(Entry::Named(named))
}

/// The handle among the attributes of NFSv4, which stand in the order of their numbers (RFC 8881 section
/// 5.8).
fn among<'a>(mask: &mut Xdr<'_>, values: &'a [u8]) -> Option<&'a [u8]> {
    const ACL: u32 = 12;
    const FILEHANDLE: u32 = 19;
    mask.skip(4)?; // its length
    let mask = mask.u32()?;
    let mut x = Xdr::new(values);
    for attribute in (0..FILEHANDLE).filter(|a| mask >> a & 1 == 1) {
        match attribute {
            0 => v4_arguments::bitmap(&mut x)?, // supported_attrs
            3 | 4 => x.skip(8)?,                // change, size
            8 => x.skip(16)?,                   // fsid
            ACL => x.each(|x| {
                x.skip(12)?;
                skip_opaque(x)
            })?,
            _ => x.skip(4)?,
        }
    }
    match mask >> FILEHANDLE & 1 {
        1 => x.opaque(),
        _ => None,
    }
}
