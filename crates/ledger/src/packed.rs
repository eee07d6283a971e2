//! Calls as the numbers that are kept of them: most are zero, so which are not comes first, and what most calls have none
//! of stands apart.

use crate::held::{Held, HeldUp};
use crate::kept::{Pack, Packer, Unpacker, alternating, straight};
use crate::one::Lost;
use crate::{Both, One};
use model::{Direction, InnerTrips};

impl Pack for One {
    fn waited_ns(&self) -> i64 {
        let response = self.response_ns().max(0);
        response.saturating_add(self.silent_ns.max(0))
    }

    fn pack(&self, p: &mut Packer<'_>) {
        let [late_request, late_answer] = self.late_ns;
        let is_held = !self.held.is_none();
        let rare = [
            alternating(self.request_held_ns),
            alternating(self.response_held_ns),
            alternating(self.inner.client_ns),
            alternating(self.inner.server_ns),
            alternating(self.stall_ns),
            alternating(self.unheard_ns),
            alternating(self.locked_ns),
            alternating(self.lock_ns),
            alternating(self.recovery_ns),
            alternating(self.response_recovery_ns),
            alternating(self.behind_ns),
            self.hidden_ns.unsigned_abs() * 2 + u64::from(self.may_be_held),
            alternating(self.silent_ns),
            alternating(late_request),
            alternating(late_answer),
            self.lost.number() * 128
                + u64::from(self.came_twice) * 64
                + u64::from(self.inner.of_request) * 32
                + u64::from(self.has_holes) * 16
                + u64::from(self.was_last) * 8
                + u64::from(self.may_queue) * 4
                + u64::from(self.began_before) * 2
                + u64::from(self.is_datagram),
        ];
        let is_rare = rare.iter().fold(0, |bits, n| bits | n) != 0;
        let is_lossy = self.hidden_unread_ns != 0 || self.went_on_ns.is_some();
        p.numbers(&[
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
            u64::from(is_lossy) * 4 + u64::from(is_rare) * 2 + u64::from(is_held),
        ]);
        if is_rare {
            p.numbers(&rare);
        }
        if is_lossy {
            let went_on = self.went_on_ns.map_or(0, |ns| ns.unsigned_abs() + 1);
            p.numbers(&[alternating(self.hidden_unread_ns), went_on]);
        }
        if is_held {
            p.held_up(&self.held);
        }
    }

    // Field by field where it is shown: a whole one would be made beside it and copied.
    #[inline]
    fn unpack(&mut self, u: &mut Unpacker<'_>) -> Option<()> {
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
            more,
        ] = u.numbers()?;
        self.row = row;
        self.connection = connection;
        self.work = work;
        self.attributes = attributes;
        self.server = server;
        self.at_ns = straight(at);
        self.request_bytes = request_bytes;
        self.request_passing_ns = straight(request_passing);
        self.wait_ns = straight(wait);
        self.response_passing_ns = straight(response_passing);
        match more & 2 {
            0 => self.set_rare([0; 16]),
            _ => self.set_rare(u.numbers()?),
        }
        let [unread, went_on] = match more & 4 {
            0 => [0; 2],
            _ => u.numbers()?,
        };
        self.hidden_unread_ns = straight(unread);
        self.went_on_ns = went_on.checked_sub(1).map(|ns| ns as i64);
        if more & 1 == 1 {
            self.held = u.held_up()?;
        } else if !self.held.is_none() {
            self.held = HeldUp::default();
        }
        Some(())
    }
}

impl One {
    /// What most calls have none of.
    #[inline(always)]
    fn set_rare(&mut self, rare: [u64; 16]) {
        let [
            request_held,
            response_held,
            asked,
            answered,
            stall,
            unheard,
            locked,
            lock,
            recovery,
            response_recovery,
            behind,
            hidden,
            silent,
            late_request,
            late_answer,
            lost,
        ] = rare;
        self.request_held_ns = straight(request_held);
        self.response_held_ns = straight(response_held);
        self.inner = InnerTrips {
            of_request: lost / 32 % 2 == 1,
            client_ns: straight(asked),
            server_ns: straight(answered),
        };
        self.stall_ns = straight(stall);
        self.unheard_ns = straight(unheard);
        self.locked_ns = straight(locked);
        self.lock_ns = straight(lock);
        self.recovery_ns = straight(recovery);
        self.response_recovery_ns = straight(response_recovery);
        self.behind_ns = straight(behind);
        self.hidden_ns = (hidden / 2) as i64;
        self.may_be_held = hidden % 2 == 1;
        self.silent_ns = straight(silent);
        self.late_ns = [straight(late_request), straight(late_answer)];
        self.lost = Lost::of(lost / 128);
        self.came_twice = lost / 64 % 2 == 1;
        self.has_holes = lost / 16 % 2 == 1;
        self.was_last = lost / 8 % 2 == 1;
        self.may_queue = lost / 4 % 2 == 1;
        self.began_before = lost / 2 % 2 == 1;
        self.is_datagram = lost % 2 == 1;
    }
}

