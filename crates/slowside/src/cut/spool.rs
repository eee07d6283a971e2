//! What can be read only once (standard input, pipes) into temporary files that can be read again.

use crate::Error;
use crate::config::Captures;
use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// Temporary files; they go when this does.
#[derive(Default)]
pub(super) struct Spooled {
    /// What each stands for.
    names: HashMap<PathBuf, String>,
}

impl Spooled {
    /// The same captures, of files that can be read again.
    pub(super) fn captures(&mut self, captures: &Captures) -> Result<Captures, Error> {
        let mut all = |paths: &[PathBuf]| -> Result<Vec<PathBuf>, Error> {
            paths.iter().map(|p| self.path(p)).collect()
        };
        Ok(match captures {
            Captures::One(a) => Captures::One(all(a)?),
            Captures::Two(a, b) => Captures::Two(all(a)?, all(b)?),
            Captures::Sides { client, server } => Captures::Sides {
                client: all(client)?,
                server: all(server)?,
            },
            Captures::Client(a) => Captures::Client(all(a)?),
            Captures::Server(a) => Captures::Server(all(a)?),
        })
    }

    fn path(&mut self, path: &Path) -> Result<PathBuf, Error> {
        let name = path.display().to_string();
        let stdin = name == "-";
        let once = |about: fs::Metadata| !about.is_file() && !about.is_dir();
        if !stdin && !fs::metadata(path).is_ok_and(once) {
            return Ok(path.to_owned());
        }
        let failed = |error: io::Error| {
            let folder = std::env::temp_dir();
            Error::Message(format!(
                "cannot keep {name} in {}, which is read several times: {error}; set TMPDIR to a folder with room, or save it to a file",
                folder.display()
            ))
        };
        let (spool, mut file) = new_file().map_err(failed)?;
        self.names.insert(spool.clone(), name.clone());
        let copied = if stdin {
            io::copy(&mut io::stdin().lock(), &mut file)
        } else {
            File::open(path).and_then(|mut pipe| io::copy(&mut pipe, &mut file))
        };
        copied.map_err(failed)?;
        Ok(spool)
    }

    /// What a file is called by whoever gave it.
    pub(super) fn name(&self, file: &str) -> String {
        let spooled = self.names.get(Path::new(file));
        spooled.cloned().unwrap_or_else(|| file.to_owned())
    }
}

impl Drop for Spooled {
    fn drop(&mut self) {
        for path in self.names.keys() {
            // What cannot be removed is in a folder that is cleaned.
            let _ = fs::remove_file(path);
        }
    }
}

/// A new file, readable by its owner alone.
fn new_file() -> io::Result<(PathBuf, File)> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut tries = 0..1_000;
    loop {
        let n = tries.next();
        let name = format!("slowside-{}-{}.capture", std::process::id(), n.unwrap_or(0));
        let path = std::env::temp_dir().join(name);
        match options.open(&path) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && n.is_some() => {}
            opened => return opened.map(|file| (path, file)),
        }
    }
}
