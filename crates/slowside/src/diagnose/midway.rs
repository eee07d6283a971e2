//! Two captures of which the one nearer to the server was taken on the way to it, into what is known of their calls.
//!
//! What passes between both is the network's. Behind it lies more path, and what that did nobody measured: whether what
//! calls waited for there was the server, a lock, a loss or a line, the client's capture tells as well as it ever does,
//! with all that one capture proves. So where it is not the network that is slow between both, that is judged.

use super::{Diagnosed, ReadOptions};
use crate::Error;
use crate::config::{Captures, Event};
use analysis::results::{CaptureResult, Side, Vantage};
use analysis::text::{Text, Value, text};
use analysis::verdict::exchanged;

impl ReadOptions<'_> {
    /// The client's capture alone, if the other of both is of no host and says no more.
    pub(super) fn as_clients_alone(
        &self,
        d: &Diagnosed,
        captures: &Captures,
        events: &mut dyn FnMut(Event),
    ) -> Result<Option<Diagnosed>, Error> {
        let of = |vantage: Vantage| {
            let mut all = d.diagnosis.captures.iter().enumerate();
            all.find(|(_, c)| c.side == Some(vantage))
        };
        let (Some((client, own)), Some((_, other))) = (of(Vantage::Client), of(Vantage::Server))
        else {
            return Ok(None);
        };
        // Of exchanged captures neither is known to be the client's.
        let is_told = matches!(d.diagnosis.verdict.side, Side::Network | Side::None)
            || d.diagnosis.verdict == exchanged();
        let is_clients = other.is_on_the_way && !own.is_on_the_way;
        if !is_clients || is_told || captures.are_piped() {
            return Ok(None);
        }
        let Some(files) = captures.inputs().get(client).map(|files| files.to_vec()) else {
            return Ok(None);
        };
        let mut alone = self.read(&Captures::Client(files), events)?;
        for read in &mut alone.diagnosis.captures {
            read.side_from.clone_from(&own.side_from);
        }
        alone.diagnosis.notes.push(said(d, other));
        Ok(Some(alone))
    }
}

fn said(d: &Diagnosed, other: &CaptureResult) -> Text {
    let matched = d.diagnosis.ops.iter().filter_map(|op| op.matched.as_ref());
    let (calls, ns) = matched.fold((0, 0), |(calls, ns), m| {
        let calls_ns = i128::from(m.difference_mean_ns) * i128::from(m.count);
        (calls + m.count, ns + calls_ns)
    });
    text!(
        "{file} was taken on the way to the server ({from}): between both captures a call spends {between}. What lies behind it is the network's or the server's, which the client's capture tells, so that is judged by itself.",
        file = Value::File(other.files.first().map_or("", String::as_str).into()),
        from = other.side_from.clone(),
        between = Value::Duration((ns / i128::from(calls.max(1))) as i64),
    )
}
