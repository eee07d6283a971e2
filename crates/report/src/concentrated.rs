//! Where findings' costs concentrate, in words and in JSON.

use crate::live_text::clock;
use crate::text::moment;
use analysis::results::{Concentrated, Diagnosis, Finding, What};
use jiff::tz::TimeZone;
use model::{Time, format_duration};
use serde_json::{Value, json};

const DAY_NS: i64 = 86_400_000_000_000;

/// Characters of a statement in a sentence.
const STATEMENT: usize = 60;

/// Moments as programs read them; people see shorter ones.
fn exact(time: Time) -> String {
    moment(time, &TimeZone::UTC)
}

pub(crate) fn json(f: &Finding) -> Vec<Value> {
    let one = |c: &Concentrated| {
        let value = match &c.what {
            What::Statement(s) => s.normal.to_string(),
            what => named(what, &exact),
        };
        json!({
            "by": c.what.by(),
            "value": value,
            "calls": c.calls,
            "cost_ns": c.cost_ns,
            "share": c.share,
            "rest_mean_ns": c.rest_mean_ns,
        })
    };
    f.places.iter().map(one).collect()
}

/// Which it is, or when.
fn named(what: &What, at: &dyn Fn(Time) -> String) -> String {
    match what {
        What::Client(address) => address.to_string(),
        What::Server(end) => end.to_string(),
        What::Connection(client, server) => format!("{client} > {server}"),
        What::User(name) | What::Database(name) | What::Program(name) => name.to_string(),
        What::Export(path) => path.clone(),
        What::Operation(protocol, op) => format!("{} {}", protocol.name(), op.as_str()),
        What::File(_, Some(path)) => path.clone(),
        What::File(handle, None) => format!("{handle:016x}"),
        What::Statement(s) => match s.normal.char_indices().nth(STATEMENT) {
            Some((end, _)) => format!("“{}…”", s.normal.get(..end).unwrap_or_default()),
            None => format!("“{}”", s.normal),
        },
        What::Since(from) => format!("since {}", at(*from)),
        What::Until(to) => format!("until {}", at(*to)),
        What::Between(from, to) => match (at(*from), at(*to)) {
            (from, to) if from == to => format!("at {from}"),
            (from, to) => format!("between {from} and {to}"),
        },
        What::Every {
            period_ns, for_ns, ..
        } => format!(
            "every {} for {}",
            format_duration(*period_ns),
            format_duration(*for_ns)
        ),
    }
}

/// Values of one attribute, or one time.
struct Group<'a> {
    members: &'a [Concentrated],
}

impl<'a> Group<'a> {
    fn all(f: &'a Finding) -> impl Iterator<Item = Group<'a>> {
        let together = |a: &Concentrated, b: &Concentrated| {
            a.what.by() == b.what.by() && !matches!(a.what.by(), "time")
        };
        f.places.chunk_by(together).map(|members| Group { members })
    }

    fn is_time(&self) -> bool {
        self.members.iter().all(|c| c.what.by() == "time")
    }

    fn share(&self) -> String {
        let share: f64 = self.members.iter().map(|c| c.share).sum();
        format!("{:.0} %", 100.0 * share)
    }

    /// `on clients a (60 %) and b (33 %)`, `since 14:02:11`.
    fn words(&self, at: &dyn Fn(Time) -> String) -> String {
        match self.members {
            [one] if one.what.by() == "time" => named(&one.what, at),
            [one] => format!("on {} {}", one.what.by(), named(&one.what, at)),
            [first, ..] => {
                let each =
                    |c: &Concentrated| format!("{} ({:.0} %)", named(&c.what, at), 100.0 * c.share);
                let all: Vec<String> = self.members.iter().map(each).collect();
                format!("on {}s {}", first.what.by(), all.join(" and "))
            }
            [] => String::new(),
        }
    }

    fn mean_ns(&self) -> i64 {
        let cost: i64 = self.members.iter().map(|c| c.cost_ns).sum();
        let calls: u64 = self.members.iter().map(|c| c.calls).sum();
        cost / i64::try_from(calls.max(1)).unwrap_or(i64::MAX)
    }
}

/// How people see a moment of this capture.
fn shown<'a>(d: &Diagnosis, zone: &'a TimeZone) -> impl Fn(Time) -> String + use<'a> {
    let is_long = d.elapsed_ns >= DAY_NS;
    move |time| match is_long {
        true => moment(Time(time.0 - time.0.rem_euclid(1_000_000_000)), zone),
        false => clock(time, zone),
    }
}

