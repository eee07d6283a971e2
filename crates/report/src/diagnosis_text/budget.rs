//! Where a call's time goes: a line per part, with a bar.
//!
//! What a host takes while a request or response is on its way stands under the network's part, as that
//! is when it passes; so each such line says whose it is, and a sentence adds them up.

use crate::classes::{self, Party};
use crate::page::{Tone, columns, pad, prose};
use crate::text::{Unit, bar, counted, wrap};
use analysis::findings::Rule;
use analysis::results::{Diagnosis, Side};
use model::{Direction, TimeClass, format_duration};

/// Where a call's time goes: a line per part, with a bar.
pub(super) fn budget(d: &Diagnosis) -> String {
    let (b, accused) = (&d.budget, d.verdict.side);
    let Some(parts) = Parts::of(d) else {
        let host = b.client_host_ns.filter(|_| b.calls > 0);
        return host.map_or_else(String::new, |ns| {
            format!(
                "Above the wire a call spends {} in the client host.\n",
                format_duration(ns)
            )
        });
    };
    let unit = Unit::for_duration(parts.total_ns);
    let mut text = Tone::Title.paint(&parts.title) + "\n";
    let names = parts.lines.iter().map(|p| columns(&p.name));
    let wide = names.max().unwrap_or(0).max(14);
    for part in &parts.lines {
        let name = pad(&part.name, wide);
        let line = match part.ns {
            Ok(ns) => {
                let number = format!("{:>9} {}", unit.number(ns), unit.name);
                let room = prose().saturating_sub(2 + wide + 9 + 1 + 2 + 2);
                let mut bar = bar(ns as f64, parts.total_ns as f64, room);
                if part.side == accused {
                    bar = Tone::Accused.paint(&bar);
                }
                format!("  {name}{number}  {bar}")
            }
            Err(unknown) => {
                let unknown = Tone::Faint.paint(unknown);
                wrap(&format!("  {name}  "), wide + 4, &unknown)
            }
        };
        text.push_str(line.trim_end());
        text.push('\n');
    }
    for note in parts.notes() {
        text.push_str(&wrap("  ", 2, &note));
    }
    text
}

/// The parts of a call's time.
pub(crate) struct Parts {
    pub(crate) title: String,
    pub(crate) total_ns: i64,
    /// Of it, what is in no line, as one capture shows no more.
    rest_ns: i64,
    /// What of that went by until lost fragments were sent again, on the way to the server or back.
    fragments_ns: i64,
    /// Whether the network's part is what the path takes at least.
    at_least: bool,
    pub(crate) lines: Vec<BudgetLine>,
}

pub(crate) struct BudgetLine {
    /// Set in where it is part of the one above.
    pub(crate) name: String,
    /// How long it takes, or why that is not known.
    pub(crate) ns: Result<i64, &'static str>,
    /// Whose it is.
    side: Side,
    /// What messages waited for under way.
    pub(crate) class: Option<TimeClass>,
}

impl Parts {
    /// None if no part of the wire's is known.
    pub(crate) fn of(d: &Diagnosis) -> Option<Parts> {
        let b = &d.budget;
        let parts = match b.network_least_ns {
            None => vec![
                ("network out", b.network_out_ns),
                ("server", b.server_ns),
                ("network back", b.network_back_ns),
            ],
            least => vec![("network", least), ("server", b.server_ns)],
        };
        let known: i64 = parts.iter().filter_map(|(_, ns)| *ns).sum();
        let calls = i64::try_from(b.calls).unwrap_or(i64::MAX).max(1);
        let mut rest_ns = match parts.iter().all(|(_, ns)| ns.is_some()) {
            true => 0,
            false => (d.call_time_ns / calls - known).max(0),
        };
        let fragments = d.findings.iter().find(|f| f.rule == Rule::FragmentsLost);
        let fragments_ns = fragments.and_then(|f| f.cost_ns).unwrap_or(0) / calls;
        let total_ns = b.client_host_ns.unwrap_or(0) + known + rest_ns;
        if b.calls == 0 || parts.iter().all(|(_, ns)| ns.is_none()) || total_ns <= 0 {
            return None;
        }
        let host = b
            .client_host_ns
            .ok_or("not seen on the wire (give the application's times with --app)");
        let part = |name: &str, ns, side| BudgetLine {
            name: name.to_owned(),
            ns,
            side,
            class: None,
        };
        let mut lines = vec![part("client host", host, Side::Client)];
        for (name, ns) in parts {
            let side = match name {
                "server" => Side::Server,
                _ => Side::Network,
            };
            lines.push(part(name, ns.ok_or("not known from these packets"), side));
            if let ("server", Some(server)) = (name, ns) {
                let held = b.server_held_ns.filter(|held| *held >= server / 100);
                let inner = [
                    ("  queue", b.server_queue_ns, side),
                    ("  lock: client", b.server_lock_ns, Side::Client),
                    // What TCP holds there is somebody else's doing.
                    ("  held by TCP", held, Side::Network),
                ];
                let told: i64 = inner.iter().filter_map(|(_, ns, _)| *ns).sum();
                if inner.iter().any(|(_, ns, _)| ns.is_some()) {
                    lines.push(part("  service", Ok((server - told).max(0)), side));
                }
                for (inner, ns, side) in inner {
                    lines.extend(ns.map(|ns| part(inner, Ok(ns), side)));
                }
            }
            // What lasts longer than this part lies in the server's as well, which shows it.
            let within = b
                .under_way
                .iter()
                .filter(|(.., waited)| ns.is_none_or(|ns| ns >= *waited));
            for (d, class, waited) in within {
                if matches!(
                    (name, d),
                    ("network out", Direction::ToServer) | ("network back", Direction::ToClient)
                ) {
                    let words = classes::words(*class);
                    let side = whose(words.party, *d);
                    let name = match side {
                        Side::Network => format!("  {}", words.short),
                        host => format!("  {}: {}", words.short, host.name()),
                    };
                    // Of a part that is not known as a whole, this much is.
                    if ns.is_none() {
                        rest_ns = (rest_ns - *waited).max(0);
                    }
                    lines.push(BudgetLine {
                        class: Some(*class),
                        ..part(&name, Ok(*waited), side)
                    });
                }
            }
        }
        Some(Parts {
            title: format!(
                "Where a call's {} go ({})",
                format_duration(total_ns),
                counted(b.calls, "call")
            ),
            total_ns,
            rest_ns: rest_ns - fragments_ns.min(rest_ns),
            fragments_ns: fragments_ns.min(rest_ns),
            at_least: b.network_least_ns.is_some() && d.captures.len() == 1,
            lines,
        })
    }

