//! Bytes into a file in memory, for what only reads paths.

use std::fs;
use std::path::{Path, PathBuf};
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    /// A folder of this thread, so that nothing that commands write beside their files is another's.
    static FOLDER: PathBuf = {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let memory = Path::new("/dev/shm");
        // Whoever runs a fuzzer, which ends in many ways, says where and takes it away.
        let parent = match std::env::var_os("SLOWSIDE_SCRATCH") {
            Some(folder) => folder.into(),
            None if memory.is_dir() => memory.to_owned(),
            None => std::env::temp_dir(),
        };
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = parent.join(format!("slowside-fuzz-{}-{number}", process::id()));
        fs::create_dir_all(&folder).expect("scratch space");
        folder
    };
}

/// Where a file of this thread is.
pub(crate) fn path(name: &str) -> PathBuf {
    FOLDER.with(|folder| folder.join(name))
}

/// Writes a file of this thread, over what it held before.
pub(crate) fn file(name: &str, bytes: &[u8]) -> PathBuf {
    let path = path(name);
    fs::write(&path, bytes).expect("scratch space");
    path
}

/// Takes them all away: for threads that end in order.
pub fn sweep() {
    let _ = FOLDER.with(|folder| fs::remove_dir_all(folder));
}
