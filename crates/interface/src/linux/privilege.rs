//! A process that may capture into one that may nothing: once the socket is open none of its rights is needed again, and
//! what is read from it comes from strangers.
//!
//! - Root becomes another user, without further groups. All sets of capabilities are emptied, and executing a program
//!   gives none back (no-new-privileges).
//! - The kernel keeps all this for each thread, so it is done before there is a second one; those that are started
//!   later inherit it. (The C library's setuid would reach all, its prctl and capset do not.)
//! - Whoever it is then, Landlock (Linux 5.13) leaves of all files those below one folder to write, and no TCP (6.7) but
//!   to one port where something is to be sent, as far as the kernel has it: root without capabilities still owns /etc,
//!   and a user a home.
//! - What was not asked for and is not allowed is left: in a container root may lack `CAP_SETUID`, or have no other
//!   user's number. It is a root without capabilities then.
//! - Users are those of /etc/passwd. To ask further (NSS) is what a static binary cannot do, so numbers are taken too.

use crate::Error;
use landlock::{
    ABI, Access, AccessFs, AccessNet, NetPort, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::io::Errno;
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capability_is_in_bounding_set,
    remove_capability_from_bounding_set, set_capabilities, set_no_new_privs, set_thread_groups,
    set_thread_res_gid, set_thread_res_uid,
};
use std::fs;
use std::io;
use std::path::Path;

/// Whom root becomes when nobody else is named.
const NOBODY: &str = "nobody";

/// The number of nobody, and of its group, where /etc/passwd has none: the kernel's own for who has no number.
const OVERFLOW: u32 = 65534;

#[derive(Clone, PartialEq, Eq, Debug)]
struct User {
    name: String,
    uid: u32,
    gid: u32,
}

/// Gives up all rights but to write below `folder` and to connect to the port `connect`; root becomes `user`, or nobody. A
/// `user` who is root keeps them all. Gives the name of the user that it became.
pub(super) fn give_up(
    user: Option<&str>,
    folder: Option<&Path>,
    connect: Option<u16>,
) -> Result<Option<String>, Error> {
    let known = fs::read("/etc/passwd").unwrap_or_default();
    let known = String::from_utf8_lossy(&known);
    let to = match user {
        Some(name) => Some(named(name, &known).ok_or_else(|| Error::NoSuchUser(name.to_owned()))?),
        None if geteuid().is_root() => named(NOBODY, &known),
        None => None,
    };
    if to.as_ref().is_some_and(|user| user.uid == 0) {
        return Ok(None);
    }
    let fail = |doing| {
        move |error: Errno| Error::Privileges {
            doing,
            error: error.into(),
        }
    };
    alone()?;
    set_no_new_privs(true).map_err(fail("no-new-privileges"))?;
    // First, as it takes a capability itself. Whoever lacks that gains nothing from the set.
    for number in 0..u64::BITS {
        let capability = CapabilitySet::from_bits_retain(1 << number);
        if capability_is_in_bounding_set(capability) == Ok(true) {
            let _ = remove_capability_from_bounding_set(capability);
        }
    }
    let became = match to.filter(|to| to.uid != geteuid().as_raw()) {
        None => None,
        Some(to) => match turn_into(&to) {
            Ok(()) => Some(to.name),
            Err(error) if user.is_some() => {
                return Err(Error::CannotBecome {
                    user: to.name,
                    error: error.into(),
                });
            }
            Err(Errno::PERM | Errno::INVAL) => None,
            Err(error) => return Err(fail("another user")(error)),
        },
    };
    // The ambient set follows: it holds nothing that is not in these.
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    set_capabilities(None, none).map_err(fail("capabilities"))?;
    // A second wall: where it cannot be built the first one stands.
    let _ = confine(folder, connect);
    Ok(became)
}

/// Groups first: with the user the right to change them goes.
fn turn_into(user: &User) -> Result<(), Errno> {
    let (uid, gid) = (Uid::from_raw(user.uid), Gid::from_raw(user.gid));
    set_thread_groups(&[])?;
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)
}

/// Leaves files below `folder`, and the terminal, as all that may be opened to write to, and of TCP connections those to
/// port `connect`. What is open stays open. Names are asked for by UDP, which is not confined.
fn confine(folder: Option<&Path>, connect: Option<u16>) -> Result<RulesetStatus, RulesetError> {
    const KNOWN: ABI = ABI::V6;
    let write = AccessFs::from_write(KNOWN);
    let ports =
        connect.map(|port| Ok::<_, RulesetError>(NetPort::new(port, AccessNet::ConnectTcp)));
    let status = Ruleset::default()
        .handle_access(write)?
        .handle_access(AccessNet::from_all(KNOWN))?
        .scope(Scope::from_all(KNOWN))?
        .create()?
        .add_rules(path_beneath_rules(folder, write))?
        .add_rules(path_beneath_rules(["/dev/tty"], write))?
        .add_rules(ports)?
        .restrict_self()?;
    Ok(status.ruleset)
}

