//! Calls into answers: groups, matches of two captures, clock alignment, findings and the verdict.
//!
//! Pure: no I/O, no bytes, no output formats.

pub mod app;
pub mod capture_facts;
pub mod charts;
pub mod clock;
pub mod compare;
pub mod concurrency;
pub mod connections;
pub mod conns;
pub mod diagnose;
pub mod diagnosers;
pub mod facts;
pub mod file_names;
pub mod files;
pub mod filter;
pub mod findings;
pub mod group;
pub mod half;
pub mod health;
pub mod info;
pub mod intervals;
pub mod join;
pub mod live;
pub mod losses;
pub mod matched;
pub mod narrowest;
pub mod neighbours;
pub mod packed;
pub mod path;
pub mod results;
pub mod rounds;
pub mod sql;
pub mod startup;
pub mod stats;
pub mod streams;
pub mod think;
pub mod trace_join;
pub mod trace_profile;
pub mod vantage;
pub mod verdict;
pub mod waits;
pub mod whatif;
pub mod worst;
