//! Calls as the numbers that are kept of them: most are zero, so which are not comes first.

use crate::held::{Held, HeldUp};
use crate::kept::{Pack, Packer, Unpacker, alternating, straight};
use crate::one::Lost;
use crate::{Both, One};

impl Pack for One {
    fn waited_ns(&self) -> i64 {
        let response = self.response_ns().max(0);
        response.saturating_add(self.silent_ns.max(0))
    }

    fn pack(&self, p: &mut Packer<'_>) {
        let [asked, answered] = self.inner_ns;
        let is_held = !self.held.is_none();
        p.numbers([
            self.row,
            self.connection,
            self.work,
            self.attributes,
            self.server,
            alternating(self.at_ns),
            self.request_bytes,
            alternating(self.request_passing_ns),
            alternating(self.wait_ns),
            alternating(self.response_passing_ns),
            alternating(self.request_held_ns),
            alternating(self.response_held_ns),
            alternating(asked),
            alternating(answered),
            alternating(self.stall_ns),
            alternating(self.locked_ns),
            alternating(self.recovery_ns),
            alternating(self.response_recovery_ns),
            alternating(self.behind_ns),
            self.hidden_ns.unsigned_abs() * 2 + u64::from(self.may_be_held),
            alternating(self.silent_ns),
            self.lost.number() * 2 + u64::from(self.is_datagram),
            u64::from(is_held),
        ]);
        if is_held {
            p.held_up(&self.held);
        }
    }

    // Where it is shown: what it holds is put there, and not copied.
    #[inline]
    fn unpack(u: &mut Unpacker<'_>) -> Option<One> {
        let [
            row,
            connection,
            work,
            attributes,
            server,
            at,
            request_bytes,
            request_passing,
            wait,
            response_passing,
            request_held,
            response_held,
            asked,
            answered,
            stall,
            locked,
            recovery,
            response_recovery,
            behind,
            hidden,
            silent,
            lost,
            is_held,
        ] = u.numbers()?;
        Some(One {
            row,
            connection,
            work,
            attributes,
            server,
            at_ns: straight(at),
            request_bytes,
            request_passing_ns: straight(request_passing),
            wait_ns: straight(wait),
            response_passing_ns: straight(response_passing),
            request_held_ns: straight(request_held),
            response_held_ns: straight(response_held),
            inner_ns: [straight(asked), straight(answered)],
            stall_ns: straight(stall),
            locked_ns: straight(locked),
            lost: Lost::of(lost / 2),
            is_datagram: lost % 2 == 1,
            recovery_ns: straight(recovery),
            response_recovery_ns: straight(response_recovery),
            behind_ns: straight(behind),
            hidden_ns: (hidden / 2) as i64,
            may_be_held: hidden % 2 == 1,
            silent_ns: straight(silent),
            held: match is_held {
                0 => HeldUp::default(),
                _ => u.held_up()?,
            },
        })
    }
}

impl Pack for Both {
    fn waited_ns(&self) -> i64 {
        self.response_ns
    }

    fn pack(&self, p: &mut Packer<'_>) {
        let [request, response] = self.sending_at_ns;
        let is_held = !self.held.is_none();
        p.numbers([
            self.row,
            self.connection,
            self.work,
            self.attributes,
            self.server,
            alternating(self.at_ns),
            self.bytes[0],
            self.bytes[1],
            alternating(self.response_ns),
            alternating(self.service_ns),
            alternating(self.stall_ns),
            alternating(self.locked_ns),
            alternating(self.behind_ns),
            alternating(self.transfer_ns),
            alternating(self.request_passing_ns),
            alternating(self.nagle_ns),
            alternating(self.path_ns),
            alternating(self.inner_ns[0]),
            alternating(self.inner_ns[1]),
            self.lost.number() * 2 + u64::from(self.is_datagram),
            self.server_connection,
            // Of the request it is known from elsewhere.
            alternating(request - self.at_ns),
            alternating(response - self.at_ns),
            alternating(self.sending_ns[0]),
            alternating(self.sending_ns[1]),
            self.hidden_ns.map_or(0, |ns| ns as u64 + 1),
            u64::from(is_held),
        ]);
        if is_held {
            p.held(&self.held);
        }
    }

    // Where it is shown: what it holds is put there, and not copied.
    #[inline]
    fn unpack(u: &mut Unpacker<'_>) -> Option<Both> {
        let [
            row,
            connection,
            work,
            attributes,
            server,
            at,
            request_bytes,
            response_bytes,
            response,
            service,
            stall,
            locked,
            behind,
            transfer,
            request_passing,
            nagle,
            path,
            asked,
            answered,
            lost,
            server_connection,
            request_after,
            response_after,
            request_sending,
            response_sending,
            hidden,
            is_held,
        ] = u.numbers()?;
        let at_ns = straight(at);
        Some(Both {
            row,
            connection,
            work,
            attributes,
            server,
            at_ns,
            bytes: [request_bytes, response_bytes],
            response_ns: straight(response),
            service_ns: straight(service),
            stall_ns: straight(stall),
            locked_ns: straight(locked),
            behind_ns: straight(behind),
            transfer_ns: straight(transfer),
            request_passing_ns: straight(request_passing),
            nagle_ns: straight(nagle),
            path_ns: straight(path),
            inner_ns: [straight(asked), straight(answered)],
            lost: Lost::of(lost / 2),
            is_datagram: lost % 2 == 1,
            hidden_ns: hidden.checked_sub(1).map(|ns| ns as i64),
            held: match is_held {
                0 => Held::default(),
                _ => u.held()?,
            },
            server_connection,
            sending_at_ns: [
                at_ns + straight(request_after),
                at_ns + straight(response_after),
            ],
            sending_ns: [straight(request_sending), straight(response_sending)],
        })
    }
}
