//! Requests of HTTP to those who answer with metrics.

use ::scrape::{Token, status_code};

const TOKEN: &[u8] = b"0123456789abcdef";
/// Of longer ones not every beginning is asked for.
const LONGEST: usize = 1 << 10;

/// A request, whole and as it arrives byte by byte, where a token is needed and where none is.
pub fn scrape(data: &[u8]) {
    let data = data.get(..LONGEST).unwrap_or(data);
    let token = Token::new(TOKEN).expect("long enough");
    for token in [None, Some(&token)] {
        let whole = status_code(data, token);
        let mut beginnings = (0..data.len()).filter_map(|n| data.get(..n));
        let first = beginnings.find_map(|beginning| status_code(beginning, token));
        assert!(
            first.is_none() || first == whole,
            "{first:?}, whole: {whole:?}"
        );
        let says_it = data.windows(TOKEN.len()).any(|bytes| bytes == TOKEN);
        let is_told = matches!(whole, Some(200 | 404 | 405));
        assert!(token.is_none() || says_it || !is_told, "{whole:?}");
    }
}
