//! Results into terminal text, JSON and CSV; computes nothing.
