//! Calls into aggregates, matches, findings and a verdict.
