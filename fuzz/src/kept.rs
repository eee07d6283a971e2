//! The repository's inputs of a target: its seeds, which are files, and what runs of the fuzzer found beyond them, which
//! are some hundreds in one compressed archive. As files they would be more blocks of the disk than bytes, and each
//! run that finds smaller ones would take hundreds away and add as many.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Seeds and corpus of a target, each with its name.
///
/// # Errors
/// When they cannot be read.
pub fn inputs(target: &str) -> io::Result<Vec<(String, Vec<u8>)>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    read(&folder.join("seeds").join(target), &mut all)?;
    read(
        &folder.join("corpus").join(format!("{target}.tar.zst")),
        &mut all,
    )?;
    Ok(all)
}

/// An input, a folder of them, or an archive; nothing where nothing is.
///
/// # Errors
/// When something is there and cannot be read.
pub fn read(path: &Path, into: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    if path.is_dir() {
        let mut paths = Vec::new();
        for entry in fs::read_dir(path)? {
            paths.push(entry?.path());
        }
        paths.sort();
        return paths.iter().try_for_each(|p| read(p, into));
    }
    let bytes = match fs::read(path) {
        // A fuzzer that runs at the same time replaces inputs by shorter ones.
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        bytes => bytes?,
    };
    let name = path.display().to_string();
    match name.ends_with(".tar.zst") {
        true => members(&name, &zstd::stream::decode_all(&bytes[..])?, into),
        false => into.push((name, bytes)),
    }
    Ok(())
}

/// The plain files of an archive (POSIX.1-2017 pax, `ustar`): a block of 512 bytes with name and size in octal, and as many
/// blocks as hold so much.
fn members(archive: &str, mut tar: &[u8], into: &mut Vec<(String, Vec<u8>)>) {
    const BLOCK: usize = 512;
    let word = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.trim_matches(['\0', ' ']).to_owned()
    };
    let mut header = [0; BLOCK];
    while tar.read_exact(&mut header).is_ok() && header[0] != 0 {
        let size = usize::from_str_radix(&word(&header[124..136]), 8).expect("a size");
        let (body, rest) = tar.split_at(size);
        if matches!(header[156], 0 | b'0') {
            into.push((
                format!("{archive}: {}", word(&header[..100])),
                body.to_vec(),
            ));
        }
        tar = &rest[size.next_multiple_of(BLOCK) - size..];
    }
}