    /// Of the way of requests and responses, what a host took: its name alone would accuse the network.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.at_least {
            notes.push(
                "Of the network only what the path to the client takes at least is known, from handshakes."
                    .to_owned(),
            );
        }
        if self.fragments_ns > 0 {
            notes.push(format!(
                "For {} it waited until lost fragments were sent again, which is the network's.",
                format_duration(self.fragments_ns)
            ));
        }
        if self.rest_ns >= self.total_ns / 100 && self.rest_ns > 0 {
            notes.push(format!(
                "The other {} are nobody's for certain: one capture shows no more.",
                format_duration(self.rest_ns)
            ));
        }
        for name in ["network out", "network back"] {
            let rest = self.lines.iter().skip_while(|p| p.name != name);
            let inner = rest.skip(1).take_while(|p| p.name.starts_with(' '));
            let whole = self.lines.iter().find(|p| p.name == name);
            let whole = whole.map_or(0, |p| p.ns.unwrap_or(0));
            let [mut client, mut server] = [0_i64; 2];
            inner.for_each(|p| match (p.side, p.ns) {
                (Side::Client, Ok(ns)) => client = client.saturating_add(ns),
                (Side::Server, Ok(ns)) => server = server.saturating_add(ns),
                _ => {}
            });
            for (host, ns) in [("client", client), ("server", server)] {
                if ns > 0 && ns >= whole / 4 {
                    let ns = format_duration(ns);
                    notes.push(format!(
                        "Of {name} {ns} are the {host}'s doing, not the network's."
                    ));
                }
            }
        }
        notes
    }
}

/// Whose doing it is that data waits that goes this way.
fn whose(party: Party, direction: Direction) -> Side {
    match (party, direction) {
        (Party::Path, _) => Side::Network,
        (Party::Sender, Direction::ToServer) | (Party::Receiver, Direction::ToClient) => {
            Side::Client
        }
        (Party::Sender, Direction::ToClient) | (Party::Receiver, Direction::ToServer) => {
            Side::Server
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use expect_test::expect;

    #[test]
    fn what_hosts_do_on_the_way_is_not_the_network_s() {
        let mut d = samples::diagnosis();
        d.budget.network_out_ns = Some(40_000_000);
        d.budget.under_way = vec![
            (
                Direction::ToServer,
                TimeClass::ReceiverApplication,
                25_000_000,
            ),
            (Direction::ToServer, TimeClass::SmallWindow, 10_000_000),
            (Direction::ToServer, TimeClass::Congestion, 1_000_000),
        ];
        let text = budget(&d);
        expect![[r#"
            Where a call's 73.1 ms go (2,600 calls)
              client host         not seen on the wire (give the application's times with
                                  --app)
              network out           40.00 ms  █████████████████████████▏
                receiver: server    25.00 ms  ███████████████▊
                window: server      10.00 ms  ██████▎
                congestion           1.00 ms  ▋
              server                33.07 ms  ████████████████████▊
                service              4.11 ms  ██▋
                queue               28.96 ms  ██████████████████▎
              network back           0.06 ms  ▏
              Of network out 35.0 ms are the server's doing, not the network's.
        "#]]
        .assert_eq(&text);
    }
}
