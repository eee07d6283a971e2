//! What packets say of files' names, into the path of a file as far as it is known.
//!
//! A name stands below a handle, and that one's name below another: a path is put together from the file
//! up to where the server's paths begin (then it starts with a slash) or to a directory of which no name was
//! seen (then it does not). What was said last holds. Servers are not told apart, as handles are not
//! wherever files are listed.
//!
//! A file that is removed while it is open gets a name like `.nfs0000…` from its client: that is nobody's
//! name for it, and the one before stays.

use hashbrown::HashMap;
use model::{Call, Directory, Field, FileName, Naming, Problems, Where, limits};
use std::sync::Arc;

/// Names above one file at most: those of a path, and no circle.
const DEPTH: usize = 128;

#[derive(Debug)]
struct Named {
    within: Directory,
    name: Arc<str>,
}

/// What is known of one capture's files.
#[derive(Default, Debug)]
pub struct FileNames {
    files: HashMap<u64, Named, foldhash::fast::FixedState>,
    /// The file that has a name, to follow it when it is renamed.
    holders: HashMap<(Directory, Arc<str>), u64, foldhash::fast::FixedState>,
    bytes: usize,
    most: Option<usize>,
    pub problems: Problems,
}

impl FileNames {
    /// The same with at most so many bytes.
    #[cfg(test)]
    pub(crate) fn with_most(bytes: usize) -> FileNames {
        FileNames {
            most: Some(bytes),
            ..FileNames::default()
        }
    }

    /// Takes what a packet said; to be called in the order of packets.
    pub fn learn(&mut self, said: &FileName) {
        match &said.naming {
            Naming::Is { file, within, name } => self.name(*file, *within, name),
            Naming::Also { file, within, name } => {
                if !self.files.contains_key(file) {
                    self.name(*file, *within, name);
                }
            }
            Naming::Moved { from, to } => {
                if let Some(&file) = self.holders.get(from) {
                    self.name(file, to.0, &to.1);
                }
            }
        }
    }

    fn name(&mut self, file: u64, within: Directory, name: &Arc<str>) {
        let known = self.files.get_mut(&file);
        if let Some(known) = &known
            && ((known.within, &known.name) == (within, name) || is_leftover(name))
        {
            return;
        }
        let bytes = |name: &str| name.len() + limits::FILE_NAME_BYTES_EACH;
        let before = known.as_ref().map_or(0, |k| bytes(&k.name));
        let after = self.bytes - before + bytes(name);
        if after > self.most.unwrap_or(limits::FILE_NAME_BYTES) {
            self.problems.note("file-names-full", || {
                let limit = limits::FILE_NAME_BYTES >> 20;
                let text = format!(
                    "names of files take up more than {limit} MiB; further files go without"
                );
                (text, Where::default())
            });
            return;
        }
        self.bytes = after;
        let now = Named {
            within,
            name: Arc::clone(name),
        };
        if let Some(old) = self.files.insert(file, now) {
            let key = (old.within, old.name);
            if self.holders.get(&key) == Some(&file) {
                self.holders.remove(&key);
            }
        }
        self.holders.insert((within, Arc::clone(name)), file);
    }

    /// The path of the file with this handle.
    #[must_use]
    pub fn path(&self, file: u64) -> Option<String> {
        let mut names = Vec::new();
        let mut at = Directory::File(file);
        while let Directory::File(file) = at
            && names.len() < DEPTH
            && let Some(named) = self.files.get(&file)
        {
            names.push(&*named.name);
            at = named.within;
        }
        if names.is_empty() {
            return None;
        }
        if names.len() == DEPTH {
            names.truncate(1);
        }
        let path: Vec<&str> = (names.into_iter().rev())
            .filter(|n| !n.is_empty())
            .collect();
        let root = if at == Directory::Root { "/" } else { "" };
        Some(format!("{root}{}", path.join("/")))
    }

    /// What a file lies below where the server's paths begin: its whole name there.
    #[must_use]
    pub fn export(&self, file: u64) -> Option<String> {
        let mut at = file;
        for _ in 0..DEPTH {
            let named = self.files.get(&at)?;
            match named.within {
                Directory::Root => return Some(format!("/{}", named.name)),
                Directory::File(above) => at = above,
            }
        }
        None
    }

    /// The path of the file that a call is about.
    #[must_use]
    pub fn path_of(&self, call: &Call) -> Option<String> {
        self.path(call.detail.get(Field::File)?)
    }
}

