//! The name that a call's arguments carry: of a file in its directory, or, of a compound, of one after the
//! other, as a path. Only for who asks for it: there are as many names as files.

use super::compound::Found;
use super::{operation, v2, v4_arguments};
use crate::xdr::Xdr;

/// The name among the arguments; `None` where there is none or it was cut.
pub(super) fn read(version: u32, procedure: u32, body: &[u8]) -> Option<String> {
    let mut x = Xdr::new(body);
    match (version, procedure) {
        // LOOKUP, CREATE, REMOVE, RENAME, SYMLINK, MKDIR, RMDIR (RFC 1094 section 2.2).
        (2, 4 | 9 | 10 | 11 | 13 | 14 | 15) => {
            x.skip(v2::HANDLE)?;
            Some(text(x.opaque()?))
        }
        // LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD, REMOVE, RMDIR, RENAME (RFC 1813 section 3.3).
        (3, 3 | 8..=14) => {
            x.opaque()?;
            Some(text(x.opaque()?))
        }
        (4, operation::COMPOUND) => path(&mut x),
        _ => None,
    }
}

/// What a compound's operations name, joined by slashes.
fn path(x: &mut Xdr<'_>) -> Option<String> {
    x.opaque()?; // tag
    x.skip(4)?; // minorversion
    let count = x.u32()?;
    let mut path = String::new();
    for _ in 0..count {
        let Some(op) = x.u32() else { break };
        let mut found = Found::default();
        let at = x.clone();
        let passed = v4_arguments::read(op, x, &mut found);
        if let Some((start, length)) = found.name
            && let Some(name) = at.peek(start, length)
        {
            if !path.is_empty() {
                path.push('/');
            }
            path.push_str(&text(name));
        }
        if passed.is_none() {
            break;
        }
    }
    (!path.is_empty()).then_some(path)
}

/// Names are bytes that should be UTF-8 (RFC 8881 section 14).
fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}
