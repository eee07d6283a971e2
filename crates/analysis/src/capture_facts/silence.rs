//! Calls behind which nothing is heard any more on their connection, into how long they are known to have waited.

use super::CaptureFacts;
use crate::text::{Text, Value, text};
use ledger::One;

/// What is lost twice is sent for the third time within so much: a timer of a second at first, and twice that then (RFC 6298).
const SENT_AGAIN_NS: i64 = 3_000_000_000;

/// Gaps show what was lost among bytes, of which packets at least a third are: so many times as likely as they say, with as
/// much again to spare, a capture lacks the packets that would have told.
const LIKELIER: u64 = 6;

impl CaptureFacts {
    /// Says how many calls had no answer yet, if any.
    pub(crate) fn still_waiting(&self) -> Option<Text> {
        let (calls, longest_ns) = self.unanswered;
        (calls > 0).then(|| {
            text!(
                "{calls,} call{calls||s} still waited for an answer when the connection or the capture ended, the longest for {longest}: counted as long as that.",
                calls = calls,
                longest = Value::Duration(longest_ns),
            )
        })
    }

    /// Of what a call waited on with nothing heard any more on its connection, how long its server is known not to have
    /// answered: it was heard on others, and what is sent is sent again, if it is lost.
    #[must_use]
    pub fn unanswered_ns(&self, call: &One) -> i64 {
        if call.silent_ns <= 0 {
            return 0;
        }
        let heard = self.heard.get(&call.server).copied();
        let until = heard.map_or(i64::MIN, |at| at.0.saturating_sub(SENT_AGAIN_NS));
        let since = call.at_ns.saturating_add(call.response_ns());
        until.saturating_sub(since).clamp(0, call.silent_ns)
    }

    /// Whether the capture lost so much that as many connections as have calls without an answer may have lost theirs, and
    /// all that came behind it.
    #[must_use]
    pub fn may_lack_answers(&self) -> bool {
        let (calls, _) = self.unanswered;
        let lost = LIKELIER * self.tcp.missing_packets;
        calls > 0 && calls.saturating_mul(self.tcp.packets) <= lost.saturating_mul(self.tcp.asked)
    }
}
