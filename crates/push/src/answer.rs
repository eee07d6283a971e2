//! What a collector answered, and what follows from it (OTLP 1.9, "OTLP/HTTP Response").

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;
use std::time::Duration;

/// An answer as it came.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) retry_after: Option<String>,
    /// Its beginning.
    pub(crate) body: Vec<u8>,
}

/// How a push ended. What is told is a sentence without its end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// With what was left out of it, if anything.
    Taken(Option<String>),
    /// The same may be taken later.
    Later {
        after: Option<Duration>,
        why: String,
    },
    /// It will not be taken.
    Refused(String),
}

/// Of a collector's words so many characters.
const WORDS: usize = 200;

pub(crate) fn judge(answer: &Answer, now: Timestamp) -> Verdict {
    let said: Option<Value> = serde_json::from_slice(&answer.body).ok();
    let words = |text: Option<&Value>| {
        let text = text.and_then(Value::as_str).unwrap_or_default();
        text.chars().take(WORDS).collect::<String>()
    };
    let status = answer.status;
    if (200..300).contains(&status) {
        let partial = said.as_ref().and_then(|said| said.get("partialSuccess"));
        let rejected = partial.and_then(|p| p.get("rejectedDataPoints"));
        let rejected = rejected.and_then(|n| n.as_u64().or_else(|| n.as_str()?.parse().ok()));
        let why = rejected.filter(|n| *n > 0).map(|n| {
            let message = words(partial.and_then(|p| p.get("errorMessage")));
            format!("{n} data points were rejected: {message}")
        });
        return Verdict::Taken(why);
    }
    let message = match words(said.as_ref().and_then(|said| said.get("message"))) {
        message if message.is_empty() => message,
        message => format!(": {message}"),
    };
    let why = format!("it answers {status}{message}");
    match status {
        429 | 502 | 503 | 504 => Verdict::Later {
            after: answer
                .retry_after
                .as_deref()
                .and_then(|text| after(text, now)),
            why,
        },
        401 | 403 => Verdict::Refused(format!("{why}; it may want headers (--otlp-headers)")),
        300..=399 | 404 | 405 => Verdict::Refused(format!("{why}; check the path of the URL")),
        _ => Verdict::Refused(why),
    }
}

/// RFC 9110 section 10.2.3: seconds, or a date.
fn after(text: &str, now: Timestamp) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = rfc2822::parse(text).ok()?.timestamp();
    // A date that has passed.
    Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(status: u16, retry_after: &str, body: &str) -> Verdict {
        let answer = Answer {
            status,
            retry_after: Some(retry_after.to_owned()).filter(|text| !text.is_empty()),
            body: body.into(),
        };
        judge(&answer, "2026-01-02T03:04:05Z".parse().expect("a time"))
    }

    #[test]
    fn what_is_taken_is_taken_and_what_is_left_out_of_it_is_told() {
        for body in ["", "{}", "not JSON", "{\"partialSuccess\":{}}", "\n\u{1}"] {
            assert_eq!(judged(200, "", body), Verdict::Taken(None), "{body}");
        }
        for n in ["3", "\"3\""] {
            let body = format!(
                "{{\"partialSuccess\":{{\"rejectedDataPoints\":{n},\"errorMessage\":\"too old\"}}}}"
            );
            let why = "3 data points were rejected: too old".to_owned();
            assert_eq!(judged(202, "", &body), Verdict::Taken(Some(why)));
        }
    }

    #[test]
    fn four_answers_mean_later_and_may_say_when() {
        for status in [429, 502, 503, 504] {
            let Verdict::Later { after, .. } = judged(status, "7", "") else {
                panic!("{status}");
            };
            assert_eq!(after, Some(Duration::from_secs(7)));
        }
        for (text, seconds) in [
            ("Fri, 02 Jan 2026 03:04:35 GMT", Some(30)),
            ("Fri, 02 Jan 2026 03:00:00 GMT", Some(0)),
            ("soon", None),
            ("-1", None),
        ] {
            let Verdict::Later { after, .. } = judged(503, text, "") else {
                panic!("{text}");
            };
            assert_eq!(after.map(|a| a.as_secs()), seconds, "{text}");
        }
    }

    #[test]
    fn all_others_are_refusals_with_the_words_that_came() {
        for status in [301, 400, 401, 404, 413, 415, 500] {
            assert!(
                matches!(judged(status, "1", ""), Verdict::Refused(_)),
                "{status}"
            );
        }
        let long = "x".repeat(1_000);
        let Verdict::Refused(why) = judged(400, "", &format!("{{\"message\":\"{long}\"}}")) else {
            panic!("refused");
        };
        assert_eq!(why.len(), "it answers 400: ".len() + WORDS);
    }
}
