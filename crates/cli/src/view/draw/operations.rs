//! Operations or statements of the window into their pane, and under it the curve of calls.

use super::table::{Column, place, table};
use super::title;
use super::tone::{Tone, slow, style};
use crate::view::state::{Pane, Past, State};
use analysis::live::SubjectRow;
use analysis::stats::Summary;
use model::format_duration;
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::Line;
use ratatui::widgets::Sparkline;
use report::{carried, grouped, per_second, shortened, tight};

pub(super) const OPERATIONS: [Column<SubjectRow>; 10] = [
    Column {
        name: "calls/s",
        width: 9,
        from: 0,
        cell: |r| (Tone::Plain, per_second(r.window.rate())),
    },
    Column {
        name: "time",
        width: 10,
        from: 100,
        cell: |r| (Tone::Plain, tight(r.window.stats.total_ns)),
    },
    Column {
        name: "mean",
        width: 9,
        from: 110,
        cell: |r| (Tone::Plain, carried(&r.window, |s| s.mean_ns, 1)),
    },
    Column {
        name: "p50",
        width: 9,
        from: 0,
        cell: |r| {
            let text = carried(&r.window, |s| s.p50_ns, 1);
            (slow(r.window.stats.p50_ns), text)
        },
    },
    Column {
        name: "p90",
        width: 9,
        from: 90,
        cell: |r| {
            let text = carried(&r.window, |s| s.p90_ns, Summary::P90_NEEDS);
            (Tone::Plain, text)
        },
    },
    Column {
        name: "p99",
        width: 9,
        from: 0,
        cell: |r| {
            let text = carried(&r.window, |s| s.p99_ns, Summary::P99_NEEDS);
            (slow(r.window.stats.p99_ns), text)
        },
    },
    Column {
        name: "slowest",
        width: 9,
        from: 0,
        cell: |r| {
            let text = carried(&r.window, |s| s.max_ns, 1);
            (slow(r.window.stats.max_ns), text)
        },
    },
    Column {
        name: "out",
        width: 7,
        from: 0,
        cell: |r| (Tone::Plain, per_second(r.window.outstanding())),
    },
    Column {
        name: "errors",
        width: 8,
        from: 0,
        cell: |r| match r.window.errors {
            0 => (Tone::Plain, "0".to_owned()),
            n => (Tone::Notable, grouped(n)),
        },
    },
    Column {
        name: "halves",
        width: 8,
        from: 120,
        cell: |r| (Tone::Plain, grouped(r.window.half_calls)),
    },
];

/// The pane's table, and the curve of calls that takes the last lines of a high one.
pub(super) fn with_curve(state: &State, area: Rect) -> [Rect; 2] {
    let rows = state.operations().len().max(1);
    match usize::from(area.height) >= rows + 2 + CURVE {
        true => {
            let lines = [Constraint::Min(3), Constraint::Length(CURVE as u16)];
            Layout::vertical(lines).areas(area)
        }
        false => [area, Rect::default()],
    }
}

pub(super) fn operations_pane(frame: &mut Frame<'_>, state: &State, area: Rect, curve: Rect) {
    let rows = state.operations();
    let (what, heading) = match state.statements {
        true => ("Statements", "statement"),
        false => ("Operations", "operation"),
    };
    let place = place(state, Pane::Operations, rows.len(), area);
    let over = state.shown.as_ref().map_or(0, |(m, _)| m.window_ns);
    let text = format!(
        "{what} by {}, last {}",
        place.order(),
        format_duration(over)
    );
    let nothing = match (&*state.filter, state.statements) {
        ("", true) => "no statements in the window (o: operations)",
        ("", false) => "no calls in the window",
        _ => "none contains that text (Esc shows all)",
    };
    let title = title(state, Pane::Operations, &text, area.width);
    table(
        frame,
        state,
        &place,
        (title, heading, nothing),
        &rows,
        |r, room| shortened(&report::subject_name(r), room),
        &OPERATIONS,
    );
    if curve.height > 0 {
        curves(frame, state, curve);
    }
}

/// Lines of a curve, with its heading.
const CURVE: usize = 7;

/// Calls and the slow ones of the last intervals, the newest at the right.
fn curves(frame: &mut Frame<'_>, state: &State, area: Rect) {
    let [calls, slow] = Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
        .spacing(2)
        .areas(area);
    let one =
        |frame: &mut Frame<'_>, area: Rect, name: &str, of: fn(&Past) -> u64, most: String| {
            let [head, curve] =
                Layout::vertical([Constraint::Length(1), Constraint::Min(1)]).areas(area);
            let text = format!("{name}, at most {most}");
            frame.render_widget(Line::styled(text, style(state, Tone::Faint)), head);
            let skip = state.history.len().saturating_sub(usize::from(area.width));
            let data: Vec<u64> = state.history.iter().skip(skip).map(of).collect();
            let tone = style(state, Tone::Plain);
            frame.render_widget(Sparkline::default().data(data).style(tone), curve);
        };
    let calls_most = state.history.iter().map(|p| p.calls).max();
    let slow_most = state.history.iter().map(|p| p.p99_ns).max();
    let text = grouped(calls_most.unwrap_or(0));
    one(frame, calls, "calls an interval", |p| p.calls, text);
    let text = format_duration(slow_most.unwrap_or(0));
    let of = |p: &Past| p.p99_ns.unsigned_abs() / 1_000;
    one(frame, slow, "their p99", of, text);
}
