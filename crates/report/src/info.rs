//! What a capture is worth, for programs: `slowside.info/1`.

use crate::value;
use analysis::health::Health;
use analysis::info::{Amount, InfoResult};
use analysis::neighbours::hardware_text;
use model::{Bridge, Cast, IcmpReason, Mark, SightKind};
use serde_json::{Value, json};
use std::io::{self, Write};

/// Writes `slowside.info/1`.
///
/// # Errors
/// Those of `out`.
pub fn info_json(info: &InfoResult, out: &mut dyn Write) -> io::Result<()> {
    value::write(out, &of(info))?;
    out.write_all(b"\n")
}

fn of(info: &InfoResult) -> Value {
    let file = |m: Mark| info.files.files.get(usize::from(m.packet.file));
    let place = |m: Mark| json!({ "file": file(m).map(|f| &f.name), "frame": m.packet.frame });
    let silences: Vec<Value> = info
        .silences
        .iter()
        .map(|s| {
            json!({
                "duration_ns": s.ns,
                "from_ns": s.from.time.0,
                "after": place(s.from),
                "between_files": s.between_files(),
            })
        })
        .collect();
    let cast = |wanted: Cast| {
        let found = info.casts.iter().find(|(cast, _)| *cast == wanted);
        amount(&found.map_or(Amount::default(), |(_, a)| *a))
    };
    let n = &info.connections;
    let captures: Vec<Value> = info.captures.iter().map(value::capture).collect();
    json!({
        "schema": "slowside.info/1",
        "worth": info.worth.name(),
        "sentence": info.worth.sentence.to_string(),
        "limits": limits(info),
        "files": files(info),
        "packets": info.total.packets,
        "bytes": info.total.bytes,
        "captured_bytes": info.captured_bytes,
        "first_ns": value::time(info.first.map(|m| m.time)),
        "last_ns": value::time(info.last.map(|m| m.time)),
        "duration_ns": info.duration_ns(),
        "packets_per_second": info.per_second(info.total.packets).map(value::decimal),
        "rate_bps": info.per_second(info.total.bytes.saturating_mul(8)).map(|b| b as u64),
        "cut_packets": info.cut_packets,
        "largest_bytes": info.largest_bytes,
        "packets_above_ethernet": info.over_ethernet,
        "packets_above_jumbo": info.over_jumbo,
        "received": info.files.received,
        "dropped_by_interface": info.files.dropped_by_interface,
        "dropped_by_os": info.files.dropped_by_os,
        "backwards": {
            "packets": info.backwards.packets,
            "clock_steps": info.backwards.steps,
            "largest_ns": info.backwards.largest_ns,
            "at": info.backwards.largest_at.map(place),
        },
        "silences": silences,
        "protocols": kinds(info),
        "unicast": cast(Cast::Unicast),
        "multicast": cast(Cast::Multicast),
        "broadcast": cast(Cast::Broadcast),
        "vlans": info.vlans,
        "pairs": pairs(info),
        "pair_count": info.pair_count,
        "connections": {
            "tcp": n.tcp,
            "udp": n.udp,
            "handshakes_complete": n.handshakes_complete,
            "handshakes_with_scale": n.handshakes_scaled,
            "handshakes_partial": n.handshakes_partial,
            "with_data": n.with_data,
            "one_sided": n.one_sided,
            "payload_bytes": n.payload_bytes,
            "duplicate_packets": n.duplicates,
            "skipped_identifications": n.skipped_identifications,
        },
        "calls": spoken(info),
        "health": health(&info.health, &place),
        "side": info.vantage.name(),
        "side_from": info.vantage_from.to_string(),
        "captures": captures,
    })
}

fn limits(info: &InfoResult) -> Vec<Value> {
    info.worth
        .limits
        .iter()
        .map(|l| {
            json!({
                "code": l.code,
                "weight": l.weight.name(),
                "says": l.says.to_string(),
                "cure": (!l.cure.is_empty()).then_some(l.cure),
            })
        })
        .collect()
}

fn files(info: &InfoResult) -> Vec<Value> {
    info.files
        .files
        .iter()
        .map(|f| {
            json!({
                "name": f.name,
                "format": f.format,
                "compression": (f.compression != "none").then_some(f.compression),
                "packets": f.packets,
            })
        })
        .collect()
}

fn kinds(info: &InfoResult) -> Vec<Value> {
    info.kinds
        .iter()
        .map(|(kind, a)| {
            let number = match kind {
                SightKind::Ip(number) => Some(*number),
                _ => None,
            };
            let mut object = amount(a);
            object["protocol"] = kind.name().into();
            object["ip_protocol"] = number.into();
            object
        })
        .collect()
}

