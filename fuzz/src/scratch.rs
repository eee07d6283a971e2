//! Bytes into a file in memory, for what only reads paths.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes a file of this process, over what it held before.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() {
        memory.to_owned()
    } else {
        std::env::temp_dir()
    };
    let path = folder.join(format!("slowside-fuzz-{}-{name}", std::process::id()));
    fs::write(&path, bytes).expect("scratch space");
    path
}
