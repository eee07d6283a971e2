//! What messages say of files' names, held against literal bytes.

use super::hex;
use crate::nfs::handle::hash;
use crate::nfs::{Nfs, entries};
use crate::rpc::program::Program;
use crate::rpc::walk::Listing;
use model::{Directory, Naming};
use std::slice::from_ref;

const DIRECTORY: &[u8] = &[0xde, 0xad, 0xbe, 0xef];
const FILE: &[u8] = &[1, 2, 3, 4];

fn told(
    (version, procedure): (u32, u32),
    body: &[u8],
    results: &[u8],
) -> (Vec<Naming>, Option<Listing>) {
    let a = Nfs.arguments(version, procedure, body);
    let mut said = Vec::new();
    let walk = Nfs.walk(version, procedure, &a, body);
    let listing =
        walk.and_then(|walk| Nfs.walked(version, procedure, &walk, results, &mut |n| said.push(n)));
    (said, listing)
}

fn is(file: &[u8], within: Directory, name: &str) -> Naming {
    Naming::Is {
        file: hash(file),
        within,
        name: name.into(),
    }
}

fn below(directory: &[u8]) -> Directory {
    Directory::File(hash(directory))
}

#[test]
fn a_lookup_that_succeeds_names_a_handle() {
    let body = hex("
        00000004 deadbeef                 # directory
        00000003 6c6962 00                # lib
    ");
    let results = hex("00000000 00000004 01020304");
    let lib = is(FILE, below(DIRECTORY), "lib");
    assert_eq!(told((3, 3), &body, &results).0, from_ref(&lib));
    assert_eq!(
        told((3, 3), &body, &hex("00000002 00000000")).0,
        [],
        "NFS3ERR_NOENT"
    );
    for cut in 0..results.len() {
        assert_eq!(told((3, 3), &body, &results[..cut]).0, []);
    }
    // CREATE, MKDIR, SYMLINK and MKNOD may leave the handle out.
    let created = hex("00000000 00000001 00000004 01020304");
    let without = hex("00000000 00000000");
    for procedure in 8..=11 {
        assert_eq!(told((3, procedure), &body, &created).0, from_ref(&lib));
        assert_eq!(told((3, procedure), &body, &without).0, []);
    }
    // A READ names nothing.
    assert_eq!(told((3, 6), &body, &results).0, []);
}

#[test]
fn a_lookup_of_the_oldest_version_has_handles_of_32_bytes() {
    let mut body = vec![7; 32];
    body.extend_from_slice(&hex("00000003 6c6962 00"));
    let mut results = vec![0; 4];
    results.extend([9; 32]);
    assert_eq!(
        told((2, 4), &body, &results).0,
        [is(&[9; 32], below(&[7; 32]), "lib")]
    );
}

#[test]
fn a_rename_moves_a_name() {
    let body = hex("
        00000004 deadbeef 00000001 61 000000
        00000004 01020304 00000001 62 000000
    ");
    let moved = Naming::Moved {
        from: (below(DIRECTORY), "a".into()),
        to: (below(FILE), "b".into()),
    };
    assert_eq!(told((3, 14), &body, &hex("00000000")).0, [moved]);
    assert_eq!(told((3, 14), &body, &hex("0000000d")).0, []);
}

#[test]
fn a_compound_names_handles_by_the_way_to_them() {
    let body = hex("
        00000000 00000000 00000006
        00000018                          # PUTROOTFH
        0000000f 00000004 68 6f 6d 65     # LOOKUP home
        0000000a                          # GETFH
        0000000f 00000002 6d 65 0000      # LOOKUP me
        0000000f 00000002 69 74 0000      # LOOKUP it
        0000000a                          # GETFH
    ");
    let results = hex("
        00000000 00000000 00000006
        00000018 00000000
        0000000f 00000000
        0000000a 00000000 00000004 deadbeef
        0000000f 00000000
        0000000f 00000000
        0000000a 00000000 00000004 01020304
    ");
    let home = is(DIRECTORY, Directory::Root, "home");
    let it = is(FILE, below(DIRECTORY), "me/it");
    assert_eq!(told((4, 1), &body, &results).0, [home.clone(), it]);
    // The second LOOKUP fails with NFS4ERR_NOENT.
    let failed = hex("
        00000002 00000000 00000004
        00000018 00000000
        0000000f 00000000
        0000000a 00000000 00000004 deadbeef
        0000000f 00000002
    ");
    assert_eq!(told((4, 1), &body, &failed).0, [home]);
}

#[test]
fn entries_of_a_directory_come_with_their_handles() {
    let body = hex("
        00000004 deadbeef 0000000000000000 0000000000000000 00001000 00008000
    ");
    // Status, no attributes, verifier.
    let head = hex("00000000 00000000 0000000000000000");
    let (said, listing) = told((3, 17), &body, &head);
    let listing = listing.expect("a listing");
    assert_eq!((said.len(), listing.at), (0, head.len()));
    let list = hex("
        00000001 0000000000000005 00000001 61 000000 0000000000000001 # fileid, a, cookie
        00000000 00000001 00000004 01020304                           # no attributes, a handle
        00000001 0000000000000006 00000002 2e 2e 0000 0000000000000002
        00000000 00000001 00000004 0a0a0a0a
        00000001 0000000000000007 00000001 62 000000 0000000000000003
        00000000 00000000                                             # neither
        00000000 00000001                                             # no more, end
    ");
    let read = |bytes: &[u8]| {
        let mut said = Vec::new();
        let (read, more) = entries(&listing, bytes, &mut |n| said.push(n));
        (said, read, more)
    };
    let a = is(FILE, below(DIRECTORY), "a");
    assert_eq!(read(&list), (vec![a.clone()], list.len() - 4, false));
    for cut in 0..list.len() - 8 {
        let (said, taken, more) = read(&list[..cut]);
        assert!(more && taken <= cut);
        // Read on from there, it is all the same.
        let (rest, ..) = read(&list[taken..]);
        assert_eq!([said, rest].concat(), from_ref(&a));
    }
}

#[test]
fn entries_of_version_4_have_handles_among_their_attributes() {
    let body = hex("
        00000000 00000001 00000002
        00000016 00000004 deadbeef        # PUTFH
        0000001a 0000000000000000 0000000000000000 00001000 00008000 # READDIR
        00000001 00080802                 # type, rdattr_error, filehandle
    ");
    let results = hex("
        00000000 00000000 00000002
        00000016 00000000
        0000001a 00000000 0000000000000000
    ");
    let (said, listing) = told((4, 1), &body, &results);
    assert_eq!(said, []);
    let listing = listing.expect("a listing");
    assert_eq!(listing.at, results.len());
    let list = hex("
        00000001 0000000000000001 00000001 61 000000 # cookie, a
        00000001 00080802                            # mask
        00000010 00000001 00000000 00000004 01020304 # type, rdattr_error, filehandle
        00000000 00000001
    ");
    let mut said = Vec::new();
    entries(&listing, &list, &mut |n| said.push(n));
    assert_eq!(said, [is(FILE, below(DIRECTORY), "a")]);
}

#[test]
fn any_bytes_do_no_harm() {
    for seed in 0..2_000_u32 {
        let mut state = seed.wrapping_mul(2_654_435_761);
        let bytes: Vec<u8> = (0..256)
            .map(|_| {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                // Small numbers, so that lengths are believable.
                ((state >> 24) % 4) as u8
            })
            .collect();
        for (version, procedure) in [(2, 4), (2, 11), (3, 3), (3, 14), (3, 17), (4, 1)] {
            let (body, results) = bytes.split_at(seed as usize % 256);
            if let (_, Some(listing)) = told((version, procedure), body, results) {
                assert!(listing.at <= results.len());
                let (read, _) = entries(&listing, &bytes, &mut |_| {});
                assert!(read <= bytes.len());
            }
        }
    }
}
