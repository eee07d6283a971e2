//! The ONC-RPC header (RFC 5531 sections 9 and 11) of a message that may be cut anywhere.
//!
//! ```text
//! record mark   1 bit last fragment, 31 bits length            (TCP only)
//! call          xid, 0, 2, program, version, procedure, cred{flavor, length, body}, verf{…}, arguments
//! reply         xid, 1, 0 (accepted), verf{flavor, length, body}, accept status, results
//! reply         xid, 1, 1 (denied), 0 (version mismatch) low high | 1 (auth error) status
//! ```

use model::limits;

/// A fragment's record mark.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordMark {
    pub last: bool,
    pub length: u32,
}

impl RecordMark {
    pub const BYTES: usize = 4;

    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<RecordMark> {
        let word = word(bytes, 0)?;
        Some(RecordMark {
            last: word & 0x8000_0000 != 0,
            length: word & 0x7fff_ffff,
        })
    }

    /// Whether a record of this length may exist.
    pub(crate) fn is_believable(self) -> bool {
        (1..=limits::MESSAGE_BYTES).contains(&self.length)
    }
}

/// How a call is protected, as its credential says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Security {
    None,
    Sys,
    Dh,
    /// RPCSEC_GSS (RFC 2203) by service: authentication only.
    Krb5,
    /// Integrity: arguments and results stand readable inside a checksummed wrapper.
    Krb5i,
    /// Privacy: arguments and results are encrypted.
    Krb5p,
    Tls,
    Other,
}

impl Security {
    /// The index of [`Field::Security`](model::Field)'s word.
    #[must_use]
    pub fn word(self) -> u64 {
        match self {
            Security::None => 0,
            Security::Sys => 1,
            Security::Dh => 2,
            Security::Krb5 => 3,
            Security::Krb5i => 4,
            Security::Krb5p => 5,
            Security::Tls => 6,
            Security::Other => 7,
        }
    }

    /// Bytes in front of the arguments and results: `length` and `seq_num` of krb5i (RFC 2203
    /// section 5.3.2.2). `None` where they cannot be read.
    pub(crate) fn wrapper(self) -> Option<usize> {
        match self {
            Security::Krb5i => Some(8),
            Security::Krb5p | Security::Tls => None,
            _ => Some(0),
        }
    }
}

/// A message's header, as far as it was captured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Header {
    Call(CallHeader),
    Reply(ReplyHeader),
    /// Only the XID is there, and perhaps a part of the message type.
    XidOnly {
        xid: u32,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CallHeader {
    pub xid: u32,
    /// `None` where the header is cut before it.
    pub program: Option<u32>,
    pub version: Option<u32>,
    pub procedure: Option<u32>,
    pub security: Security,
    /// Where the arguments start, from the start of the message.
    pub body: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReplyHeader {
    pub xid: u32,
    pub status: ReplyStatus,
    /// Where the results start, from the start of the message.
    pub body: Option<usize>,
}

impl CallHeader {
    /// A call of which nothing else was captured.
    pub(crate) fn with_xid(xid: u32) -> CallHeader {
        CallHeader {
            xid,
            program: None,
            version: None,
            procedure: None,
            security: Security::None,
            body: None,
        }
    }
}

impl ReplyHeader {
    /// A reply of which nothing else was captured.
    pub(crate) fn with_xid(xid: u32) -> ReplyHeader {
        ReplyHeader {
            xid,
            status: ReplyStatus::Success,
            body: None,
        }
    }
}

/// What the server said to the call, before any results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReplyStatus {
    /// Accepted and executed, or cut before that is known.
    Success,
    Error(&'static str),
}

/// The big-endian word at `at`.
#[must_use]
pub fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..)?
        .first_chunk()
        .map(|b| u32::from_be_bytes(*b))
}

pub(super) const CALL: u32 = 0;
pub(super) const REPLY: u32 = 1;
/// RFC 5531 section 8.2: opaque_auth is at most this long.
const AUTH_BYTES: u32 = 400;
const RPCSEC_GSS: u32 = 6;

