//! The secret that both ends share, and the proofs that each makes of it without telling it.

use crate::error::ProbeError;
use crate::wire::{Mac, Nonce, Welcome, Wishes};
use hmac_sha256::HMAC;
use std::fmt;

/// The shortest token: as hard to guess as a password may be, bytes.
pub(crate) const TOKEN_BYTES: usize = 16;

/// Shared by a listener and those who may use it.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// A token of a file's bytes, without the white space around it.
    ///
    /// # Errors
    /// When it is shorter than [`TOKEN_BYTES`].
    pub fn new(bytes: &[u8]) -> Result<Token, ProbeError> {
        let bytes = bytes.trim_ascii();
        if bytes.len() < TOKEN_BYTES {
            return Err(ProbeError::ShortToken);
        }
        Ok(Token(bytes.to_vec()))
    }

    /// A new one of 32 hexadecimal digits: what to show, and the token.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn make() -> Result<(String, Token), ProbeError> {
        let text: String = nonce()?.iter().map(|b| format!("{b:02x}")).collect();
        let token = Token(text.clone().into_bytes());
        Ok((text, token))
    }

    pub(crate) fn client_proof(&self, nonces: &Nonces, wishes: &Wishes) -> Mac {
        self.hmac(b"slowside probe 1 client", nonces, &wishes.encode())
            .finalize()
    }

    /// In constant time.
    pub(crate) fn is_client_proof(&self, mac: &Mac, nonces: &Nonces, wishes: &Wishes) -> bool {
        self.hmac(b"slowside probe 1 client", nonces, &wishes.encode())
            .finalize_verify(mac)
    }

    pub(crate) fn listener_proof(&self, nonces: &Nonces, welcome: &Welcome) -> Mac {
        self.hmac(
            b"slowside probe 1 listener",
            nonces,
            &welcome.encode_signed(),
        )
        .finalize()
    }

    /// In constant time.
    pub(crate) fn is_listener_proof(&self, nonces: &Nonces, welcome: &Welcome) -> bool {
        self.hmac(
            b"slowside probe 1 listener",
            nonces,
            &welcome.encode_signed(),
        )
        .finalize_verify(&welcome.mac)
    }

    fn hmac(&self, who: &[u8], nonces: &Nonces, said: &[u8]) -> HMAC {
        let mut hmac = HMAC::new(&self.0);
        hmac.update(who);
        hmac.update(nonces.client);
        hmac.update(nonces.listener);
        hmac.update(said);
        hmac
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

/// The numbers of one handshake, which no other one has.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nonces {
    pub(crate) client: Nonce,
    pub(crate) listener: Nonce,
}

pub(crate) fn nonce() -> Result<Nonce, ProbeError> {
    let mut nonce = Nonce::default();
    getrandom::fill(&mut nonce).map_err(|e| ProbeError::NoRandom(e.to_string()))?;
    Ok(nonce)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proofs_hold_for_one_token_one_handshake_and_what_was_said() {
        let token = Token::new(b" correct horse battery \n").unwrap();
        let nonces = Nonces {
            client: [1; 16],
            listener: [2; 16],
        };
        let wishes = Wishes::default();
        let mac = token.client_proof(&nonces, &wishes);
        assert!(token.is_client_proof(&mac, &nonces, &wishes));
        let again = Nonces {
            listener: [3; 16],
            ..nonces
        };
        assert!(!token.is_client_proof(&mac, &again, &wishes));
        let more = Wishes {
            duration_ms: 1,
            ..wishes
        };
        assert!(!token.is_client_proof(&mac, &nonces, &more));
        let other = Token::new(b"correct horse battery.").unwrap();
        assert!(!other.is_client_proof(&mac, &nonces, &wishes));
    }

    /// The bytes under the proof, by `openssl dgst -sha256 -mac HMAC`.
    #[test]
    fn a_proof_is_hmac_sha_256() {
        let token = Token::new(b"0123456789abcdef").unwrap();
        let nonces = Nonces {
            client: [1; 16],
            listener: [2; 16],
        };
        let hex: String = token
            .client_proof(&nonces, &Wishes::default())
            .iter()
            .map(|b| format!("{b:02x}"))
            .collect();
        assert_eq!(
            hex,
            "020f54111737e3af60868b39730c4c270cd7cc7a77a2335c315b291cebcb2561"
        );
    }

    #[test]
    fn short_tokens_are_refused_and_made_ones_are_not() {
        assert!(Token::new(b"  fifteen-bytes-1  ").is_err());
        let (text, token) = Token::make().unwrap();
        assert_eq!(text.len(), 32);
        assert_eq!(Token::new(text.as_bytes()).unwrap().0, token.0);
        assert_eq!(format!("{token:?}"), "Token");
    }
}
