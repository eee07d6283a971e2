//! A file beside its target, which has no name until it takes the target's. Where there are no such files (macOS,
//! Windows, NFS) it has one that begins with a dot, and loses it when it is dropped.

use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use tempfile::{Builder, TempPath};

#[derive(Debug)]
pub(crate) struct Beside {
    file: File,
    /// Its name until it has another, where it has one.
    name: Option<TempPath>,
    folder: PathBuf,
}

impl Beside {
    /// A file in that folder, with the owner and the permissions of the one that it is to replace.
    pub(crate) fn new(folder: &Path, there: Option<&Metadata>) -> io::Result<Beside> {
        match unnamed(folder)? {
            Some(file) => Beside::of(file, None, folder, there),
            None => Beside::named(folder, there),
        }
    }

    pub(crate) fn named(folder: &Path, there: Option<&Metadata>) -> io::Result<Beside> {
        let mut builder = builder();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What the user's mask leaves of it, as of any new file.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let (file, name) = builder.tempfile_in(folder)?.into_parts();
        Beside::of(file, Some(name), folder, there)
    }

    fn of(
        file: File,
        name: Option<TempPath>,
        folder: &Path,
        there: Option<&Metadata>,
    ) -> io::Result<Beside> {
        if let Some(there) = there {
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, fchown};
                // Only root may give a file to another; whoever cannot is its owner from now on. Before the
                // permissions, some of which a new owner loses.
                let _ = fchown(&file, Some(there.uid()), Some(there.gid()))
                    .or_else(|_| fchown(&file, None, Some(there.gid())));
            }
            file.set_permissions(there.permissions())?;
        }
        Ok(Beside {
            file,
            name,
            folder: folder.to_owned(),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Takes the place of `target`, or a place where nothing is.
    pub(crate) fn replace(self, target: &Path) -> io::Result<()> {
        let Beside { file, name, folder } = self;
        whole(&file, name, &folder)?.persist(target)?;
        lasting(&folder);
        Ok(())
    }

    /// Takes the first of these names that is free.
    pub(crate) fn take(self, names: impl Iterator<Item = PathBuf>) -> io::Result<Option<PathBuf>> {
        let Beside { file, name, folder } = self;
        let mut name = whole(&file, name, &folder)?;
        for to in names {
            match name.persist_noclobber(&to) {
                Ok(()) => {
                    lasting(&folder);
                    return Ok(Some(to));
                }
                Err(e) if e.error.kind() == io::ErrorKind::AlreadyExists => name = e.path,
                Err(e) => return Err(e.error),
            }
        }
        Ok(None)
    }
}

/// Its bytes come to the disk before its name does, or a loss of power could leave a name without them. A link
/// replaces nothing, so it has a name of its own for the moment before.
fn whole(file: &File, name: Option<TempPath>, folder: &Path) -> io::Result<TempPath> {
    file.sync_all()?;
    match name {
        Some(name) => Ok(name),
        None => {
            let linked = builder().make_in(folder, |path| link(file, path))?;
            Ok(linked.into_temp_path())
        }
    }
}

/// Its name comes to the disk, too. The file is whole in any case, so that not every file system can is no failure.
fn lasting(folder: &Path) {
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    #[cfg(not(unix))]
    let _ = folder;
}

fn builder() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(".slowside-").suffix(".part");
    builder
}

/// A file without a name, where the file system has such and it can be given one later.
#[cfg(target_os = "linux")]
fn unnamed(folder: &Path) -> io::Result<Option<File>> {
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;
    let flags = OFlags::TMPFILE | OFlags::WRONLY | OFlags::CLOEXEC;
    match open(folder, flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => {
            let file = File::from(file);
            Ok(open_name(&file).exists().then_some(file))
        }
        // What file systems and kernels say that do not know of such files.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL | Errno::NOENT) => Ok(None),
        Err(e) => Err(e.into()),
    }
}

#[cfg(not(target_os = "linux"))]
fn unnamed(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

/// Gives it a name that nothing has.
#[cfg(target_os = "linux")]
fn link(file: &File, path: &Path) -> io::Result<()> {
    use rustix::fs::{AtFlags, CWD, linkat};
    let flags = AtFlags::SYMLINK_FOLLOW;
    Ok(linkat(CWD, open_name(file), CWD, path, flags)?)
}

#[cfg(not(target_os = "linux"))]
fn link(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// What open(2) says of `O_TMPFILE`: by this name it can be linked without privileges.
#[cfg(target_os = "linux")]
fn open_name(file: &File) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd()).into()
}
