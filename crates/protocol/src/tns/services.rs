//! The negotiation of Oracle's native services: what client and server agree on of encryption and
//! integrity. What the server answers counts. Numbers are big-endian:
//!
//! ```text
//! magic:4 (de ad be ef)  length:2  version:4  services:2  flags:1
//! service   id:2  parts:2  error:4
//! part      length:2  type:2  bytes
//! ```

use super::ttc::Reader;

/// What begins every packet of the negotiation.
pub(super) const MAGIC: [u8; 4] = [0xde, 0xad, 0xbe, 0xef];

const ENCRYPTION: u16 = 2;
const INTEGRITY: u16 = 3;

/// More services and parts than any version has.
const MOST: u16 = 32;

/// What was agreed on.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Agreed {
    /// The cipher's number; 0 is none.
    pub cipher: u8,
    /// The hash's number; 0 is none.
    pub hash: u8,
}

impl Agreed {
    /// The cipher that stands for TLS inside DATA packets.
    pub(super) const TLS: u8 = 21;

    /// The cipher's name; of TLS the handshake says it.
    pub(super) fn cipher_name(self) -> Option<&'static str> {
        Some(match self.cipher {
            0 => return None,
            1 => "RC4_40",
            8 => "RC4_56",
            10 => "RC4_128",
            6 => "RC4_256",
            2 => "DES",
            3 => "DES40",
            11 => "3DES112",
            12 => "3DES168",
            15 => "AES128",
            16 => "AES192",
            17 => "AES256",
            Agreed::TLS => "TLS",
            _ => "another",
        })
    }

    pub(super) fn hash_name(self) -> Option<&'static str> {
        Some(match self.hash {
            0 => return None,
            1 => "MD5",
            3 => "SHA1",
            4 => "SHA512",
            5 => "SHA256",
            6 => "SHA384",
            _ => "another",
        })
    }

    /// Bytes behind each payload, where it is protected but readable.
    pub(super) fn trailer_bytes(self) -> usize {
        let hash = match self.hash {
            1 => 16,
            3 => 20,
            4 => 64,
            5 => 32,
            6 => 48,
            _ => return 0,
        };
        // One byte says whether the keys change.
        hash + 1
    }
}

/// Reads the server's answer. `None`: it says nothing of encryption (further rounds of an external
/// authentication).
pub(super) fn agreed(payload: &[u8]) -> Option<Agreed> {
    let mut r = Reader::new(payload.strip_prefix(&MAGIC)?);
    let _ = (r.u16_be()?, r.u32_be()?);
    let services = r.u16_be()?;
    r.u8()?;
    let mut agreed = Agreed::default();
    let mut any = false;
    for _ in 0..services.min(MOST) {
        let service = r.u16_be()?;
        let parts = r.u16_be()?;
        r.u32_be()?;
        for part in 0..parts.min(MOST) {
            let length = r.u16_be()?;
            r.u16_be()?;
            let bytes = r.take(length.into())?;
            // The first part is the version, the second what was chosen.
            if part == 1
                && let [chosen] = bytes
            {
                match service {
                    ENCRYPTION => (agreed.cipher, any) = (*chosen, true),
                    INTEGRITY => (agreed.hash, any) = (*chosen, true),
                    _ => {}
                }
            }
        }
    }
    any.then_some(agreed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The answer of a 12.1 server (127 bytes with its header).
    const ANSWER: [u8; 117] = [
        0xde, 0xad, 0xbe, 0xef, 0x00, 0x75, 0, 0, 0, 0, 0x00, 0x04, 0x00, // four services
        0x00, 0x04, 0x00, 0x03, 0, 0, 0, 0, // supervisor
        0x00, 0x04, 0x00, 0x05, 0x0c, 0x10, 0x02, 0x00, 0x00, 0x02, 0x00, 0x06, 0x00, 0x1f, 0x00,
        0x0e, 0x00, 0x01, 0xde, 0xad, 0xbe, 0xef, 0x00, 0x03, 0, 0, 0, 0x02, 0x00, 0x04, 0x00,
        0x01, 0x00, 0x01, 0x00, 0x02, 0, 0, 0, 0, // authentication
        0x00, 0x04, 0x00, 0x05, 0x0c, 0x10, 0x02, 0x00, 0x00, 0x02, 0x00, 0x06, 0xfb, 0xff, 0x00,
        0x02, 0x00, 0x02, 0, 0, 0, 0, // encryption
        0x00, 0x04, 0x00, 0x05, 0x0c, 0x10, 0x02, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00, 0x00, 0x03,
        0x00, 0x02, 0, 0, 0, 0, // integrity
        0x00, 0x04, 0x00, 0x05, 0x0c, 0x10, 0x02, 0x00, 0x00, 0x01, 0x00, 0x02, 0x00,
    ];

    #[test]
    fn the_answer_says_whether_anything_is_encrypted() {
        assert_eq!(agreed(&ANSWER), Some(Agreed::default()));
        let mut aes = ANSWER;
        aes[95] = 17;
        aes[116] = 3;
        let found = agreed(&aes).unwrap();
        assert_eq!((found.cipher, found.hash), (17, 3));
        assert_eq!(found.trailer_bytes(), 21);
        assert_eq!(
            (found.cipher_name(), found.hash_name()),
            (Some("AES256"), Some("SHA1"))
        );
        assert_eq!(Agreed::default().cipher_name(), None);
    }

    #[test]
    fn a_round_of_external_authentication_says_nothing() {
        let ntlm = [
            0xde, 0xad, 0xbe, 0xef, 0x00, 0xa9, 0x0a, 0x20, 1, 0, 0x00, 0x01, 0x00, 0x00, 0x01,
            0x00, 0x02, 0, 0, 0, 0, 0x00, 0x04, 0x00, 0x01, 0x88, 0, 0, 0, 0x00, 0x02, 0x00, 0x01,
            b'N', b'T',
        ];
        assert_eq!(agreed(&ntlm), None);
        for end in 0..ANSWER.len() {
            let _ = agreed(&ANSWER[..end]);
        }
    }
}
