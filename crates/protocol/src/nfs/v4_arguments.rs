//! Arguments of every NFSv4 operation, passed over with a note of what is worth telling: the XDR of
//! RFC 7531 (4.0), RFC 5662 (4.1), RFC 7863 (4.2) and RFC 8276 (extended attributes).

use super::compound::Found;
use super::handle;
use crate::xdr::Xdr;

/// `stateid4`.
const STATEID: usize = 16;
/// `sessionid4`, `deviceid4`.
const ID: usize = 16;
/// `nfstime4`.
const TIME: usize = 12;
/// `verifier4`.
const VERIFIER: usize = 8;

/// Reads an operation's arguments. One arm for each, in the order of RFC 7530, 8881 and 7862: long, and a table.
pub(super) fn read(op: u32, x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    match op {
        // Without arguments: GETFH, LOOKUPP, PUTPUBFH, PUTROOTFH, READLINK, RESTOREFH, SAVEFH,
        // ILLEGAL.
        10 | 16 | 23 | 24 | 27 | 31 | 32 | 10044 => Some(()),
        // ACCESS, OPENATTR, SECINFO_NO_NAME, RECLAIM_COMPLETE: one word.
        3 | 19 | 52 | 58 => x.skip(4),
        // CLOSE, OPEN_CONFIRM: a stateid and a seqid, in either order.
        4 | 20 => x.skip(4 + STATEID),
        // COMMIT
        5 => {
            found.offset = Some(x.u64()?);
            found.count = Some(x.u32()?.into());
            Some(())
        }
        6 => create(x, found),
        // DELEGPURGE, RENEW, DESTROY_CLIENTID: a client ID.
        7 | 30 | 57 => x.skip(8),
        // DELEGRETURN, FREE_STATEID, OFFLOAD_CANCEL, OFFLOAD_STATUS: a stateid.
        8 | 45 | 66 | 67 => x.skip(STATEID),
        // GETATTR
        9 => bitmap(x),
        // LINK, LOOKUP, REMOVE, SECINFO: a name.
        11 | 15 | 28 | 33 => found.name(x),
        // GETXATTR, REMOVEXATTR: the name of an attribute.
        72 | 75 => name(x),
        12 => lock(x, found),
        // LOCKT
        13 => {
            x.skip(4)?; // locktype
            found.offset = Some(x.u64()?);
            x.skip(8)?; // length
            owner(x)
        }
        // LOCKU
        14 => {
            x.skip(4 + 4 + STATEID)?; // locktype, seqid, stateid
            found.offset = Some(x.u64()?);
            x.skip(8)
        }
        // NVERIFY, VERIFY
        17 | 37 => attributes(x),
        18 => open(x, found),
        // OPEN_DOWNGRADE: stateid, seqid, share_access, share_deny.
        21 => x.skip(STATEID + 12),
        // PUTFH
        22 => {
            found.file = Some(handle::hash(x.opaque()?));
            Some(())
        }
        // READ, READ_PLUS
        25 | 68 => {
            x.skip(STATEID)?;
            found.offset = Some(x.u64()?);
            found.count = Some(x.u32()?.into());
            Some(())
        }
        // READDIR
        26 => {
            x.skip(8 + VERIFIER + 4)?; // cookie, cookieverf, dircount
            found.count = Some(x.u32()?.into());
            bitmap(x)
        }
        // RENAME
        29 => {
            name(x)?;
            found.name(x)
        }
        // SETATTR
        34 => {
            x.skip(STATEID)?;
            attributes(x)
        }
        // SETCLIENTID
        35 => {
            x.skip(VERIFIER)?;
            x.opaque()?; // id
            x.skip(4)?; // cb_program
            network_address(x)?;
            x.skip(4) // callback_ident
        }
        // SETCLIENTID_CONFIRM
        36 => x.skip(8 + VERIFIER),
        // WRITE
        38 => {
            x.skip(STATEID)?;
            found.offset = Some(x.u64()?);
            found.stable = Some(x.u32()?);
            found.count = Some(found.bulk(x)?.into());
            Some(())
        }
        // RELEASE_LOCKOWNER
        39 => owner(x),
        // BACKCHANNEL_CTL
        40 => {
            x.skip(4)?; // cb_program
            x.each(callback_security)
        }
        // BIND_CONN_TO_SESSION: session, direction, use of RDMA.
        41 => x.skip(ID + 8),
        42 => exchange_id(x),
        43 => create_session(x),
        // DESTROY_SESSION
        44 => x.skip(ID),
        // GET_DIR_DELEGATION
        46 => {
            x.skip(4)?; // signal_deleg_avail
            bitmap(x)?; // notification_types
            x.skip(TIME + TIME)?; // child_attr_delay, dir_attr_delay
            bitmap(x)?; // child_attributes
            bitmap(x) // dir_attributes
        }
        // GETDEVICEINFO
        47 => {
            x.skip(ID + 4 + 4)?; // device, layout_type, maxcount
            bitmap(x) // notify_types
        }
        // GETDEVICELIST: layout_type, maxdevices, cookie, cookieverf.
        48 => x.skip(4 + 4 + 8 + VERIFIER),
        49 => layout_commit(x, found),
        // LAYOUTGET: signal_layout_avail, layout_type, iomode; offset, length, minlength; stateid,
        // maxcount.
        50 => {
            x.skip(12)?;
            found.offset = Some(x.u64()?);
            x.skip(8 + 8 + STATEID + 4)
        }
        51 => layout_return(x, found),
        // SEQUENCE: session, sequence, slot, highest slot, whether to cache.
        53 => {
            x.skip(ID + 4)?;
            found.slot = Some(x.u32()?);
            found.highest_slot = Some(x.u32()?);
            x.skip(4)
        }
        // SET_SSV
        54 => {
            x.opaque()?; // ssv
            x.opaque()?; // digest
            Some(())
        }
        // TEST_STATEID
        55 => x.skip_array(STATEID),
        // WANT_DELEGATION
        56 => {
            x.skip(4)?; // want
            match x.u32()? {
                1 => x.skip(4), // CLAIM_PREVIOUS: delegate_type
                4 | 6 => Some(()),
                _ => None,
            }
        }
        // ALLOCATE, DEALLOCATE
        59 | 62 => {
            x.skip(STATEID)?;
            found.offset = Some(x.u64()?);
            found.count = Some(x.u64()?);
            Some(())
        }
        // COPY
        60 => {
            two_files(x, found)?;
            x.skip(4 + 4)?; // consecutive, synchronous
            x.each(network_location) // source_server
        }
        // COPY_NOTIFY
        61 => {
            x.skip(STATEID)?;
            network_location(x) // destination_server
        }
        // IO_ADVISE
        63 => {
            x.skip(STATEID)?;
            found.offset = Some(x.u64()?);
            x.skip(8)?; // count
            bitmap(x) // hints
        }
        // LAYOUTERROR: offset, length, stateid; device, status and operation of each error.
        64 => {
            x.skip(8 + 8 + STATEID)?;
            x.skip_array(ID + 8)
        }
        // LAYOUTSTATS: offset, length, stateid; count and bytes read and written; device.
        65 => {
            x.skip(8 + 8 + STATEID + 16 + 16 + ID)?;
            layout_update(x)
        }
        // SEEK
        69 => {
            x.skip(STATEID)?;
            found.offset = Some(x.u64()?);
            x.skip(4) // what
        }
        // WRITE_SAME
        70 => {
            x.skip(STATEID)?;
            found.stable = Some(x.u32()?);
            found.offset = Some(x.u64()?);
            let (block_size, block_count) = (x.u64()?, x.u64()?);
            found.count = block_size.checked_mul(block_count);
            x.skip(8 + 4 + 8)?; // reloff_blocknum, block_num, reloff_pattern
            found.bulk(x)?;
            Some(())
        }
        // CLONE
        71 => two_files(x, found),
        // SETXATTR
        73 => {
            x.skip(4)?; // option
            name(x)?;
            found.bulk(x)?;
            Some(())
        }
        // LISTXATTRS: cookie, maxcount.
        74 => x.skip(8 + 4),
        _ => None,
    }
}

