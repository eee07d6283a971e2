//! The programmes that are understood, and the few things all of them need: names of procedures and
//! of statuses.

use super::program::Program;
use crate::{mount, nfs, nlm, nsm, portmap, rquota};
use model::{Detail, Field, Name, Outcome};

/// Every programme with a number of its own. [`nfs::CALLBACK`] is not among them: its number is
/// chosen by each NFS client.
pub const PROGRAMS: &[&dyn Program] = &[
    &nfs::Nfs,
    &nfs::Acl,
    &mount::Mount,
    &portmap::Portmap,
    &nlm::Nlm,
    &nsm::Nsm,
    &rquota::Rquota,
];

/// The programme of that number.
#[must_use]
pub fn program(number: u32) -> Option<&'static dyn Program> {
    PROGRAMS.iter().find(|p| p.number() == number).copied()
}

/// The name of a procedure; one that is not in the table (or is `""` there) by its number.
pub(crate) fn procedure(names: &[Name], number: u32) -> Name {
    match names.get(number as usize) {
        Some(&name) if !name.is_empty() => name,
        _ => name_of_number(number),
    }
}

pub(crate) fn name_of_number(number: u32) -> Name {
    Name::of(&number.to_string())
}

/// What a status means: `ok` is success, every other number has its name in `names` or is kept as
/// [`Field::Status`].
pub(crate) fn outcome(
    names: &[(u32, &'static str)],
    ok: u32,
    status: u32,
    detail: &mut Detail,
) -> Outcome {
    if status == ok {
        return Outcome::Ok;
    }
    match names.iter().find(|(number, _)| *number == status) {
        Some((_, name)) => Outcome::Error(name),
        None => {
            detail.set(Field::Status, u64::from(status));
            Outcome::Error("error")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_is_found_by_its_number() {
        for number in [
            100_003, 100_227, 100_005, 100_000, 100_021, 100_024, 100_011,
        ] {
            assert_eq!(program(number).map(|p| p.number()), Some(number));
        }
        assert!(program(100_300).is_none());
    }

    #[test]
    fn procedures_without_a_name_are_called_by_their_number() {
        let names = Name::all(["NULL", ""]);
        assert_eq!(procedure(&names, 0).as_str(), "NULL");
        assert_eq!(procedure(&names, 1).as_str(), "1");
        assert_eq!(procedure(&names, u32::MAX).as_str(), "4294967295");
    }

    #[test]
    fn a_status_without_a_name_keeps_its_number() {
        let names = &[(2, "TWO")];
        let mut detail = Detail::default();
        assert_eq!(outcome(names, 0, 0, &mut detail), Outcome::Ok);
        assert_eq!(outcome(names, 0, 2, &mut detail), Outcome::Error("TWO"));
        assert!(detail.is_empty());
        assert_eq!(outcome(names, 0, 9, &mut detail), Outcome::Error("error"));
        assert_eq!(detail.get(Field::Status), Some(9));
    }
}
