//! Results into terminal text, Markdown, JSON, CSV and HTML; computes nothing.
//!
//! One file per output, over the structures of [`analysis::results`] and [`model::Call`]. What
//! scripts rely on (columns, keys, their order) is in the contracts; text for people may change.

mod anonymise;
mod calls;
mod calls_text;
mod classes;
mod compare;
mod compare_text;
mod concentrated;
mod conns;
mod conns_text;
mod diagnosis_csv;
mod diagnosis_json;
mod diagnosis_text;
mod families;
mod followed;
mod harmless;
mod hops;
mod hosts;
mod html;
mod info;
mod info_text;
mod layers;
mod live;
mod live_text;
mod markdown;
mod openmetrics;
mod ops;
mod ops_text;
mod otlp;
mod packets;
mod page;
mod peers;
mod probe_json;
mod probe_text;
mod series;
mod sql;
mod sql_text;
mod startup;
mod startup_text;
mod stat;
mod table;
mod text;
mod tiers;
mod trace;
mod trace_text;
mod value;
mod whatif;

pub use anonymise::Anonymise;
pub use calls::{CallRow, Calls};
pub use calls_text::CallsText;
pub use compare::compare_json;
pub use compare_text::compare_text;
pub use conns::{ConnFilter, conns_fields, conns_json, conns_rows, conns_sortable, conns_sorted};
pub use conns_text::{conn_text, conns_text};
pub use diagnosis_csv::diagnosis_csv;
pub use diagnosis_json::diagnosis_json;
pub use diagnosis_text::diagnosis_text;
pub use followed::{followed_rows, followed_text};
pub use harmless::{Harmless, acts, harmless};
pub use html::{Provenance, command_line, compare_html, report_html};
pub use info::info_json;
pub use info_text::{info_markdown, info_text};
pub use live::{
    LiveFile, LiveKept, live_crossing_json, live_finding_json, live_moment_json, live_total_json,
    live_written_json,
};
pub use live_text::{
    LiveText, carried, clock, crossed, limit_words, per_second, subject_name, written_words,
};
pub use markdown::{
    as_markdown, compare_markdown, conns_markdown, diagnosis_markdown, ops_markdown, sql_markdown,
};
pub use openmetrics::{OPENMETRICS_TYPE, openmetrics};
pub use ops::{ops_json, ops_rows, ops_sortable};
pub use ops_text::{OpsStyle, ops_text};
pub use otlp::{OTLP_TYPE, OtlpSource, otlp};
pub use packets::{
    session_packets_rows, session_packets_text, trace_packets_rows, trace_packets_text,
};
pub use page::{Page, columns, has_colors, on_page, pad_left, shortened};
pub use probe_json::{probe_hgrm, probe_json};
pub use probe_text::{probe_interval, probe_text};
pub use series::{Series, SeriesText};
pub use sql::{sql_json, sql_rows, sql_sortable};
pub use sql_text::{SqlStyle, sql_text};
pub use startup::{startup_json, startup_rows, startup_sortable};
pub use startup_text::startup_text;
pub use stat::{Intervals, StatText, stat_sort, stat_sortable};
pub use table::packed::{CellKind, Cells, PackedCell, TypedColumn};
pub use table::rows::{Form, RowWriter, TakeRows};
pub use table::{Column, Table};
pub use text::{bytes, counted, grouped, moment, rate, reflowed, tight, wrap};
pub use trace::{TraceBy, TraceStyle, trace_csv, trace_json, trace_sortable};
pub use trace_text::trace_text;
pub use whatif::{
    fit_json, fit_text, whatif_json, whatif_markdown, whatif_rows, whatif_sortable, whatif_text,
};

#[cfg(test)]
mod samples;
#[cfg(test)]
mod strangers;
