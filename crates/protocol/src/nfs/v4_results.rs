//! Results of every NFSv4 operation that succeeded, passed over with a note of what READ, WRITE and
//! their kin returned: the XDR of RFC 7531 (4.0), RFC 5662 (4.1), RFC 7863 (4.2) and RFC 8276.

use super::v4_arguments::{attributes, bitmap, channel, implementation, name, network_location};
use crate::xdr::Xdr;

/// `stateid4`.
const STATEID: usize = 16;
/// `sessionid4`, `deviceid4`.
const ID: usize = 16;
/// `verifier4`.
const VERIFIER: usize = 8;
/// `change_info4`: whether atomic, before, after.
const CHANGE: usize = 20;

/// What is worth telling of one operation's results.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Returned {
    pub(super) bytes: Option<u64>,
    pub(super) eof: Option<bool>,
}

/// Reads what follows the status `NFS4_OK` of an operation. One arm for each: long, and a table.
pub(super) fn read(op: u32, x: &mut Xdr<'_>, returned: &mut Returned) -> Option<()> {
    match op {
        // Nothing but the status: DELEGPURGE, DELEGRETURN, LOCKT, LOOKUP, LOOKUPP, NVERIFY, OPENATTR,
        // PUTFH, PUTPUBFH, PUTROOTFH, RENEW, RESTOREFH, SAVEFH, SETCLIENTID_CONFIRM, VERIFY,
        // RELEASE_LOCKOWNER, BACKCHANNEL_CTL, DESTROY_SESSION, FREE_STATEID, DESTROY_CLIENTID,
        // RECLAIM_COMPLETE, ALLOCATE, DEALLOCATE, LAYOUTERROR, LAYOUTSTATS, OFFLOAD_CANCEL, CLONE.
        7 | 8 | 13 | 15 | 16 | 17 | 19 | 22 | 23 | 24 | 30 | 31 | 32 | 36 | 37 | 39 | 40 | 44
        | 45 | 57 | 58 | 59 | 62 | 64 | 65 | 66 | 71 => Some(()),
        // ACCESS: supported, access.
        3 => x.skip(8),
        // CLOSE, LOCK, LOCKU, OPEN_CONFIRM, OPEN_DOWNGRADE
        4 | 12 | 14 | 20 | 21 => x.skip(STATEID),
        // COMMIT
        5 => x.skip(VERIFIER),
        // CREATE
        6 => {
            x.skip(CHANGE)?;
            bitmap(x) // attrset
        }
        // GETATTR
        9 => attributes(x),
        // GETFH, READLINK, SET_SSV, GETXATTR
        10 | 27 | 54 | 72 => name(x),
        // LINK, REMOVE, SETXATTR, REMOVEXATTR
        11 | 28 | 73 | 75 => x.skip(CHANGE),
        // OPEN
        18 => {
            x.skip(STATEID + CHANGE + 4)?; // rflags
            bitmap(x)?; // attrset
            delegation(x)
        }
        // READ
        25 => {
            end_of_file(x, returned)?;
            returned.bytes = Some(x.clone().u32()?.into());
            name(x)
        }
        26 => directory(x),
        // RENAME
        29 => x.skip(CHANGE + CHANGE),
        // SECINFO, SECINFO_NO_NAME
        33 | 52 => x.each(|x| {
            if x.u32()? == 6 {
                // RPCSEC_GSS: mechanism, quality of protection, service.
                name(x)?;
                x.skip(8)?;
            }
            Some(())
        }),
        // SETATTR, IO_ADVISE
        34 | 63 => bitmap(x),
        // SETCLIENTID
        35 => x.skip(8 + VERIFIER),
        // WRITE
        38 => {
            returned.bytes = Some(x.u32()?.into());
            x.skip(4 + VERIFIER) // committed, writeverf
        }
        // BIND_CONN_TO_SESSION
        41 => x.skip(ID + 8),
        42 => exchange_id(x),
        // CREATE_SESSION
        43 => {
            x.skip(ID + 8)?; // session, sequence, flags
            channel(x)?;
            channel(x)
        }
        // GET_DIR_DELEGATION
        46 => {
            if x.u32()? != 0 {
                return x.skip(4); // GDD4_UNAVAIL: whether a signal will come
            }
            x.skip(VERIFIER + STATEID)?;
            bitmap(x)?; // notification
            bitmap(x)?; // child_attributes
            bitmap(x) // dir_attributes
        }
        // GETDEVICEINFO
        47 => {
            x.skip(4)?; // layout_type
            name(x)?; // addr_body
            bitmap(x) // notification
        }
        // GETDEVICELIST
        48 => {
            x.skip(8 + VERIFIER)?; // cookie
            x.skip_array(ID)?;
            x.skip(4) // eof
        }
        // LAYOUTCOMMIT: new size.
        49 => x.optional(8),
        // LAYOUTGET
        50 => {
            x.skip(4 + STATEID)?; // return_on_close
            x.each(|x| {
                x.skip(8 + 8 + 4 + 4)?; // offset, length, iomode, layout_type
                name(x) // body
            })
        }
        // LAYOUTRETURN
        51 => x.optional(STATEID),
        // SEQUENCE: session, sequence, slot, highest slot, target highest slot, flags.
        53 => x.skip(ID + 20),
        // TEST_STATEID: a status for each.
        55 => x.skip_array(4),
        // WANT_DELEGATION
        56 => delegation(x),
        // COPY
        60 => {
            write_response(x, returned)?;
            x.skip(4 + 4) // consecutive, synchronous
        }
        // COPY_NOTIFY: lease time, stateid, servers.
        61 => {
            x.skip(12 + STATEID)?;
            x.each(network_location)
        }
        // OFFLOAD_STATUS
        67 => {
            returned.bytes = Some(x.u64()?);
            x.skip_array(4) // complete
        }
        68 => read_plus(x, returned),
        // SEEK
        69 => {
            end_of_file(x, returned)?;
            x.skip(8) // offset
        }
        // WRITE_SAME
        70 => write_response(x, returned),
        // LISTXATTRS
        74 => {
            x.skip(8)?; // cookie
            x.each(name)?;
            x.skip(4) // eof
        }
        _ => None,
    }
}

