//! ONC-RPC messages (RFC 5531) and the three busiest of NFSv3's (RFC 1813), as bytes.
//!
//! A message is what a UDP datagram holds; [`record`] puts it into a TCP stream.

/// NFS's programme number and version 3.
pub const NFS: (u32, u32) = (100_003, 3);
pub const GETATTR: u32 = 1;
pub const READ: u32 = 6;
pub const WRITE: u32 = 7;

/// A message with its record mark: one last fragment (RFC 5531 section 11).
#[must_use]
pub fn record(message: &[u8]) -> Vec<u8> {
    let mut bytes = (message.len() as u32 | 0x8000_0000).to_be_bytes().to_vec();
    bytes.extend(message);
    bytes
}

/// A call with AUTH_SYS credentials of root at the host "client".
#[must_use]
pub fn call(xid: u32, (program, version): (u32, u32), procedure: u32, arguments: &[u8]) -> Vec<u8> {
    let mut credentials = words(&[0]);
    credentials.extend(opaque(b"client"));
    credentials.extend(words(&[0, 0, 1, 0]));
    let mut message = words(&[xid, 0, 2, program, version, procedure, 1]);
    message.extend(opaque(&credentials));
    message.extend(words(&[0, 0]));
    message.extend(arguments);
    message
}

/// A reply that accepts the call, with its results.
#[must_use]
pub fn reply(xid: u32, results: &[u8]) -> Vec<u8> {
    let mut message = words(&[xid, 1, 0, 0, 0, 0]);
    message.extend(results);
    message
}

#[must_use]
pub fn getattr_call(xid: u32, file: &[u8]) -> Vec<u8> {
    call(xid, NFS, GETATTR, &opaque(file))
}

#[must_use]
pub fn getattr_reply(xid: u32) -> Vec<u8> {
    let mut results = words(&[0]);
    results.extend(attributes());
    reply(xid, &results)
}

#[must_use]
pub fn read_call(xid: u32, file: &[u8], offset: u64, count: u32) -> Vec<u8> {
    let mut arguments = opaque(file);
    arguments.extend(offset.to_be_bytes());
    arguments.extend(words(&[count]));
    call(xid, NFS, READ, &arguments)
}

#[must_use]
pub fn read_reply(xid: u32, data: &[u8], eof: bool) -> Vec<u8> {
    let mut results = words(&[0, 1]);
    results.extend(attributes());
    results.extend(words(&[data.len() as u32, u32::from(eof)]));
    results.extend(opaque(data));
    reply(xid, &results)
}

/// `stable` is 0 for UNSTABLE, 1 for DATA_SYNC, 2 for FILE_SYNC.
#[must_use]
pub fn write_call(xid: u32, file: &[u8], offset: u64, data: &[u8], stable: u32) -> Vec<u8> {
    let mut arguments = opaque(file);
    arguments.extend(offset.to_be_bytes());
    arguments.extend(words(&[data.len() as u32, stable]));
    arguments.extend(opaque(data));
    call(xid, NFS, WRITE, &arguments)
}

#[must_use]
pub fn write_reply(xid: u32, count: u32) -> Vec<u8> {
    // Status, no attributes from before, attributes from after.
    let mut results = words(&[0, 0, 1]);
    results.extend(attributes());
    // Count, FILE_SYNC, verifier.
    results.extend(words(&[count, 2, 0x1234_5678, 0x9abc_def0]));
    reply(xid, &results)
}

/// An NFSv3 reply with an error status and no attributes, as GETATTR, READ and WRITE have it.
#[must_use]
pub fn error_reply(xid: u32, procedure: u32, status: u32) -> Vec<u8> {
    let absent: &[u32] = match procedure {
        GETATTR => &[],
        WRITE => &[0, 0],
        _ => &[0],
    };
    reply(xid, &words(&[&[status], absent].concat()))
}

/// fattr3 of a regular file: 84 bytes.
fn attributes() -> Vec<u8> {
    let mut fattr = [0; 21];
    (fattr[0], fattr[1], fattr[2]) = (1, 0o644, 1);
    words(&fattr)
}

fn words(values: &[u32]) -> Vec<u8> {
    values.iter().flat_map(|v| v.to_be_bytes()).collect()
}

/// Variable-length opaque data (RFC 4506 section 4.10): length, bytes, padding to four.
#[must_use]
pub fn opaque(data: &[u8]) -> Vec<u8> {
    let mut bytes = words(&[data.len() as u32]);
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_call_is_written_as_specified() {
        let message = record(&read_call(0xaabb_ccdd, b"handle", 0x1_0000_0002, 4096));
        assert_eq!(
            message,
            b"\x80\0\0\x60\xaa\xbb\xcc\xdd\0\0\0\0\0\0\0\x02\0\x01\x86\xa3\0\0\0\x03\0\0\0\x06\
              \0\0\0\x01\0\0\0\x20\0\0\0\0\0\0\0\x06client\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0\
              \0\0\0\0\0\0\0\0\
              \0\0\0\x06handle\0\0\0\0\0\x01\0\0\0\x02\0\0\x10\0"
        );
    }

    #[test]
    fn replies_have_the_lengths_of_their_structures() {
        // RPC's 24 bytes and status 4, with 84 bytes of attributes.
        assert_eq!(getattr_reply(1).len(), 24 + 4 + 84);
        assert_eq!(read_reply(1, &[0; 5], true).len(), 24 + 8 + 84 + 8 + 4 + 8);
        assert_eq!(write_reply(1, 5).len(), 24 + 12 + 84 + 16);
        assert_eq!(error_reply(1, READ, 70).len(), 24 + 8);
        assert_eq!(error_reply(1, WRITE, 70).len(), 24 + 12);
        assert_eq!(error_reply(1, GETATTR, 70).len(), 24 + 4);
    }
}
