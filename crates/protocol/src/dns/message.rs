//! The wire format (RFC 1035 section 4), big-endian:
//!
//! ```text
//! header    id:2 flags:2 questions:2 answers:2 authorities:2 additionals:2
//!           flags: response:1 opcode:4 AA TC RD RA Z AD CD rcode:4
//! question  name type:2 class:2
//! record    name type:2 class:2 ttl:4 length:2 data
//! name      labels of length:1 and so many bytes, up to one of length 0;
//!           0xc0 and above: the rest stands at that offset of the message
//! ```

use model::Name;

/// A type of records, by its number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Kind(pub u16);

impl Kind {
    pub(super) const ANY: Kind = Kind(255);

    /// Those that clients ask for, by the registry's names.
    const NAMES: &'static [(u16, &'static str)] = &[
        (1, "A"),
        (2, "NS"),
        (5, "CNAME"),
        (6, "SOA"),
        (10, "NULL"),
        (12, "PTR"),
        (13, "HINFO"),
        (15, "MX"),
        (16, "TXT"),
        (17, "RP"),
        (24, "SIG"),
        (25, "KEY"),
        (28, "AAAA"),
        (29, "LOC"),
        (33, "SRV"),
        (35, "NAPTR"),
        (38, "A6"),
        (39, "DNAME"),
        (43, "DS"),
        (44, "SSHFP"),
        (46, "RRSIG"),
        (47, "NSEC"),
        (48, "DNSKEY"),
        (50, "NSEC3"),
        (52, "TLSA"),
        (64, "SVCB"),
        (65, "HTTPS"),
        (99, "SPF"),
        (249, "TKEY"),
        (250, "TSIG"),
        (251, "IXFR"),
        (252, "AXFR"),
        (255, "ANY"),
        (257, "CAA"),
    ];

    fn known(self) -> Option<&'static str> {
        let entry = Kind::NAMES.iter().find(|(number, _)| *number == self.0);
        entry.map(|(_, name)| *name)
    }

    /// `TYPE65280` for one without a name (RFC 3597).
    pub(super) fn name(self) -> Name {
        match self.known() {
            Some(name) => Name::of(name),
            None => Name::of(&format!("TYPE{}", self.0)),
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Question {
    /// Labels as they stand, each with its length before it.
    pub name: Vec<u8>,
    pub kind: Kind,
}

/// What is read of a message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Parsed {
    pub id: u16,
    pub response: bool,
    pub opcode: u8,
    pub rcode: u8,
    pub answers: u16,
    /// The first question; `None` where there is none or it was cut off.
    pub question: Option<Question>,
    /// Whether the header's numbers can be.
    pub sane: bool,
    /// Whether it is a whole message about a name, such as chance does not make.
    pub certain: bool,
}

impl Parsed {
    /// The name of the code of a response.
    pub(super) fn code(&self) -> Option<&'static str> {
        const CODES: [&str; 12] = [
            "NOERROR",
            "FORMERR",
            "SERVFAIL",
            "NXDOMAIN",
            "NOTIMP",
            "REFUSED",
            "YXDOMAIN",
            "YXRRSET",
            "NXRRSET",
            "NOTAUTH",
            "NOTZONE",
            "DSOTYPENI",
        ];
        CODES.get(usize::from(self.rcode)).copied()
    }

    /// The operation of a message that is no query.
    pub(super) fn operation(&self) -> Name {
        Name::of(match self.opcode {
            0 => "QUERY",
            1 => "IQUERY",
            2 => "STATUS",
            4 => "NOTIFY",
            5 => "UPDATE",
            6 => "DSO",
            _ => "OPCODE",
        })
    }
}

/// Labels of a name: more make it longer than it may be.
const LABELS: usize = 128;
/// Bytes of a name, lengths included.
const NAME_BYTES: usize = 255;

/// Reads a name at `at`: its labels with their lengths, and where what follows it stands.
pub(crate) fn name(message: &[u8], at: usize) -> Option<(Vec<u8>, usize)> {
    let mut labels = Vec::new();
    let (mut at, mut behind) = (at, None);
    for _ in 0..LABELS {
        let length = *message.get(at)?;
        match length {
            0 => return Some((labels, behind.unwrap_or(at + 1))),
            1..=63 => {
                let end = at + 1 + usize::from(length);
                labels.extend_from_slice(message.get(at..end)?);
                if labels.len() > NAME_BYTES {
                    return None;
                }
                at = end;
            }
            0xc0.. => {
                let low = *message.get(at + 1)?;
                behind = behind.or(Some(at + 2));
                at = usize::from(u16::from_be_bytes([length & 0x3f, low]));
            }
            _ => return None,
        }
    }
    None
}

