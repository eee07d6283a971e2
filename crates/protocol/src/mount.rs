//! MOUNT, programme 100005 (v1 of RFC 1094 appendix A, Sun's v2 with PATHCONF, v3 of RFC 1813
//! appendix I): names and outcomes.
//!
//! Only MNT has a status. In v1 and v2 it is a UNIX error number, so it is named like one.

use crate::nfs::handle_hash;
use crate::rpc::program::{Arguments, Program};
use crate::rpc::programs;
use crate::rpc::walk::{Listing, Step, Walk, Walker, text};
use crate::xdr::Xdr;
use model::{Name, Naming, Outcome, Protocol};

#[derive(Clone, Copy, Debug)]
pub struct Mount;

const PROCEDURES: [Name; 8] = Name::all([
    "NULL",
    "MNT",
    "DUMP",
    "UMNT",
    "UMNTALL",
    "EXPORT",
    "EXPORTALL",
    "PATHCONF",
]);
const MNT: u32 = 1;

/// Bytes of a handle before version 3 (RFC 1094 section A.2).
const HANDLE2: usize = 32;

const ERRNO: &[(u32, &str)] = &[
    (1, "EPERM"),
    (2, "ENOENT"),
    (5, "EIO"),
    (13, "EACCES"),
    (20, "ENOTDIR"),
    (22, "EINVAL"),
];
const MNT3: &[(u32, &str)] = &[
    (1, "MNT3ERR_PERM"),
    (2, "MNT3ERR_NOENT"),
    (5, "MNT3ERR_IO"),
    (13, "MNT3ERR_ACCES"),
    (20, "MNT3ERR_NOTDIR"),
    (22, "MNT3ERR_INVAL"),
    (63, "MNT3ERR_NAMETOOLONG"),
    (10_004, "MNT3ERR_NOTSUPP"),
    (10_006, "MNT3ERR_SERVERFAULT"),
];

/// The procedures of a version are a prefix of the list.
fn procedures(version: u32) -> &'static [Name] {
    let count = match version {
        1 => 7,
        2 => 8,
        3 => 6,
        _ => 0,
    };
    PROCEDURES.get(..count).unwrap_or_default()
}

impl Program for Mount {
    fn number(&self) -> u32 {
        100_005
    }

    fn read(&self, version: u32, procedure: u32, _body: &[u8], a: &mut Arguments) {
        let op = programs::procedure(procedures(version), procedure);
        a.begin(Protocol::Mount, op);
    }

    /// The directory.
    fn name(&self, version: u32, procedure: u32, body: &[u8]) -> Option<String> {
        let op = procedures(version).get(procedure as usize)?;
        let has_path = ["MNT", "UMNT", "PATHCONF"].contains(&op.as_str());
        let path = Xdr::new(body).opaque().filter(|_| has_path)?;
        Some(String::from_utf8_lossy(path).into_owned())
    }

    fn results(
        &self,
        version: u32,
        procedure: u32,
        arguments: &mut Arguments,
        body: &[u8],
    ) -> Outcome {
        let names = if version == 3 { MNT3 } else { ERRNO };
        match Xdr::new(body).u32() {
            Some(status) if procedure == MNT => {
                programs::outcome(names, 0, status, &mut arguments.detail)
            }
            _ => Outcome::Ok,
        }
    }

    /// The path that is mounted: a name in the root of all that the server has.
    fn walk(&self, _version: u32, procedure: u32, _a: &Arguments, body: &[u8]) -> Option<Walk> {
        let path = Xdr::new(body).opaque().filter(|_| procedure == MNT)?;
        Some(Walk(vec![
            Step::Root,
            Step::Enter(text(path)),
            Step::Handle,
        ]))
    }

    fn walked(
        &self,
        version: u32,
        _procedure: u32,
        walk: &Walk,
        results: &[u8],
        tell: &mut dyn FnMut(Naming),
    ) -> Option<Listing> {
        let mut x = Xdr::new(results);
        if x.u32()? != 0 {
            return None;
        }
        let file = match version {
            3 => handle_hash(x.opaque()?),
            _ => handle_hash(x.fixed::<HANDLE2>()?),
        };
        let mut walker = Walker::default();
        for step in &walk.0 {
            walker.step(step, Some(file)).map(&mut *tell);
        }
        None
    }

    fn believes(&self, version: u32, procedure: u32) -> bool {
        (procedure as usize) < procedures(version).len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Field;

    #[test]
    fn mnt_succeeds_with_a_handle_and_fails_with_a_status() {
        // dirpath: "/srv"
        let mut a = Mount.arguments(3, 1, b"\0\0\0\x04/srv");
        assert_eq!((a.protocol, a.op.as_str()), (Protocol::Mount, "MNT"));
        let ok = [
            0, 0, 0, 0, // MNT3_OK
            0, 0, 0, 4, 1, 2, 3, 4, // fhandle
            0, 0, 0, 1, 0, 0, 0, 1, // auth_flavors: AUTH_SYS
        ];
        assert_eq!(Mount.results(3, 1, &mut a, &ok), Outcome::Ok);
        let denied = [0, 0, 0, 13];
        assert_eq!(
            Mount.results(3, 1, &mut a, &denied),
            Outcome::Error("MNT3ERR_ACCES")
        );
        assert_eq!(
            Mount.results(1, 1, &mut a, &denied),
            Outcome::Error("EACCES")
        );
        assert_eq!(Mount.results(3, 1, &mut a, &denied[..3]), Outcome::Ok);
        assert_eq!(
            Mount.results(3, 1, &mut a, &[0, 0, 0, 77]),
            Outcome::Error("error")
        );
        assert_eq!(a.detail.get(Field::Status), Some(77));
    }

    #[test]
    fn mnt_names_the_root_of_what_is_mounted() {
        let body = b"\0\0\0\x04/srv";
        let a = Mount.arguments(3, 1, body);
        let walk = Mount.walk(3, 1, &a, body).expect("a walk");
        let mut said = Vec::new();
        let ok = [0, 0, 0, 0, 0, 0, 0, 4, 1, 2, 3, 4];
        Mount.walked(3, 1, &walk, &ok, &mut |n| said.push(n));
        Mount.walked(3, 1, &walk, &[0, 0, 0, 13], &mut |n| said.push(n));
        let srv = Naming::Is {
            file: handle_hash(&[1, 2, 3, 4]),
            within: model::Directory::Root,
            name: "srv".into(),
        };
        assert_eq!(said, [srv]);
        // UMNT names nothing.
        assert_eq!(Mount.walk(3, 3, &a, body), None);
    }

    #[test]
    fn lists_have_no_status() {
        let mut a = Mount.arguments(3, 5, &[]);
        assert_eq!(a.op.as_str(), "EXPORT");
        // A list that goes on: the word 1 is no status.
        assert_eq!(Mount.results(3, 5, &mut a, &[0, 0, 0, 1]), Outcome::Ok);
    }

    #[test]
    fn each_version_has_its_own_procedures() {
        assert!(Mount.believes(1, 6) && !Mount.believes(1, 7));
        assert!(Mount.believes(2, 7) && !Mount.believes(2, 8));
        assert!(Mount.believes(3, 5) && !Mount.believes(3, 6));
        assert!(!Mount.believes(4, 0));
        assert_eq!(Mount.arguments(3, 99, &[]).op.as_str(), "99");
    }
}