/// `bitmap4`: an array of words.
pub(super) fn bitmap(x: &mut Xdr<'_>) -> Option<()> {
    x.skip_array(4)
}

/// `fattr4`: which attributes, and their values.
pub(super) fn attributes(x: &mut Xdr<'_>) -> Option<()> {
    bitmap(x)?;
    name(x)
}

/// Any opaque that nobody wants to see.
pub(super) fn name(x: &mut Xdr<'_>) -> Option<()> {
    x.opaque().map(|_| ())
}

/// `netloc4`.
pub(super) fn network_location(x: &mut Xdr<'_>) -> Option<()> {
    match x.u32()? {
        1 | 2 => name(x), // NL4_NAME, NL4_URL
        3 => network_address(x),
        _ => None,
    }
}

/// `channel_attrs4`: six words and an array of at most one.
pub(super) fn channel(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(6 * 4)?;
    x.skip_array(4)
}

/// `nfs_impl_id4` in an array of at most one.
pub(super) fn implementation(x: &mut Xdr<'_>) -> Option<()> {
    x.each(|x| {
        name(x)?; // domain
        name(x)?; // name
        x.skip(TIME)
    })
}

/// `netaddr4`, `clientaddr4`: netid and universal address.
fn network_address(x: &mut Xdr<'_>) -> Option<()> {
    name(x)?;
    name(x)
}

