//! What the operations of a message do to handles and names, into what they say of files' names: a LOOKUP
//! of `name` in a directory whose reply holds a handle says that this handle is called `name` there.
//!
//! A programme puts its arguments into [`Step`]s, and its results say how far they were walked and which
//! handles came of it. All of them are the same few steps: those of NFSv4 stand one after another in a
//! compound, those of earlier versions and of MOUNT are two or three at once.

use model::{Directory, Naming, limits};
use std::sync::Arc;

/// What one operation does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// Goes to the file with this handle.
    Put(u64),
    /// Goes to where the server's paths begin.
    Root,
    /// Goes on to what is called so.
    Enter(Arc<str>),
    /// Goes to where nobody knows.
    Lose,
    Save,
    Restore,
    /// What was called the first in the saved directory is the second in this one.
    Rename(Arc<str>, Arc<str>),
    /// The saved file is called so, too.
    Link(Arc<str>),
    /// Asks for the handle of where it is.
    Handle,
    /// Asks for what is here.
    List,
    /// None of these.
    Stay,
}

/// The steps of one message, for its reply.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Walk(pub Vec<Step>);

impl Walk {
    /// Steps of one message at most; the others are not walked.
    const STEPS: usize = 64;

    /// Adds a step; `false`: there are enough.
    pub(crate) fn push(&mut self, step: Step) -> bool {
        self.0.push(step);
        self.0.len() < Walk::STEPS
    }
}

/// Somewhere below a handle or the root.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Location {
    within: Directory,
    path: String,
}

impl Location {
    fn at(within: Directory) -> Location {
        let path = String::new();
        Location { within, path }
    }

    /// What is called so here; of no name, and of what leads elsewhere, nothing is known.
    fn join(&self, name: &str) -> Option<Location> {
        let name = name.trim_matches('/');
        let long = self.path.len() + name.len() >= limits::FILE_NAME;
        if matches!(name, "." | "..") || long {
            return None;
        }
        let slash = !self.path.is_empty() && !name.is_empty();
        let path = [self.path.as_str(), if slash { "/" } else { "" }, name].concat();
        Some(Location {
            within: self.within,
            path,
        })
    }

    /// That it is this file; of a handle itself, there is nothing to say.
    fn is(&self, file: u64) -> Option<Naming> {
        if self.within == Directory::File(file)
            || (self.path.is_empty() && self.within != Directory::Root)
        {
            return None;
        }
        Some(Naming::Is {
            file,
            within: self.within,
            name: self.path.as_str().into(),
        })
    }

    fn key(self) -> (Directory, Arc<str>) {
        (self.within, self.path.into())
    }

    /// That `name` here is this file.
    pub(crate) fn holds(&self, name: &str, file: u64) -> Option<Naming> {
        self.join(name)?.is(file)
    }
}

/// Walks.
#[derive(Default)]
pub struct Walker {
    pub current: Option<Location>,
    saved: Option<Location>,
}

impl Walker {
    /// Takes a step that the server took as well; `handle` is what it told. What this says.
    pub fn step(&mut self, step: &Step, handle: Option<u64>) -> Option<Naming> {
        let join = |place: &Option<Location>, name: &str| place.as_ref()?.join(name);
        match step {
            Step::Put(file) => self.current = Some(Location::at(Directory::File(*file))),
            Step::Root => self.current = Some(Location::at(Directory::Root)),
            Step::Enter(name) => self.current = join(&self.current, name),
            Step::Lose => self.current = None,
            Step::Save => self.saved = self.current.clone(),
            Step::Restore => self.current = self.saved.clone(),
            Step::Rename(from, to) => {
                let (from, to) = (join(&self.saved, from)?, join(&self.current, to)?);
                return Some(Naming::Moved {
                    from: from.key(),
                    to: to.key(),
                });
            }
            Step::Link(name) => {
                let linked = self.saved.as_ref().filter(|p| p.path.is_empty())?;
                let Directory::File(file) = linked.within else {
                    return None;
                };
                let (within, name) = self.current.as_ref()?.join(name)?.key();
                return Some(Naming::Also { file, within, name });
            }
            Step::Handle => {
                let file = handle?;
                let here = Location::at(Directory::File(file));
                return self.current.replace(here)?.is(file);
            }
            Step::List | Step::Stay => {}
        }
        None
    }
}

/// A directory's entries that are still to come in a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listing {
    /// Where the first one stands, in bytes from the start of the results, and then of the message.
    pub at: usize,
    pub directory: Location,
    pub version: u32,
}

/// Names are bytes that should be UTF-8 (RFC 8881 section 14); what would be an order to a terminal is
/// none of them.
pub(crate) fn text(name: &[u8]) -> Arc<str> {
    let odd = |c: char| match c.is_control() {
        true => char::REPLACEMENT_CHARACTER,
        false => c,
    };
    String::from_utf8_lossy(name)
        .chars()
        .map(odd)
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walk(steps: &[(Step, Option<u64>)]) -> Vec<Naming> {
        let mut walker = Walker::default();
        steps
            .iter()
            .filter_map(|(step, handle)| walker.step(step, *handle))
            .collect()
    }

    fn is(file: u64, within: Directory, name: &str) -> Naming {
        let name = name.into();
        Naming::Is { file, within, name }
    }

    #[test]
    fn a_handle_is_named_by_the_way_to_it() {
        let enter = |name: &str| (Step::Enter(name.into()), None);
        let told = walk(&[
            (Step::Root, None),
            (Step::Handle, Some(1)),
            enter("export"),
            enter("home"),
            (Step::Handle, Some(2)),
            enter("a"),
            (Step::Handle, Some(3)),
            (Step::Handle, Some(3)),
        ]);
        assert_eq!(
            told,
            [
                is(1, Directory::Root, ""),
                is(2, Directory::File(1), "export/home"),
                is(3, Directory::File(2), "a"),
            ]
        );
    }

    #[test]
    fn ways_that_lead_elsewhere_name_nothing() {
        for step in [
            Step::Lose,
            Step::Enter("..".into()),
            Step::Enter(".".into()),
        ] {
            let steps = [
                (Step::Put(1), None),
                (step, None),
                (Step::Enter("a".into()), None),
                (Step::Handle, Some(2)),
            ];
            assert_eq!(walk(&steps), []);
        }
    }

    #[test]
    fn what_is_renamed_or_linked_is_told_from_both_directories() {
        let between = |step| {
            walk(&[
                (Step::Put(1), None),
                (Step::Save, None),
                (Step::Put(2), None),
                (step, None),
            ])
        };
        assert_eq!(
            between(Step::Rename("a".into(), "b".into())),
            [Naming::Moved {
                from: (Directory::File(1), "a".into()),
                to: (Directory::File(2), "b".into()),
            }]
        );
        assert_eq!(
            between(Step::Link("b".into())),
            [Naming::Also {
                file: 1,
                within: Directory::File(2),
                name: "b".into(),
            }]
        );
    }
}
