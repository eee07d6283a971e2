//! The columns of `slowside calls`.

use super::{Calls, HOP, LINE, PRESSURE, detail, endpoint, hops, id, ledger, pressures};
use crate::table::{Cell, Column, ColumnKind};
use analysis::results::Why;

type C = Column<Calls>;

pub(crate) const COLUMNS: [C; 61] = [
    C::new(
        "capture",
        ColumnKind::Text,
        "the file of the call's first packet, as given",
        |r| {
            r.file()
                .and_then(|f| r.file_name(f))
                .unwrap_or_default()
                .into()
        },
    ),
    C::new(
        "protocol",
        ColumnKind::Text,
        "what it carries: nfs3, nfs4.1, smb2, tns, pgsql, mysql, dns, mdns, llmnr, nbns, dhcp, tcp, …",
        |r| r.call.protocol.name().into(),
    ),
    C::new("op", ColumnKind::Text, "the operation", |r| {
        r.call.op.as_str().into()
    }),
    C::plain("client", "address:port of who asked", |r, out| {
        endpoint(r.call.client, out)
    }),
    C::plain("server", "address:port of who answered", |r, out| {
        endpoint(r.call.server, out)
    }),
    C::plain(
        "id",
        "the protocol's own id; an RPC XID as 0x%08x",
        |r, out| id(r.call.protocol, r.call.id, out),
    )
    .unique(),
    C::new(
        "request_first_frame",
        ColumnKind::Ordinal,
        "frame number of the request's first packet, from 1 in its file",
        |r| r.call.request_first.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "request_last_frame",
        ColumnKind::Ordinal,
        "frame number of the request's last packet, from 1 in its file",
        |r| r.call.request_last.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "response_first_frame",
        ColumnKind::Ordinal,
        "frame number of the response's first packet, from 1 in its file",
        |r| r.call.response_first.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "response_last_frame",
        ColumnKind::Ordinal,
        "frame number of the response's last packet, from 1 in its file",
        |r| r.call.response_last.map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "request_first_ns",
        ColumnKind::Time,
        "when the request's first byte passed, ns since the epoch",
        |r| r.call.request_first.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "request_last_ns",
        ColumnKind::Time,
        "when the request's last byte passed, ns since the epoch",
        |r| r.call.request_last.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_first_ns",
        ColumnKind::Time,
        "when the response's first byte passed, ns since the epoch",
        |r| r.call.response_first.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_last_ns",
        ColumnKind::Time,
        "when the response's last byte passed, ns since the epoch",
        |r| r.call.response_last.map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "response_time_ns",
        ColumnKind::Duration,
        "response_last_ns − request_first_ns: the three parts below",
        |r| r.call.response_time_ns().into(),
    )
    .or_null(),
    C::new(
        "request_transfer_ns",
        ColumnKind::Duration,
        "first to last byte of the request",
        |r| r.call.request_transfer_ns().into(),
    )
    .or_null(),
    C::new(
        "wait_ns",
        ColumnKind::Duration,
        "from there to the response's first byte",
        |r| r.call.wait_ns().into(),
    )
    .or_null(),
    C::new(
        "response_transfer_ns",
        ColumnKind::Duration,
        "first to last byte of the response",
        |r| r.call.response_transfer_ns().into(),
    )
    .or_null(),
    C::new("request_bytes", ColumnKind::Bytes, "length of the request", |r| {
        r.call.request_bytes.into()
    }),
    C::new(
        "response_bytes",
        ColumnKind::Bytes,
        "length of the response",
        |r| r.call.response_bytes.into(),
    ),
    C::new(
        "outcome",
        ColumnKind::Text,
        "ok, the protocol's error name, no-response, no-request or incomplete",
        |r| r.call.outcome.name().into(),
    ),
    C::new(
        "outstanding",
        ColumnKind::Count,
        "calls of the connection sent and not yet answered when it was sent, itself included",
        |r| r.call.outstanding.into(),
    ),
    C::new(
        "retransmits",
        ColumnKind::Count,
        "how often the request was sent again",
        |r| r.call.retransmits.into(),
    ),
    C::map(
        "detail",
        "fields of the protocol, those that are known",
        detail,
    ),
    C::new(
        "server_capture",
        ColumnKind::Text,
        "of a pair: the file of the call's first packet in the server's capture, as given",
        |r| {
            let file = r.server(0).map(|m| usize::from(m.packet.file));
            file.and_then(|f| r.server_files.get(f)).map(String::as_str).into()
        },
    )
    .or_null(),
    C::new(
        "server_request_first_frame",
        ColumnKind::Ordinal,
        "frame number of the request's first packet in the server's capture, of a pair",
        |r| r.server(0).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_request_last_frame",
        ColumnKind::Ordinal,
        "frame number of the request's last packet in the server's capture, of a pair",
        |r| r.server(1).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_response_first_frame",
        ColumnKind::Ordinal,
        "frame number of the response's first packet in the server's capture, of a pair",
        |r| r.server(2).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "server_response_last_frame",
        ColumnKind::Ordinal,
        "frame number of the response's last packet in the server's capture, of a pair",
        |r| r.server(3).map(|m| m.packet.frame).into(),
    )
    .or_null(),
    C::new(
        "client_response_lo_ns",
        ColumnKind::Duration,
        "what the client waited for the call at least; at the client, and of a pair, the response time",
        |r| r.judged.map(|j| j.ledger.response.lo_ns).into(),
    )
    .or_null(),
    C::new(
        "client_response_hi_ns",
        ColumnKind::Duration,
        "and at most; unknown where there is no bound",
        |r| r.judged.and_then(|j| j.ledger.response.hi_ns).into(),
    )
    .or_null(),
    C::new(
        "in_diagnosis",
        ColumnKind::Flag,
        "whether diagnose judges it; turns beside calls of known protocols are only listed, calls that a server makes for others are judged apart",
        |r| r.judged.is_some_and(|j| j.in_diagnosis).into(),
    ),
    C::new(
        "network_out_ns",
        ColumnKind::Duration,
        "of a pair: the server's last byte of the request − the client's first, without what the server took meanwhile",
        |r| r.parts().map(|[out, _, _]| out).into(),
    )
    .or_null(),
    C::new(
        "server_ns",
        ColumnKind::Duration,
        "of a pair: the server's first byte of the response − its last of the request, and what it took inside either",
        |r| r.parts().map(|[_, server, _]| server).into(),
    )
    .or_null(),
    C::new(
        "network_back_ns",
        ColumnKind::Duration,
        "of a pair: the client's last byte of the response − the server's first, without what the server took meanwhile",
        |r| r.parts().map(|[_, _, back]| back).into(),
    )
    .or_null(),
    C::new(
        "server_request_first_ns",
        ColumnKind::Time,
        "when the request's first byte passed at the server, by its clock, ns since the epoch",
        |r| r.server(0).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "server_response_last_ns",
        ColumnKind::Time,
        "when the response's last byte did, ns since the epoch",
        |r| r.server(3).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::list(
        "ledger",
        LINE,
        "what held it up: place, side, cause, lo_ns and hi_ns (null: no bound) of each line, and finding where one of diagnose has it among its cost; docs/ledger.md",
        ledger,
    ),
    C::new(
        "connection",
        ColumnKind::Ordinal,
        "the number of its TCP connection in slowside conns",
        |r| r.connection.into(),
    )
    .or_null(),
    C::new(
        "order",
        ColumnKind::Count,
        "its place in --sort completion, from 1",
        |r| r.order.into(),
    ),
    C::new(
        "request_sequence",
        ColumnKind::Count,
        "the TCP sequence number of the request's first byte, as it stands in the packet",
        |r| r.on_stream(r.call.request_first, r.call.request_sequence),
    )
    .or_null(),
    C::new(
        "response_sequence",
        ColumnKind::Count,
        "that of the response's first byte",
        |r| r.on_stream(r.call.response_first, r.call.response_sequence),
    )
    .or_null(),
    C::new(
        "request_held_ns",
        ColumnKind::Duration,
        "of the request's transfer: in which the client's TCP held bytes back; 0 also where the capture cannot tell",
        |r| r.call.request_held_ns.into(),
    ),
    C::new(
        "response_held_ns",
        ColumnKind::Duration,
        "of wait and response's transfer: in which the server's TCP did; 0 also where the capture cannot tell",
        |r| r.call.response_held_ns.into(),
    ),
    C::new(
        "server_request_last_ns",
        ColumnKind::Time,
        "when the request's last byte passed at the server, by its clock, ns since the epoch",
        |r| r.server(1).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "server_response_first_ns",
        ColumnKind::Time,
        "when the response's first byte did, ns since the epoch",
        |r| r.server(2).map(|m| m.time.0).into(),
    )
    .or_null(),
    C::new(
        "statement",
        ColumnKind::Text,
        "the statement's id, as in slowside sql",
        |r| r.statement().map(|s| Cell::Hash(s.id)).into(),
    )
    .or_null(),
    C::new(
        "sql",
        ColumnKind::Text,
        "its text without literals",
        |r| r.statement().map(|s| &*s.normal).into(),
    )
    .or_null(),
    C::new(
        "user",
        ColumnKind::Text,
        "the user of the database, as its session logged on",
        |r| r.session().and_then(|s| s.user.as_deref()).into(),
    )
    .or_null(),
    C::new(
        "database",
        ColumnKind::Text,
        "the database; Oracle's service name or SID",
        |r| r.session().and_then(|s| s.database.as_deref()).into(),
    )
    .or_null(),
    C::new(
        "program",
        ColumnKind::Text,
        "the client's program, as it names itself",
        |r| r.session().and_then(|s| s.program.as_deref()).into(),
    )
    .or_null(),
    C::new(
        "path",
        ColumnKind::Text,
        "the path of its file, as far as the capture says it; of SMB2 the name",
        |r| r.file_path().into(),
    )
    .or_null(),
    C::new(
        "unmatched",
        ColumnKind::Text,
        "why one of two captures alone has it, or both by half: outside-overlap, not-in-client-capture, not-in-server-capture, no-response, incomplete, evicted",
        |r| r.unpaired.map(Why::name).into(),
    )
    .or_null(),
    C::new(
        "side",
        ColumnKind::Text,
        "whose doing most of it was, for certain: client, network or server, whose lines' lo_ns are more than what may be any other's; else undetermined; unknown where nothing divides it",
        |r| r.side().into(),
    )
    .or_null(),
    C::list(
        "hops",
        HOP,
        "of captures from between both ends: how much longer it took at each point (from) than at the next (to), the client's first",
        hops,
    ),
    C::new(
        "beneath_lo_ns",
        ColumnKind::Duration,
        "for how long calls of its server's own were under way while that worked on this one alone, whatever they were for",
        |r| r.beneath.map(|b| b.lo_ns).into(),
    )
    .or_null(),
    C::new(
        "beneath_hi_ns",
        ColumnKind::Duration,
        "the same, also while it worked on others; both are null where a server makes no calls of its own",
        |r| r.beneath.map(|b| b.hi_ns).into(),
    )
    .or_null(),
    C::new(
        "application_ns",
        ColumnKind::Duration,
        "with --app: how long the application waited for it, by its own row; null where no row is certain to be this call's",
        |r| r.application().map(|a| a.ns).into(),
    )
    .or_null(),
    C::new(
        "before_wire_ns",
        ColumnKind::Duration,
        "of that, before the request was on the wire: a queue or the work of the client's own; null where the row's clock is not the capture's",
        |r| r.application().and_then(|a| a.before_ns).into(),
    )
    .or_null(),
    C::new(
        "after_wire_ns",
        ColumnKind::Duration,
        "of that, after the response was there: what is left beside before_wire_ns and response_time_ns",
        |r| r.after_wire_ns().into(),
    )
    .or_null(),
    C::list(
        "host_pressure",
        PRESSURE,
        "with --host: counters that were high as it began, of those that were high while calls were slow and not else",
        pressures,
    ),
];