/// Whether a client gave this name to a file that was removed while it was open.
fn is_leftover(name: &str) -> bool {
    let own = name.rsplit('/').next().unwrap_or(name);
    own.strip_prefix(".nfs")
        .is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Directory::{File, Root};
    use model::ConnectionId;

    fn is(file: u64, within: Directory, name: &str) -> Naming {
        let name = name.into();
        Naming::Is { file, within, name }
    }

    fn moved(from: (Directory, &str), to: (Directory, &str)) -> Naming {
        Naming::Moved {
            from: (from.0, from.1.into()),
            to: (to.0, to.1.into()),
        }
    }

    fn learn(names: &mut FileNames, said: &[Naming]) {
        for (order, naming) in said.iter().enumerate() {
            names.learn(&FileName {
                order: order as u64,
                connection: ConnectionId(0),
                naming: naming.clone(),
            });
        }
    }

    fn named(said: &[Naming]) -> FileNames {
        let mut names = FileNames::default();
        learn(&mut names, said);
        names
    }

    fn path(said: &[Naming], file: u64) -> Option<String> {
        named(said).path(file)
    }

    #[test]
    fn a_path_goes_up_to_the_root_or_to_the_last_directory_with_a_name() {
        let mut said = vec![is(3, File(2), "c"), is(2, File(1), "b")];
        assert_eq!(path(&said, 3).as_deref(), Some("b/c"));
        said.push(is(1, Root, "srv/a"));
        assert_eq!(path(&said, 3).as_deref(), Some("/srv/a/b/c"));
        assert_eq!(path(&said, 1).as_deref(), Some("/srv/a"));
        assert_eq!(path(&said, 4), None);
        assert_eq!(named(&said).export(3).as_deref(), Some("/srv/a"));
        assert_eq!(path(&[is(1, Root, "")], 1).as_deref(), Some("/"));
    }

    #[test]
    fn a_file_goes_by_what_it_was_called_last() {
        let said = [
            is(2, File(1), "a"),
            moved((File(1), "a"), (File(1), "b")),
            is(3, File(1), "a"),
            moved((File(1), "a"), (File(4), "c")),
        ];
        assert_eq!(path(&said, 2).as_deref(), Some("b"));
        assert_eq!(path(&said, 3).as_deref(), Some("c"));
        assert_eq!(path(&[moved((File(1), "x"), (File(1), "y"))], 1), None);
    }

    #[test]
    fn a_hard_link_names_only_what_has_no_name() {
        let also = |file| Naming::Also {
            file,
            within: Root,
            name: "link".into(),
        };
        let said = [is(2, Root, "a"), also(2), also(3)];
        assert_eq!(path(&said, 2).as_deref(), Some("/a"));
        assert_eq!(path(&said, 3).as_deref(), Some("/link"));
    }

    #[test]
    fn what_is_left_of_a_removed_file_keeps_its_name() {
        let said = [
            is(2, File(1), "a"),
            moved((File(1), "a"), (File(1), ".nfs000000000015")),
            is(3, File(1), ".nfs00ab"),
            is(4, File(1), ".nfsd"),
        ];
        assert_eq!(path(&said, 2).as_deref(), Some("a"));
        assert_eq!(path(&said, 3).as_deref(), Some(".nfs00ab"));
        assert_eq!(path(&said, 4).as_deref(), Some(".nfsd"));
    }

    #[test]
    fn directories_in_a_circle_end() {
        let said = [is(1, File(2), "a"), is(2, File(1), "b")];
        assert_eq!(path(&said, 1).as_deref(), Some("a"));
    }

    #[test]
    fn further_files_go_without_a_name_and_are_counted() {
        let mut names = FileNames::with_most(2 * limits::FILE_NAME_BYTES_EACH + 2);
        let said = [is(1, Root, "a"), is(2, Root, "b"), is(3, Root, "c")];
        learn(&mut names, &said);
        // A name in place of another takes no more.
        learn(&mut names, &[is(1, Root, "d"), is(4, Root, "e")]);
        let paths: Vec<_> = (1..=4).map(|file| names.path(file)).collect();
        assert_eq!(paths, [Some("/d".into()), Some("/b".into()), None, None]);
        let counted = names.problems.iter().map(|(kind, p)| (kind, p.count));
        assert_eq!(counted.collect::<Vec<_>>(), [("file-names-full", 2)]);
    }
}