/// A name as people write it; what is not printable as `\ddd` (RFC 1035 section 5.1).
pub(crate) fn text(labels: &[u8]) -> String {
    let mut out = String::new();
    let mut rest = labels;
    while let Some((length, behind)) = rest.split_first() {
        let (label, next) = behind.split_at(behind.len().min(usize::from(*length)));
        if !out.is_empty() {
            out.push('.');
        }
        for &b in label {
            match b {
                b'.' | b'\\' => out.extend(['\\', char::from(b)]),
                b' '..=b'~' => out.push(char::from(b)),
                _ => out.push_str(&format!("\\{b:03}")),
            }
        }
        rest = next;
    }
    if out.is_empty() {
        out.push('.');
    }
    out
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let two = bytes.get(at..)?.first_chunk()?;
    Some(u16::from_be_bytes(*two))
}

const HEADER: usize = 12;

/// Reads the header and the first question. `None` with less than a header.
pub(crate) fn parse(bytes: &[u8]) -> Option<Parsed> {
    let header: &[u8; HEADER] = bytes.first_chunk()?;
    let field = |i: usize| u16_at(header, i).unwrap_or_default();
    let (id, flags) = (field(0), field(2));
    let [questions, answers, authorities, additionals] = [4, 6, 8, 10].map(field);
    let read = (questions > 0).then(|| name(bytes, HEADER)).flatten();
    let question = read.and_then(|(name, at)| {
        let kind = Kind(u16_at(bytes, at)?);
        // The class's top bit asks for an answer to one address (RFC 6762 section 5.4).
        let class = u16_at(bytes, at + 2)? & 0x7fff;
        Some((Question { name, kind }, class, at + 4))
    });
    let response = flags & 0x8000 != 0;
    let opcode = (flags >> 11 & 15) as u8;
    // Records of at least eleven bytes, questions of five.
    let least = 5 * u32::from(questions)
        + 11 * (u32::from(answers) + u32::from(authorities) + u32::from(additionals));
    let sane = flags & 0x0040 == 0
        && opcode <= 6
        && (response || flags & 15 == 0)
        && least <= 65_535
        && (questions > 0 || response || opcode == 6)
        && (question.is_none() || question.as_ref().is_some_and(|q| q.1 <= 4 || q.1 >= 254));
    let certain = sane
        && opcode == 0
        && questions == 1
        && authorities <= 16
        && additionals <= 16
        && (response || answers == 0 && authorities == 0 && additionals <= 1)
        && question.as_ref().is_some_and(|(q, class, end)| {
            let hostname = |b: &u8| b.is_ascii_alphanumeric() || b"-_.".contains(b) || *b < 64;
            let alone = response || additionals > 0 || *end == bytes.len();
            *class == 1
                && alone
                && q.name.len() >= 4
                && q.kind.known().is_some()
                && q.name.iter().all(hostname)
        });
    Some(Parsed {
        id,
        response,
        opcode,
        rcode: (flags & 15) as u8,
        answers,
        question: question.map(|q| q.0),
        sane,
        certain,
    })
}

/// Records of a response that are looked at.
const RECORDS: usize = 64;

/// Names and types of the answers.
pub(super) fn answers(bytes: &[u8]) -> impl Iterator<Item = (Vec<u8>, Kind)> {
    let questions = u16_at(bytes, 4).unwrap_or_default();
    let count = u16_at(bytes, 6).unwrap_or_default();
    let mut at = Some(HEADER);
    for _ in 0..questions.min(RECORDS as u16) {
        at = at.and_then(|at| Some(name(bytes, at)?.1 + 4));
    }
    (0..usize::from(count).min(RECORDS)).map_while(move |_| {
        let (labels, fixed) = name(bytes, at?)?;
        let kind = Kind(u16_at(bytes, fixed)?);
        let length = u16_at(bytes, fixed + 8)?;
        at = Some(fixed + 10 + usize::from(length));
        Some((labels, kind))
    })
}