impl Pack for Both {
    fn waited_ns(&self) -> i64 {
        self.response_ns
    }

    fn pack(&self, p: &mut Packer<'_>) {
        let [request, response] = self.sending_at_ns;
        let is_held = !self.held.is_none();
        p.numbers(&[
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
            alternating(self.behind_loss_ns),
            alternating(self.stall_ns),
            alternating(self.locked_ns),
            alternating(self.lock_ns),
            alternating(self.behind_ns),
            alternating(self.transfer_ns),
            alternating(self.request_passing_ns),
            alternating(self.nagle_ns),
            alternating(self.path_ns),
            alternating(self.inner_ns[0]),
            alternating(self.inner_ns[1]),
            self.lost.number() * 32
                + self.came_twice.map_or(0, |d| d.index() as u64 + 1) * 8
                + u64::from(self.beyond != Lost::Nothing) * 4
                + u64::from(self.has_holes) * 2
                + u64::from(self.is_datagram),
            self.server_connection,
            // Of the request it is known from elsewhere.
            alternating(request - self.at_ns),
            alternating(response - self.at_ns),
            alternating(self.sending_ns[0]),
            alternating(self.sending_ns[1]),
            self.hidden_ns.map_or(0, |ns| ns as u64 + 1),
            self.hidden_unread_ns.unsigned_abs() * 2 + u64::from(is_held),
        ]);
        if self.beyond != Lost::Nothing {
            p.number(self.beyond.number());
            p.number(alternating(self.recovery_ns));
        }
        if is_held {
            p.held(&self.held);
        }
    }

    // Field by field where it is shown: a whole one would be made beside it and copied.
    #[inline]
    fn unpack(&mut self, u: &mut Unpacker<'_>) -> Option<()> {
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
            behind_loss,
            stall,
            locked,
            lock,
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
            unread,
        ] = u.numbers()?;
        let at_ns = straight(at);
        self.row = row;
        self.connection = connection;
        self.work = work;
        self.attributes = attributes;
        self.server = server;
        self.at_ns = at_ns;
        self.bytes = [request_bytes, response_bytes];
        self.response_ns = straight(response);
        self.service_ns = straight(service);
        self.behind_loss_ns = straight(behind_loss);
        self.stall_ns = straight(stall);
        self.locked_ns = straight(locked);
        self.lock_ns = straight(lock);
        self.behind_ns = straight(behind);
        self.transfer_ns = straight(transfer);
        self.request_passing_ns = straight(request_passing);
        self.nagle_ns = straight(nagle);
        self.path_ns = straight(path);
        self.inner_ns = [straight(asked), straight(answered)];
        self.lost = Lost::of(lost / 32);
        self.came_twice = match lost / 8 % 4 {
            0 => None,
            1 => Some(Direction::ToServer),
            _ => Some(Direction::ToClient),
        };
        (self.beyond, self.recovery_ns) = match lost / 4 % 2 {
            0 => (Lost::Nothing, 0),
            _ => (Lost::of(u.number()?), straight(u.number()?)),
        };
        self.has_holes = lost / 2 % 2 == 1;
        self.is_datagram = lost % 2 == 1;
        self.hidden_ns = hidden.checked_sub(1).map(|ns| ns as i64);
        self.server_connection = server_connection;
        self.sending_at_ns = [
            at_ns + straight(request_after),
            at_ns + straight(response_after),
        ];
        self.sending_ns = [straight(request_sending), straight(response_sending)];
        self.hidden_unread_ns = (unread / 2) as i64;
        if unread % 2 == 1 {
            self.held = u.held()?;
        } else if !self.held.is_none() {
            self.held = Held::default();
        }
        Some(())
    }
}
