//! Requests of native clients whose numbers have their largest byte first (AIX, SPARC, HP): that they are such.
//!
//! Their messages should have the layouts of others with each number the other way round, but no public capture has
//! one. So of their calls only what stands in no number is read: the function, the text, an error's text; and the
//! options of OALL8, its first field in every layout, which say what is done.

use super::reader::Reader;
use super::{execute, function, message};

/// No client has as many cursors, or asks for as many rows at once.
const MOST: u32 = 1 << 16;

/// The longest name of a user, its bytes counted up to four times.
const NAME: u32 = 512;

/// Where layouts of OALL8 have the constant 13 (12 from Oracle 9 clients): as for little-endian clients.
const CONSTANTS: [usize; 4] = [28, 32, 14, 20];

fn both(body: &[u8], at: usize) -> Option<(u32, u32)> {
    let bytes = *body.get(at..)?.first_chunk()?;
    Some((u32::from_be_bytes(bytes), u32::from_le_bytes(bytes)))
}

/// Whether the request says so for certain.
pub(in crate::tns) fn says(payload: &[u8]) -> bool {
    match payload {
        [message::FUNCTION, function::FETCH, _, body @ ..] if body.len() == 8 => {
            let within = |at| both(body, at).is_some_and(|(be, le)| be < MOST && le >= MOST);
            within(0) && within(4)
        }
        [message::FUNCTION, function::AUTHENTICATE, _, body @ ..] => authenticates(body),
        _ => {
            const DEEPEST: usize = 200;
            const OALL8: [u8; 2] = [message::FUNCTION, function::OALL8];
            let mut places = payload.windows(2).take(DEEPEST).enumerate();
            places.any(|(at, w)| {
                let body = payload.get(at + 3..).filter(|_| w == OALL8);
                body.is_some_and(|body| options(body).is_some())
            })
        }
    }
}

/// A pointer and the length of the user's name.
fn authenticates(body: &[u8]) -> bool {
    let has_keys = body.windows(5).any(|w| w == b"AUTH_");
    let lengths = || [8, 4, 1].into_iter().filter_map(|at| both(body, at));
    let is_name = |n: u32| (1..=NAME).contains(&n);
    has_keys
        && lengths().any(|(be, le)| is_name(be) && le >= MOST)
        && !lengths().any(|(_, le)| is_name(le))
}

/// What an OALL8 is to do, from behind its number, where it is such a client's.
pub(super) fn options(body: &[u8]) -> Option<u32> {
    let options = Reader::new(body).u32_be()?;
    let plausible = options != 0 && options < 0x0100_0000 && execute::parse(body).is_none();
    let constant = |at| both(body, at).is_some_and(|(be, _)| matches!(be, 12 | 13));
    (plausible && CONSTANTS.into_iter().any(constant)).then_some(options)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tns::tests::hex;

    /// sqlplus 10.2 of 64 bits, as its little-endian twin has it.
    pub(in crate::tns) const EXECUTE: &str = "03 5e 0c 00 00 80 61 00*4 fe ff*7 00*3 24 fe ff*7 00*3 0d \
         fe ff*7 fe ff*7 00*4 00*3 01 00*24 fe ff*7 00*8 fe ff*7 fe ff*7 fe ff*7 00*8 fe ff*7 fe ff*7 \
         '$select name, password from sys.user$' 00*3 01 00*24 00*3 01 00*8 00 00 80 00*13";

    #[test]
    fn numbers_with_their_largest_byte_first_are_told() {
        for bytes in [
            EXECUTE,
            // Closing a cursor on the way.
            "11 69 0b fe ff*7 00*3 01 00*4 00*3 04 03 5e 0c 00 00 00 21 00*4 01 00*3 0a 01 00*3 0d 01 01",
            "03 05 0d 00 00 00 05 00 00 00 0f",
            "03 76 02 fe ff*7 00*3 03 00*3 21 fe ff*7 00*3 05 fe ff*7 fe ff*7 03 'sys' \
             00*3 0d 0d 'AUTH_TERMINAL' 00*3 05 05 'pts/0' 00*4",
        ] {
            assert!(says(&hex(bytes)), "{bytes}");
        }
    }

    #[test]
    fn other_clients_say_nothing_of_the_kind() {
        for bytes in [
            "03 05 3b 05 00*3 0a 00*3",
            "03 05 37 01 01 01 0a",
            "03 0e 06",
            "03 76 02 fe ff*7 09 00*3 21 00*3 fe ff*7 05 00*7 fe ff*7 fe ff*7 03 'sys' 27 00*3 0d 'AUTH_TERMINAL'",
            "03 76 02 01 04 00*3 01 00*3 01 05 00*3 01 01 05 'guest' 0d 00*3 0d 'AUTH_TERMINAL'",
            "03 76 01 01 01 03 01 21 01 01 05 01 01 'SYS' 01 0d 0d 'AUTH_TERMINAL'",
            "03 5e 07 02 80 21 00 01 01 34 01 01 0d 00 00 04 ff*4 01 0a 04 7f ff*3 00*11 01 00*8",
            "03 5e 0c 61 80 00*6 fe ff*7 24 00*3 fe ff*7 0d 00*3 fe ff*7 fe ff*7 00*4 01 00*27",
        ] {
            assert!(!says(&hex(bytes)), "{bytes}");
        }
    }
}