fn end_of_file(x: &mut Xdr<'_>, returned: &mut Returned) -> Option<()> {
    returned.eof = Some(x.u32()? != 0);
    Some(())
}

/// `write_response4`.
pub(super) fn write_response(x: &mut Xdr<'_>, returned: &mut Returned) -> Option<()> {
    x.skip_array(STATEID)?; // callback_id, of an asynchronous copy
    returned.bytes = Some(x.u64()?);
    x.skip(4 + VERIFIER) // committed, writeverf
}

/// `read_plus_res4`: stretches of data and holes, which both count as returned. That sum is known
/// when the length of the last one is.
fn read_plus(x: &mut Xdr<'_>, returned: &mut Returned) -> Option<()> {
    end_of_file(x, returned)?;
    let count = x.u32()?;
    let mut sum: u64 = 0;
    for left in (0..count).rev() {
        let (length, data) = match x.u32()? {
            // NFS4_CONTENT_DATA
            0 => {
                x.skip(8)?; // offset
                let length = x.clone().u32()?;
                (u64::from(length), true)
            }
            // NFS4_CONTENT_HOLE
            1 => {
                x.skip(8)?; // offset
                (x.u64()?, false)
            }
            _ => return None,
        };
        sum = sum.saturating_add(length);
        if left == 0 {
            returned.bytes = Some(sum);
        }
        if data {
            name(x)?;
        }
    }
    Some(())
}

fn directory(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(VERIFIER)?;
    while x.u32()? != 0 {
        x.skip(8)?; // cookie
        name(x)?;
        attributes(x)?;
    }
    x.skip(4) // eof
}

/// `open_delegation4`.
pub(super) fn delegation(x: &mut Xdr<'_>) -> Option<()> {
    match x.u32()? {
        0 => Some(()), // OPEN_DELEGATE_NONE
        // OPEN_DELEGATE_READ: stateid, recall; permissions.
        1 => {
            x.skip(STATEID + 4)?;
            access_entry(x)
        }
        // OPEN_DELEGATE_WRITE: the same with a limit on space, which is 8 bytes of either kind.
        2 => {
            x.skip(STATEID + 4 + 4 + 8)?;
            access_entry(x)
        }
        // OPEN_DELEGATE_NONE_EXT: why; for contention and lack of resources, whether to expect news.
        3 => match x.u32()? {
            1 | 2 => x.skip(4),
            _ => Some(()),
        },
        _ => None,
    }
}

/// `nfsace4`: type, flags, mask, who.
fn access_entry(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(12)?;
    name(x)
}

fn exchange_id(x: &mut Xdr<'_>) -> Option<()> {
    x.skip(8 + 4 + 4)?; // clientid, sequence, flags
    match x.u32()? {
        0 => {} // SP4_NONE
        // SP4_MACH_CRED
        1 => {
            bitmap(x)?;
            bitmap(x)?;
        }
        // SP4_SSV: operations, algorithms, length, window, handles.
        2 => {
            bitmap(x)?;
            bitmap(x)?;
            x.skip(16)?;
            x.each(name)?;
        }
        _ => return None,
    }
    x.skip(8)?; // so_minor_id
    name(x)?; // so_major_id
    name(x)?; // server_scope
    implementation(x)
}
