//! The findings: one file each.

/// A finding's manual page: the `//!` text of its file.
pub struct Page {
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// Markdown-like text with fixed headings.
    pub manual: &'static str,
}

/// Every finding, by code.
pub const PAGES: &[Page] = &[];