/// `open_owner4`, `lock_owner4`: client ID and opaque.
fn owner(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(8)?;
    name(x)
}

/// `layoutupdate4`: type and body.
fn layout_update(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(4)?;
    name(x)
}

/// What COPY and CLONE begin with: two stateids, two offsets, a count. The current file is the
/// destination, so that offset is told.
fn two_files(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    x.skip(STATEID + STATEID + 8)?; // stateids, src_offset
    found.offset = Some(x.u64()?);
    found.count = Some(x.u64()?);
    Some(())
}

fn create(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    match x.u32()? {
        3 | 4 => x.skip(8)?, // NF4BLK, NF4CHR: specdata
        5 => name(x)?,       // NF4LNK: linkdata
        _ => {}
    }
    found.name(x)?;
    attributes(x)
}

fn lock(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    x.skip(4 + 4)?; // locktype, reclaim
    found.offset = Some(x.u64()?);
    x.skip(8)?; // length
    if x.u32()? != 0 {
        x.skip(4 + STATEID + 4)?; // open_seqid, open_stateid, lock_seqid
        owner(x)
    } else {
        x.skip(STATEID + 4) // lock_stateid, lock_seqid
    }
}

fn open(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    x.skip(12)?; // seqid, share_access, share_deny
    owner(x)?;
    if x.u32()? == 1 {
        // OPEN4_CREATE
        match x.u32()? {
            0 | 1 => attributes(x)?, // UNCHECKED4, GUARDED4
            2 => x.skip(VERIFIER)?,  // EXCLUSIVE4
            3 => {
                // EXCLUSIVE4_1
                x.skip(VERIFIER)?;
                attributes(x)?;
            }
            _ => return None,
        }
    }
    match x.u32()? {
        0 | 3 => found.name(x), // CLAIM_NULL, CLAIM_DELEGATE_PREV
        1 => x.skip(4),         // CLAIM_PREVIOUS: delegate_type
        4 | 6 => Some(()),      // CLAIM_FH, CLAIM_DELEG_PREV_FH
        // CLAIM_DELEGATE_CUR
        2 => {
            x.skip(STATEID)?;
            found.name(x)
        }
        5 => x.skip(STATEID), // CLAIM_DELEG_CUR_FH
        _ => None,
    }
}

/// `callback_sec_parms4`.
fn callback_security(x: &mut Xdr<'_>) -> Option<()> {
    match x.u32()? {
        0 => Some(()), // AUTH_NONE
        // AUTH_SYS: stamp, machine name, uid, gid, gids.
        1 => {
            x.skip(4)?;
            name(x)?;
            x.skip(8)?;
            x.skip_array(4)
        }
        // RPCSEC_GSS: service, handles from server and client.
        6 => {
            x.skip(4)?;
            name(x)?;
            name(x)
        }
        _ => None,
    }
}

fn exchange_id(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(VERIFIER)?;
    name(x)?; // co_ownerid
    x.skip(4)?; // flags
    match x.u32()? {
        0 => {} // SP4_NONE
        // SP4_MACH_CRED: operations that must and that may be protected.
        1 => {
            bitmap(x)?;
            bitmap(x)?;
        }
        // SP4_SSV: the same, hash and encryption algorithms, window, number of handles.
        2 => {
            bitmap(x)?;
            bitmap(x)?;
            x.each(name)?;
            x.each(name)?;
            x.skip(8)?;
        }
        _ => return None,
    }
    implementation(x)
}

fn create_session(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(8 + 4 + 4)?; // clientid, sequence, flags
    channel(x)?;
    channel(x)?;
    x.skip(4)?; // cb_program
    x.each(callback_security)
}

fn layout_commit(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    found.offset = Some(x.u64()?);
    x.skip(8 + 4 + STATEID)?; // length, reclaim, stateid
    if x.u32()? != 0 {
        x.skip(8)?; // last_write_offset
    }
    if x.u32()? != 0 {
        x.skip(TIME)?; // time_modify
    }
    layout_update(x)
}

fn layout_return(x: &mut Xdr<'_>, found: &mut Found) -> Option<()> {
    x.skip(12)?; // reclaim, layout_type, iomode
    match x.u32()? {
        // LAYOUTRETURN4_FILE
        1 => {
            found.offset = Some(x.u64()?);
            x.skip(8 + STATEID)?; // length, stateid
            name(x) // body
        }
        2 | 3 => Some(()), // LAYOUTRETURN4_FSID, LAYOUTRETURN4_ALL
        _ => None,
    }
}
