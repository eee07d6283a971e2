//! A saved run: a line that says what it is and in which version, then what is [kept](Kept) of it in the bytes
//! that its numbers need.

use super::blocks::Blocks;
use super::kept::Kept;
use super::snapshot::Snapshot;

/// The first line of a file that holds a run of this version.
pub const SCHEMA: &str = "slowside.saved/5";

/// What every version begins with.
const FAMILY: &str = "slowside.saved/";

/// Longer first lines belong to something else.
const LONGEST_LINE: usize = 64;

/// Why bytes are no run that can be compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Unreadable {
    /// Not a saved run at all: a capture, perhaps.
    Other,
    /// Of another version, with its name.
    Version(String),
    Damaged,
}

/// Whether a file that begins so is a saved run, of whatever version.
#[must_use]
pub fn is_saved(start: &[u8]) -> bool {
    start.starts_with(FAMILY.as_bytes())
}

/// A run as the bytes of a file.
#[must_use]
pub fn save(run: &Kept) -> Vec<u8> {
    let mut bytes = format!("{SCHEMA}\n").into_bytes();
    // It fails for sequences of unknown length, of which there are none.
    if let Ok(packed) = postcard::to_allocvec(run) {
        bytes.extend(packed);
    }
    bytes
}

/// The run that a file holds.
///
/// # Errors
/// When it holds none of this version.
pub fn load(bytes: &[u8]) -> Result<Kept, Unreadable> {
    if !is_saved(bytes) {
        return Err(Unreadable::Other);
    }
    let line = bytes
        .iter()
        .take(LONGEST_LINE)
        .position(|b| *b == b'\n')
        .and_then(|end| bytes.split_at_checked(end));
    let Some((line, rest)) = line else {
        return Err(Unreadable::Damaged);
    };
    if line != SCHEMA.as_bytes() {
        return Err(Unreadable::Version(
            String::from_utf8_lossy(line).into_owned(),
        ));
    }
    let packed = rest.get(1..).unwrap_or_default();
    match postcard::take_from_bytes::<Kept>(packed) {
        Ok((run, [])) if snapshots(&run).all(is_sound) => Ok(run),
        _ => Err(Unreadable::Damaged),
    }
}

fn snapshots(run: &Kept) -> impl Iterator<Item = &Snapshot> {
    let own = run.tiers.iter().filter_map(|t| t.own.as_ref());
    std::iter::once(&run.whole).chain(&run.ends).chain(own)
}

/// Whether the parts fit together as they do in what [`save`] wrote.
fn is_sound(s: &Snapshot) -> bool {
    let wire = s.wire.iter().chain([&s.progress]);
    s.parts.is_sound()
        && wire.into_iter().all(Blocks::is_sound)
        && s.subjects.iter().all(|s| s.blocks.is_sound())
}