/// Refuses where there is another thread, which would keep its rights.
fn alone() -> Result<(), Error> {
    match fs::read_dir("/proc/self/task").map_or(1, Iterator::count) {
        0 | 1 => Ok(()),
        threads => Err(Error::Privileges {
            doing: "threads",
            error: io::Error::other(format!("there are {threads} already")),
        }),
    }
}

/// The user of that name or number, from lines of passwd(5). What is not there has a number all the same.
fn named(text: &str, known: &str) -> Option<User> {
    // All ones would mean to leave the number as it is.
    let number = |text: &str| text.parse().ok().filter(|&number| number != u32::MAX);
    let line = |line: &str| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let (uid, gid) = (number(fields.nth(1)?)?, number(fields.next()?)?);
        (name == text || number(text) == Some(uid)).then(|| User {
            name: name.to_owned(),
            uid,
            gid,
        })
    };
    let unknown = || {
        let uid = number(text).or((text == NOBODY).then_some(OVERFLOW))?;
        Some(User {
            name: text.to_owned(),
            uid,
            gid: OVERFLOW,
        })
    };
    known.lines().find_map(line).or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::ErrorKind;
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    /// In a thread of its own, which alone is confined.
    #[test]
    #[allow(clippy::print_stderr, reason = "says what was left out")]
    fn files_are_written_below_the_folder_alone() {
        let folder = std::env::temp_dir().join(format!("slowside-confined-{}", std::process::id()));
        let inside = folder.join("inside");
        fs::create_dir_all(&inside).expect("a folder for temporary files");
        let host = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = host.local_addr().expect("bound");
        let (outside, within) = (folder.join("file"), inside.join("file"));
        let confined = thread::spawn(move || {
            let status = confine(Some(&inside), None).expect("rules");
            let tried = File::create(outside).map_err(|e| e.kind());
            let connected = TcpStream::connect(address).map_err(|e| e.kind());
            File::create(&within).expect("it is below the folder");
            fs::remove_file(within).expect("it is below the folder");
            (status, tried.err(), connected.err())
        });
        let (status, tried, connected) = confined.join().expect("ends");
        fs::remove_dir_all(folder).expect("the test's own");
        match status {
            RulesetStatus::NotEnforced => eprintln!("left out: the kernel has no Landlock"),
            // No TCP is of newer kernels.
            RulesetStatus::PartiallyEnforced => {
                assert_eq!(tried, Some(ErrorKind::PermissionDenied))
            }
            RulesetStatus::FullyEnforced => {
                let denied = Some(ErrorKind::PermissionDenied);
                assert_eq!((tried, connected), (denied, denied));
            }
        }
    }

    #[test]
    fn connections_are_made_to_the_port_alone() {
        let bound = || TcpListener::bind("127.0.0.1:0").expect("a port");
        let (named, other) = (bound(), bound());
        let address = |host: &TcpListener| host.local_addr().expect("bound");
        let (named_at, other_at) = (address(&named), address(&other));
        let confined = thread::spawn(move || {
            let status = confine(None, Some(named_at.port())).expect("rules");
            TcpStream::connect(named_at).expect("it is the port");
            let tried = TcpStream::connect(other_at).map_err(|e| e.kind());
            (status, tried.err())
        });
        let (status, tried) = confined.join().expect("ends");
        if status == RulesetStatus::FullyEnforced {
            assert_eq!(tried, Some(ErrorKind::PermissionDenied));
        }
    }

    #[test]
    fn users_have_names_or_numbers() {
        let known = "root:x:0:0:root:/root:/bin/sh\n# a remark\nhalf:x:\n\
                     capture:x:990:980::/:/bin/false\nnone:x:4294967295:4294967295::/:\n";
        let user = |name: &str, uid, gid| {
            let name = name.to_owned();
            Some(User { name, uid, gid })
        };
        assert_eq!(named("capture", known), user("capture", 990, 980));
        assert_eq!(named("990", known), user("capture", 990, 980));
        assert_eq!(named("0", known), user("root", 0, 0));
        assert_eq!(named("1234", known), user("1234", 1234, 65534));
        assert_eq!(named("nobody", known), user("nobody", 65534, 65534));
        for name in ["", "half", "none", "4294967295", "-1", "x", "# a remark"] {
            assert_eq!(named(name, known), None, "{name}");
        }
    }
}
