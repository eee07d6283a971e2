//! Rows into Arrow and Parquet, for those who ask questions of millions of them. What columns there are, and what
//! stands in them, `report` says (its [packed](report::Form::Packed) rows): here they only get types.
//!
//! - An Arrow stream (IPC) is for a program at the other end of a pipe: batches, nothing compressed.
//! - Parquet is for keeping: zstd, and row groups of a size that readers work on at once, with what is smallest and
//!   largest in each.
//!
//! | column | type |
//! |---|---|
//! | a name | dictionary of UTF-8, as few of them come again and again |
//! | another text | UTF-8 |
//! | a time | timestamp in ns, UTC |
//! | a duration, bytes, a count | int64, with its unit in the field's metadata |
//! | values with names | map of UTF-8 to UTF-8 |
//! | elements | list of structs |
//!
//! No more is held than a batch of rows and, for Parquet, a row group that is compressed already.
//!
//! Why a crate: what it stands on takes longer to build than all of `report`, which need not wait for it.

mod batch;
mod encoder;
#[cfg(feature = "parquet")]
mod parquet;

pub use encoder::{ColumnarFormat, ColumnarWriter};
