//! The interval in figures and what else is to be known of the capture, into the two lines above the panes.

use super::tone::{Tone, style};
use crate::view::state::State;
use analysis::stats::Summary;
use model::format_duration;
use ratatui::text::{Line, Span};
use report::{carried, clock, columns, counted, grouped, harmless, per_second, rate, shortened};

/// Messages stand above the panes for so long.
const RECENT_NS: i64 = 30_000_000_000;

/// The interval in figures, and what else is to be known of the capture.
pub(super) fn now_lines(state: &State, width: u16) -> Vec<Line<'static>> {
    let Some((m, held)) = &state.shown else {
        return vec![Line::default()];
    };
    let per = 1e9 / m.width_ns.max(1) as f64;
    let figures = [
        format!("{} calls/s", per_second(m.all.rate())),
        format!("p50 {}", carried(&m.all_window, |s| s.p50_ns, 1)),
        format!(
            "p99 {}",
            carried(&m.all_window, |s| s.p99_ns, Summary::P99_NEEDS)
        ),
        format!("{} outstanding", grouped(m.outstanding)),
        rate((m.traffic.bytes as f64 * 8.0 * per).round() as u64),
    ];
    let mut first = vec![(Tone::Title, clock(m.start, &state.zone))];
    first.extend(figures.map(|f| (Tone::Plain, f)));
    if m.all_window.errors > 0 {
        let text = counted(m.all_window.errors, "error");
        first.push((Tone::Notable, text));
    }
    let mut second = Vec::new();
    let mut say = |tone: Tone, text: String| second.push((tone, text));
    if state.paused {
        say(Tone::Notable, "PAUSED, the capture goes on".to_owned());
    }
    if state.ended.is_some() {
        say(Tone::Notable, "the capture has ended".to_owned());
    }
    let packets = m.traffic.packets as f64 * per;
    say(Tone::Plain, format!("{} packets/s", per_second(packets)));
    match (state.lost(), m.dropped) {
        (0, Some(0)) => say(Tone::Faint, "no packets lost".to_owned()),
        (0, None) => {}
        (0, Some(n)) => say(
            Tone::Notable,
            format!("{} lost before", counted(n, "packet")),
        ),
        (n, _) => say(
            Tone::Severe,
            format!(
                "{} LOST by this host: figures are too low",
                counted(n, "packet")
            ),
        ),
    }
    let kept = format!(
        "{} kept ({}{})",
        format_duration(held.ns),
        report::bytes(held.bytes),
        match held.short {
            true => ": more do not fit",
            false => "",
        }
    );
    say(
        if held.short {
            Tone::Notable
        } else {
            Tone::Faint
        },
        kept,
    );
    if !state.filter.is_empty() {
        say(Tone::Notable, format!("only “{}”", state.filter));
    }
    if let Some(message) = state.messages.back()
        && message.at.is_none_or(|at| m.start - at < RECENT_NS)
    {
        let room = usize::from(width).saturating_sub(wide(&second) + 2);
        second.push((Tone::Title, shortened(&harmless(&message.short), room)));
    }
    vec![
        words_that_fit(state, first, width),
        words_that_fit(state, second, width),
    ]
}

/// The columns of words with two spaces between them.
fn wide(words: &[(Tone, String)]) -> usize {
    let all: usize = words.iter().map(|(_, text)| columns(text) + 2).sum();
    all.saturating_sub(2)
}

/// A line of words. Where there is no room for all, the last of the least weight go whole: half a figure
/// would be another figure.
fn words_that_fit(state: &State, mut words: Vec<(Tone, String)>, width: u16) -> Line<'static> {
    for tone in [Tone::Faint, Tone::Plain] {
        while wide(&words) > usize::from(width)
            && let Some(last) = words.iter().rposition(|(t, _)| *t == tone)
        {
            words.remove(last);
        }
    }
    let mut spans = Vec::new();
    for (tone, text) in words {
        if !spans.is_empty() {
            spans.push(Span::raw("  "));
        }
        spans.push(Span::styled(text, style(state, tone)));
    }
    Line::from(spans)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::TimeZone;

    /// A row of 80 columns once ended with `58 erro`, another with `(37.0 M`.
    #[test]
    fn what_does_not_fit_goes_whole_and_the_least_weight_first() {
        let state = State::new(
            "eth0",
            (TimeZone::UTC, false),
            std::sync::Arc::new(std::sync::Mutex::new(analysis::live::Past::new(1))),
            None,
        );
        let words = || {
            vec![
                (Tone::Notable, "PAUSED".to_owned()),
                (Tone::Plain, "513 packets/s".to_owned()),
                (Tone::Faint, "30.0 s kept".to_owned()),
                (Tone::Notable, "58 errors".to_owned()),
            ]
        };
        let at = |width| words_that_fit(&state, words(), width).to_string();
        assert_eq!(at(45), "PAUSED  513 packets/s  30.0 s kept  58 errors");
        assert_eq!(at(44), "PAUSED  513 packets/s  58 errors");
        assert_eq!(at(31), "PAUSED  58 errors");
    }
}
