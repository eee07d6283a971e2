//! Lines of a SQL*Net trace that say what came of something, at any level: transports that were opened or
//! not, errors and who was told of them, and what the native services agreed on.
//!
//! ```text
//! nsopen: opening transport...         then  nsopen: transport is open
//!                                      or    nsopen: unable to open transport
//! nserror: nsres: id=0, op=65, ns=12535, ns2=12560; nt[0]=505, nt[1]=0, nt[2]=0; ora[0]=0, …
//! nioqer:  returning err = 3113              the error that the application got
//! niotns: Couldn't connect, returning 12170
//! na_tns: encryption is active, using AES256
//! na_tns: crypto-checksumming is not active
//! ```
//!
//! That encryption is active was seen in no public trace: the line is as Oracle's support describes it.

use super::header::{Attempts, NetFacts};
use super::sqlnet::{NetLine, number};
use std::collections::BTreeMap;

/// What is remembered between lines.
#[derive(Default)]
pub(super) struct Outcomes {
    /// When a transport began to be opened, where lines have dates.
    opening: Option<i64>,
}

impl Outcomes {
    pub(super) fn line(&mut self, line: &NetLine<'_>, facts: &mut NetFacts) {
        let now = line.stamp.map(|s| s.local_ns);
        let text = line.text;
        let count = |errors: &mut BTreeMap<u32, u64>, code: Option<u32>| {
            if let Some(code) = code.filter(|code| *code > 0) {
                *errors.entry(code).or_default() += 1;
            }
        };
        match line.function {
            "nsopen" if text.starts_with("opening transport") => self.opening = now,
            "nsopen" if text.starts_with("transport is open") => {
                self.ended(now, &mut facts.opened);
            }
            "nsopen" if text.starts_with("unable to open transport") => {
                self.ended(now, &mut facts.not_opened);
            }
            "nserror" => {
                count(&mut facts.errors, number(text, " ns="));
                count(&mut facts.system_errors, number(text, " nt[1]="));
            }
            "nioqer" => count(&mut facts.returned, number(text, "returning err = ")),
            "niotns" => count(&mut facts.returned, number(text, ", returning ")),
            "na_tns" => agreed(text, facts),
            _ => {}
        }
    }

    fn ended(&mut self, now: Option<i64>, attempts: &mut Attempts) {
        attempts.count += 1;
        let took = now.zip(self.opening.take()).map(|(now, then)| now - then);
        attempts.total_ns += took.unwrap_or(0).max(0);
    }
}

/// `encryption is active, using AES256`, or `is not active`, with a capital letter or without.
fn agreed(text: &str, facts: &mut NetFacts) {
    let text = text.to_ascii_uppercase();
    let Some((what, state)) = text.split_once(" IS ") else {
        return;
    };
    let place = match what {
        "ENCRYPTION" => &mut facts.encryption,
        "CRYPTO-CHECKSUMMING" => &mut facts.checksum,
        _ => return,
    };
    let is_of_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
    *place = match state.split_once("USING ") {
        Some((_, name)) => Some(name.chars().take_while(is_of_name).collect()),
        None if state.starts_with("NOT ACTIVE") => Some("none".to_owned()),
        None => return,
    };
}

#[cfg(test)]
mod tests {
    use super::super::sqlnet::split;
    use super::*;

    fn facts(trace: &str) -> NetFacts {
        let (mut outcomes, mut facts) = (Outcomes::default(), NetFacts::default());
        for line in trace.lines() {
            outcomes.line(&split(line).unwrap(), &mut facts);
        }
        facts
    }

    /// A client of 21c at level 4, whose listener sends it to where no way leads.
    #[test]
    fn a_transport_that_does_not_open_takes_its_time() {
        let facts = facts(
            "[000001 25-APR-2022 17:01:31:905] nsopen: opening transport...\n\
             [000001 25-APR-2022 17:01:31:906] nsopen: transport is open\n\
             [000001 25-APR-2022 17:01:31:906] nsopen: opening transport...\n\
             [000001 25-APR-2022 17:02:31:960] nserror: nsres: id=0, op=65, ns=12535, ns2=12560; nt[0]=505, nt[1]=110, nt[2]=0; ora[0]=0\n\
             [000001 25-APR-2022 17:02:31:960] nsopen: unable to open transport\n\
             [000001 25-APR-2022 17:02:31:961] niotns: Couldn't connect, returning 12170\n",
        );
        let attempts = |count, total_ns| Attempts { count, total_ns };
        assert_eq!(facts.opened, attempts(1, 1_000_000));
        assert_eq!(facts.not_opened, attempts(1, 60_054_000_000));
        assert_eq!(facts.errors, [(12_535, 1)].into());
        assert_eq!(facts.system_errors, [(110, 1)].into());
        assert_eq!(facts.returned, [(12_170, 1)].into());
    }

    #[test]
    fn without_dates_attempts_are_counted_alone() {
        let facts = facts("nsopen: opening transport...\nnsopen: unable to open transport\n");
        assert_eq!(
            facts.not_opened,
            Attempts {
                count: 1,
                total_ns: 0
            }
        );
    }

    #[test]
    fn errors_are_counted_where_the_application_gets_them() {
        let facts = facts(
            "(10144) [24-JAN-2026 15:10:07:904] nioqer:  incoming err = 12151\n\
             (10144) [24-JAN-2026 15:10:07:904] nioqer:  returning err = 3135\n",
        );
        assert_eq!(facts.returned, [(3_135, 1)].into());
    }

    #[test]
    fn native_services_say_what_is_active() {
        let none = facts(
            "na_tns: \tEncryption is not active\nna_tns: \tcrypto-checksumming is not active\n",
        );
        assert_eq!(none.encryption.as_deref(), Some("none"));
        assert_eq!(none.checksum.as_deref(), Some("none"));
        let both = facts(
            "na_tns: \tauthentication is not active\n\
             na_tns: \tencryption is active, using AES256\n\
             na_tns: \tcrypto-checksumming is active, using SHA1\n",
        );
        assert_eq!(both.encryption.as_deref(), Some("AES256"));
        assert_eq!(both.checksum.as_deref(), Some("SHA1"));
    }
}
