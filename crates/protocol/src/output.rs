//! Where sessions put what they find.

use model::{Call, Outstanding};

/// What one thread's sessions have found since it was last emptied, in the order of the packets that
/// completed it.
#[derive(Default, Debug)]
pub struct Output {
    pub calls: Vec<Call>,
    pub outstanding: Vec<Outstanding>,
}