/// A sentence for each attribute and time on which a finding's cost concentrates.
pub(crate) fn sentences(f: &Finding, d: &Diagnosis, zone: &TimeZone) -> Vec<String> {
    let at = shown(d, zone);
    let sentence = |group: Group<'_>| {
        let words = group.words(&at);
        let times = match group.members.first().map(|c| &c.what) {
            Some(What::Every { times, .. }) => format!(", {times} times"),
            _ => String::new(),
        };
        let rest_ns = group.members.first().map_or(0, |c| c.rest_mean_ns);
        let rest = match rest_ns {
            0 => "nothing".to_owned(),
            ns => format_duration(ns),
        };
        capitalised(&format!(
            "{words}{times}: {} of its cost, {} per call against {rest} for the rest.",
            group.share(),
            format_duration(group.mean_ns()),
        ))
    };
    Group::all(f).map(sentence).collect()
}

/// The sharpest attribute and the times of what carries the verdict, or costs most, in one sentence below that.
pub(crate) fn of_verdict(d: &Diagnosis, zone: &TimeZone) -> String {
    let at = shown(d, zone);
    let told = |f: &&Finding| match d.verdict.cause {
        Some(cause) => f.rule == cause,
        None => f.cost_ns.is_some(),
    };
    let Some(finding) = d.findings.iter().find(told) else {
        return String::new();
    };
    let groups = Group::all(finding).enumerate();
    let groups = groups.filter(|(i, group)| *i == 0 || group.is_time());
    let parts: Vec<String> = groups
        .map(|(i, group)| {
            let is = if i == 0 { " is" } else { "" };
            format!("{}{is} {}", group.share(), group.words(&at))
        })
        .collect();
    match parts.is_empty() {
        true => String::new(),
        false => format!("Of the cost of {} {}. ", finding.rule, parts.join(", ")),
    }
}

fn capitalised(s: &str) -> String {
    let mut chars = s.chars();
    chars
        .next()
        .map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{diagnosis_text, samples};
    use expect_test::expect;

    fn concentrated() -> Diagnosis {
        let mut d = samples::diagnosis();
        d.findings[0].places = samples::places();
        d
    }

    #[test]
    fn values_of_one_attribute_are_one_sentence_and_fit_the_page() {
        let d = concentrated();
        let said = sentences(&d.findings[0], &d, &TimeZone::UTC).join("\n");
        expect![[r#"
            On clients 10.0.0.1 (60 %) and 10.0.0.7 (33 %): 93 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On server 10.0.0.2:2049: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On connection 10.0.0.1:45254 > 10.0.0.2:2049: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On user scott: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On database orcl: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On program sqlplus@dbhost: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On export /srv/secret: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On operation nfs3 READ: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On file /srv/db/undo01.dbf: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            On statement “select * from t where name = ?”: 90 % of its cost, 12.1 ms per call against 400 µs for the rest.
            Since 22:13:21: 97 % of its cost, 12.1 ms per call against 400 µs for the rest.
            Every 2.00 s for 101 ms, 9 times: 100 % of its cost, 12.1 ms per call against 400 µs for the rest."#]].assert_eq(&said);
        expect!["Of the cost of server-concurrency-cap 93 % is on clients 10.0.0.1 (60 %) and 10.0.0.7 (33 %), 97 % since 22:13:21, 100 % every 2.00 s for 101 ms. "].assert_eq(&of_verdict(&d, &TimeZone::UTC));
        let mut page = Vec::new();
        diagnosis_text(&d, &TimeZone::UTC, &mut page).expect("memory");
        let page = String::from_utf8(page).expect("UTF-8");
        let fits = |l: &str| l.chars().count() <= 80 || l.contains("tshark");
        assert!(page.lines().all(fits), "{page}");
    }

    #[test]
    fn without_a_place_nothing_is_said() {
        let d = samples::diagnosis();
        assert_eq!(of_verdict(&d, &TimeZone::UTC), "");
        assert!(sentences(&d.findings[0], &d, &TimeZone::UTC).is_empty());
    }

    #[test]
    fn programs_read_which_and_when_whatever_the_zone() {
        let d = concentrated();
        let all = json(&d.findings[0]);
        let values: Vec<String> = all
            .iter()
            .map(|v| format!("{} {}", v["by"], v["value"]))
            .collect();
        expect![[r#"
            "client" "10.0.0.1"
            "client" "10.0.0.7"
            "server" "10.0.0.2:2049"
            "connection" "10.0.0.1:45254 > 10.0.0.2:2049"
            "user" "scott"
            "database" "orcl"
            "program" "sqlplus@dbhost"
            "export" "/srv/secret"
            "operation" "nfs3 READ"
            "file" "/srv/db/undo01.dbf"
            "statement" "select * from t where name = ?"
            "time" "since 2023-11-14 22:13:21 +00:00"
            "time" "every 2.00 s for 101 ms""#]]
        .assert_eq(&values.join("\n"));
        assert_eq!(all[1]["share"], 0.333);
    }
}