fn spoken(info: &InfoResult) -> Vec<Value> {
    info.spoken
        .iter()
        .map(|(protocol, s)| {
            json!({
                "protocol": protocol.name(),
                "connections": s.connections,
                "calls": s.calls,
                "whole_calls": s.whole,
            })
        })
        .collect()
}

fn pairs(info: &InfoResult) -> Vec<Value> {
    info.pairs
        .iter()
        .map(|p| {
            let [from, to] = p.hosts;
            let [out, back] = p.ways;
            json!({
                "source": from.to_string(),
                "destination": to.to_string(),
                "out": amount(&out),
                "back": amount(&back),
            })
        })
        .collect()
}

/// Frames shown of each list.
const LISTED: usize = 20;

fn health(h: &Health, place: &dyn Fn(Mark) -> Value) -> Value {
    let arps = h.invalid_arps.iter().map(|(fault, a)| {
        json!({
            "fault": fault.name(),
            "packets": a.count,
            "source": hardware_text(a.source),
            "at": a.shown.iter().map(|m| place(*m)).collect::<Vec<_>>(),
        })
    });
    let returned = h.undelivered.all().into_iter().take(LISTED).map(|r| {
        let flow = r.flow.map(|(_, ends)| ends.map(|e| e.to_string()));
        let mtu = match r.reason {
            IcmpReason::TooBig(mtu) => Some(mtu),
            _ => None,
        };
        json!({
            "from": r.from.to_string(),
            "reason": r.reason.name(),
            "packets": r.count,
            "hosts": r.hosts.map(|h| h.to_string()),
            "flow": flow,
            "packet_bytes": r.length,
            "mtu_bytes": mtu,
            "of_a_connection": r.concerns.is_some(),
            "at": place(r.first),
        })
    });
    let senders = h.floods.senders().into_iter().take(LISTED).map(|s| {
        json!({
            "source": hardware_text(s.hardware),
            "broadcast": amount(&s.broadcast),
            "multicast": amount(&s.multicast),
            "holds": s.holds().map(SightKind::name),
        })
    });
    let hints = h.tags.hints().into_iter().take(LISTED).map(|t| {
        json!({
            "hint": t.kind.name(),
            "hosts": t.hosts.map(|h| h.to_string()),
            "hardware": t.hardware.map(hardware_text),
            "vlans": t.vlans,
            "at": t.packets.map(place),
        })
    });
    let (holders, askers) = h.neighbours.hosts();
    json!({
        "checksums": checksums(h, place),
        "spanning_tree": spanning_tree(h, place),
        "arp": {
            "addresses": holders,
            "askers": askers,
            "invalid": arps.collect::<Vec<_>>(),
        },
        "icmp_errors": h.undelivered.reasons,
        "given_back": returned.collect::<Vec<_>>(),
        "fragments": {
            "packets": h.fragments.fragments,
            "whole_datagrams": h.fragments.complete,
            "incomplete_datagrams": h.fragments.incomplete().len(),
        },
        "to_everybody": senders.collect::<Vec<_>>(),
        "wrong_vlan": hints.collect::<Vec<_>>(),
    })
}

fn checksums(h: &Health, place: &dyn Fn(Mark) -> Value) -> Vec<Value> {
    h.checksums
        .iter()
        .map(|(of, sender, v)| {
            json!({
                "checksum": of.name(),
                "sender": sender.to_string(),
                "meaning": v.meaning().name(),
                "right": v.right,
                "unfinished": v.unfinished,
                "joined": v.joined,
                "wrong": v.wrong,
                "wrong_at": v.shown.iter().map(|m| place(*m)).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn spanning_tree(h: &Health, place: &dyn Fn(Mark) -> Value) -> Value {
    let roots = h.bridges.roots().map(|(vlan, root)| bridge(vlan, root));
    let changes = h.bridges.root_changes();
    let changes = changes.iter().take(LISTED).map(|c| {
        json!({
            "vlan": c.vlan,
            "old": bridge(c.vlan, c.old),
            "new": bridge(c.vlan, c.new),
            "at_ns": c.packets[1].time.0,
            "at": place(c.packets[1]),
        })
    });
    let topology = h.bridges.topology_changes().iter().take(LISTED).map(|c| {
        json!({
            "vlan": c.vlan,
            "first_ns": c.first.time.0,
            "last_ns": c.last.time.0,
            "at": place(c.first),
        })
    });
    json!({
        "packets": h.bridges.packets,
        "roots": roots.collect::<Vec<_>>(),
        "root_changes": changes.collect::<Vec<_>>(),
        "topology_changes": topology.collect::<Vec<_>>(),
    })
}

fn bridge(vlan: Option<u16>, b: Bridge) -> Value {
    json!({
        "vlan": vlan,
        "priority": b.priority & 0xf000,
        "hardware": hardware_text(b.hardware),
    })
}

fn amount(a: &Amount) -> Value {
    json!({ "packets": a.packets, "bytes": a.bytes })
}