/// Reads a message header (without record mark) from a prefix of the message; `None` when it is not
/// one.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<Header> {
    let xid = word(bytes, 0)?;
    let Some(kind) = word(bytes, 4) else {
        let cut = bytes.get(4..).unwrap_or_default();
        return cut
            .iter()
            .all(|&b| b == 0)
            .then_some(Header::XidOnly { xid });
    };
    match kind {
        CALL => parse_call(xid, bytes).map(Header::Call),
        REPLY => parse_reply(xid, bytes).map(Header::Reply),
        _ => None,
    }
}

/// An `opaque_auth` at `at`: its flavor, and where what follows it starts, as far as captured.
/// `Err` when it cannot be one.
fn opaque_auth(bytes: &[u8], at: usize) -> Result<(Option<u32>, Option<usize>), ()> {
    let flavor = word(bytes, at);
    let Some(length) = word(bytes, at + 4) else {
        return Ok((flavor, None));
    };
    if length > AUTH_BYTES {
        return Err(());
    }
    Ok((flavor, Some(at + 8 + (length as usize).next_multiple_of(4))))
}

fn parse_call(xid: u32, bytes: &[u8]) -> Option<CallHeader> {
    if word(bytes, 8).is_some_and(|version| version != 2) {
        return None;
    }
    let (flavor, verifier) = opaque_auth(bytes, 24).ok()?;
    let security = match flavor {
        Some(1) => Security::Sys,
        Some(3) => Security::Dh,
        Some(RPCSEC_GSS) => gss_service(bytes),
        Some(7) => Security::Tls,
        Some(0) | None => Security::None,
        Some(_) => Security::Other,
    };
    let body = match verifier {
        Some(at) => opaque_auth(bytes, at).ok()?.1,
        None => None,
    };
    Some(CallHeader {
        xid,
        program: word(bytes, 12),
        version: word(bytes, 16),
        procedure: word(bytes, 20),
        security,
        body,
    })
}

/// RFC 2203 section 5: version 1, control procedure, sequence number, service, context handle.
fn gss_service(bytes: &[u8]) -> Security {
    match (word(bytes, 36), word(bytes, 44)) {
        // Creating and destroying a context (procedures 1 to 3) is a NULL call whatever the service.
        (Some(0), Some(2)) => Security::Krb5i,
        (Some(0), Some(3)) => Security::Krb5p,
        _ => Security::Krb5,
    }
}

fn parse_reply(xid: u32, bytes: &[u8]) -> Option<ReplyHeader> {
    let success = |body| {
        Some(ReplyHeader {
            xid,
            status: ReplyStatus::Success,
            body,
        })
    };
    let error = |name| {
        Some(ReplyHeader {
            xid,
            status: ReplyStatus::Error(name),
            body: None,
        })
    };
    match word(bytes, 8) {
        None => success(None),
        Some(0) => {
            let Some(at) = opaque_auth(bytes, 12).ok()?.1 else {
                return success(None);
            };
            match word(bytes, at) {
                None => success(None),
                Some(0) => success(Some(at + 4)),
                Some(1) => error("PROG_UNAVAIL"),
                Some(2) => error("PROG_MISMATCH"),
                Some(3) => error("PROC_UNAVAIL"),
                Some(4) => error("GARBAGE_ARGS"),
                Some(5) => error("SYSTEM_ERR"),
                Some(_) => None,
            }
        }
        Some(1) => match (word(bytes, 12), word(bytes, 16)) {
            (None, _) | (Some(1), None) => error("MSG_DENIED"),
            (Some(0), _) => error("RPC_MISMATCH"),
            (Some(1), Some(status)) => error(match status {
                1 => "AUTH_BADCRED",
                2 => "AUTH_REJECTEDCRED",
                3 => "AUTH_BADVERF",
                4 => "AUTH_REJECTEDVERF",
                5 => "AUTH_TOOWEAK",
                6 => "AUTH_INVALIDRESP",
                7 => "AUTH_FAILED",
                13 => "RPCSEC_GSS_CREDPROBLEM",
                14 => "RPCSEC_GSS_CTXPROBLEM",
                _ => "AUTH_ERROR",
            }),
            _ => None,
        },
        Some(_) => None,
    }
}

/// Whether a call's header stands the test of being read without knowing that one starts here. Of a
/// header that is cut behind the programme number, a number that is known here is proof enough: with
/// the record mark, message type and RPC version before it that is four words.
pub(crate) fn call_is_believable(call: &CallHeader) -> bool {
    let Some(number) = call.program else {
        return false;
    };
    match (
        super::programs::program(number),
        call.version,
        call.procedure,
    ) {
        (Some(_), None, _) => true,
        (Some(p), Some(version), procedure) => p.believes(version, procedure.unwrap_or(0)),
        // RFC 5531 section 13: 100000.. are registered, 0x20000000.. a site's own, 0x40000000.. transient.
        (None, Some(version), Some(procedure)) => {
            let assigned = (100_000..600_000).contains(&number)
                || (0x2000_0000..0x6000_0000).contains(&number);
            assigned && version <= 16 && procedure <= 256 && call.security != Security::Other
        }
        (None, ..) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|w| w.to_be_bytes()).collect()
    }

    /// NFSv3 READ call: xid 7, RPC version 2, AUTH_SYS of 8 bytes, no verifier.
    fn read_call() -> Vec<u8> {
        words(&[7, 0, 2, 100_003, 3, 6, 1, 8, 0x1111, 0x2222, 0, 0, 0xfeed])
    }

    #[test]
    fn a_call_is_read_up_to_its_arguments() {
        let Some(Header::Call(call)) = parse(&read_call()) else {
            panic!("not a call")
        };
        assert_eq!(
            (call.xid, call.program, call.version, call.procedure),
            (7, Some(100_003), Some(3), Some(6))
        );
        assert_eq!((call.security, call.body), (Security::Sys, Some(48)));
        assert!(call_is_believable(&call));
    }

    #[test]
    fn a_cut_header_gives_what_is_there() {
        let whole = read_call();
        for n in 4..whole.len() {
            let header = parse(&whole[..n]).unwrap();
            match header {
                Header::XidOnly { xid } => assert!(xid == 7 && n < 8),
                Header::Call(call) => {
                    assert_eq!(call.program.is_some(), n >= 16);
                    assert_eq!(call.procedure.is_some(), n >= 24);
                    assert_eq!(call.body.is_some(), n >= 48);
                }
                Header::Reply(_) => panic!("a call became a reply"),
            }
        }
    }

    #[test]
    fn replies_say_how_the_call_ended() {
        for (words_of, status) in [
            (&[7, 1, 0, 0, 0, 0][..], ReplyStatus::Success),
            (
                &[7, 1, 0, 0, 0, 2, 3, 4],
                ReplyStatus::Error("PROG_MISMATCH"),
            ),
            (
                &[7, 1, 1, 1, 13],
                ReplyStatus::Error("RPCSEC_GSS_CREDPROBLEM"),
            ),
            (&[7, 1, 1, 0, 2, 2], ReplyStatus::Error("RPC_MISMATCH")),
        ] {
            let Some(Header::Reply(reply)) = parse(&words(words_of)) else {
                panic!("not a reply")
            };
            assert_eq!(reply.status, status);
        }
    }

    #[test]
    fn what_cannot_be_a_header_is_not_one() {
        for bytes in [
            words(&[7, 2, 0, 0]),
            words(&[7, 0, 3, 100_003, 3, 6]),
            words(&[7, 1, 0, 0, 401]),
            words(&[7, 1, 0, 0, 0, 6]),
            vec![1, 2, 3],
        ] {
            assert_eq!(parse(&bytes), None);
        }
    }

    #[test]
    fn gss_service_decides_what_can_be_read() {
        let gss = |service| {
            words(&[
                7, 0, 2, 100_003, 3, 6, 6, 24, 1, 0, 9, service, 4, 0xabcd, 6, 0,
            ])
        };
        for (service, security, wrapper) in [
            (1, Security::Krb5, Some(0)),
            (2, Security::Krb5i, Some(8)),
            (3, Security::Krb5p, None),
        ] {
            let Some(Header::Call(call)) = parse(&gss(service)) else {
                panic!("not a call")
            };
            assert_eq!(
                (call.security, call.security.wrapper()),
                (security, wrapper)
            );
        }
    }
}
