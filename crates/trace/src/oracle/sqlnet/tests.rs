//! Lines of each level into packets.

use super::*;

fn packets(trace: &str) -> (Vec<Packet>, NetFacts) {
    let (mut net, mut facts, mut packets) = (SqlNet::default(), NetFacts::default(), Vec::new());
    for line in trace.lines() {
        if let Some(line) = split(line) {
            net.line(&line, &mut facts, &mut |r| packets.extend(packet(&r)));
        }
    }
    net.flush(&mut facts, &mut |r| packets.extend(packet(&r)));
    (packets, facts)
}

fn packet(record: &Record<'_>) -> Option<Packet> {
    match record {
        Record::Packet(packet) => Some(*packet),
        _ => None,
    }
}

/// A dump comes behind its packet, whether it stands before the write or behind it.
#[test]
fn dumps_follow_their_packets() {
    let (mut net, mut facts, mut told) = (SqlNet::default(), NetFacts::default(), Vec::new());
    let mut take = |record: Record<'_>| match record {
        Record::Packet(packet) => {
            told.push(format!("{} of {}", packet.bytes.unwrap(), packet.line))
        }
        Record::Dump(bytes) => told.push(format!("{bytes:02x?}")),
        _ => {}
    };
    let trace = "nsprecv: plen=12, type=6\n\
         nsprecv: packet dump\n\
         nsprecv: 00 0C 00 00 06 00 00 00  |........|\n\
         nsprecv: 00 00 03 93  |....|\n\
         nspsend: plen=11, type=12\n\
         nspsend: packet dump\n\
         nspsend: 00 0B 00  |...|\n\
         nttwr: socket 4 had bytes written=11\n\
         nsbasic_bsd: tot=0, plen=10.\n\
         nttwr: socket 4 had bytes written=10\n\
         nsbasic_bsd: packet dump\n\
         nsbasic_bsd: 00 0A  |..|\n";
    for (number, line) in (1..).zip(trace.lines()) {
        net.at = number;
        net.line(&split(line).unwrap(), &mut facts, &mut take);
    }
    net.flush(&mut facts, &mut take);
    assert_eq!(
        told,
        [
            "12 of 1",
            "[00, 0c, 00, 00, 06, 00, 00, 00, 00, 00, 03, 93]",
            "11 of 5",
            "[00, 0b, 00]",
            "10 of 9",
            "[00, 0a]",
        ]
    );
}

/// Direction, type, bytes, socket; milliseconds of the second it was seen and waited from.
fn told(packet: &Packet) -> (bool, u8, Option<u32>, Option<u32>, Option<i64>, Option<i64>) {
    let ms = |ns: Option<i64>| ns.map(|ns| ns / 1_000_000 % 1_000);
    (
        packet.sent,
        packet.kind.0,
        packet.bytes,
        packet.socket,
        ms(packet.local_ns),
        ms(packet.waiting_since_ns),
    )
}

#[test]
fn the_slow_way_of_a_server_at_level_6() {
    let (packets, facts) = packets(
        "[03-FEB-2014 10:56:17:935] nsinh_hoff: ADR=\"(ADDRESS=(PROTOCOL=tcp)(DEV=17)(HOST=192.168.1.51)(PORT=1521))\"\n\
         [03-FEB-2014 10:56:17:935] nsopen: lcl[0]=0xf4ffe9ff, lcl[1]=0x0, gbl[0]=0x7ebf, gbl[1]=0x0, tdu=65535, sdu=8192\n\
         [03-FEB-2014 10:56:17:936] nsprecv: reading from transport...\n\
         [03-FEB-2014 10:56:17:936] nttrd: entry\n\
         [03-FEB-2014 10:56:17:937] nttrd: socket 17 had bytes read=266\n\
         [03-FEB-2014 10:56:17:937] nsprecv: 266 bytes from transport\n\
         [03-FEB-2014 10:56:17:938] nsprecv: tlen=266, plen=266, type=1\n\
         [03-FEB-2014 10:56:17:938] nscon: got NSPTCN packet\n\
         [03-FEB-2014 10:56:17:938] nsconneg: vsn=314, gbl=0xc41, sdu=8192, tdu=65535\n\
         [03-FEB-2014 10:56:17:939] nscon: sending NSPTAC packet\n\
         [03-FEB-2014 10:56:17:939] nspsend: plen=32, type=2\n\
         [03-FEB-2014 10:56:17:940] nttwr: socket 17 had bytes written=32\n\
         [03-FEB-2014 10:56:17:940] nspsend: 32 bytes to transport\n",
    );
    let seen: Vec<_> = packets.iter().map(told).collect();
    assert_eq!(
        seen,
        [
            (false, 1, Some(266), Some(17), Some(937), Some(936)),
            (true, 2, Some(32), Some(17), Some(940), None),
        ]
    );
    assert_eq!(
        (facts.side, facts.sdu, facts.tdu),
        (Some(Side::Server), Some(8192), Some(65_535))
    );
    assert_eq!((facts.proposed_sdu, facts.version), (Some(8192), Some(314)));
    assert_eq!(
        facts.peer.as_deref(),
        Some("(HOST=192.168.1.51)(PORT=1521)")
    );
}

#[test]
fn the_fast_way_of_a_client_at_level_16() {
    let (packets, facts) = packets(
        "(2100) [11-MAR-2019 07:04:24:529] nsbasic_bsd: entry\r\n\
         (2100) [11-MAR-2019 07:04:24:529] nsbasic_bsd: tot=0, plen=37.\n\
         (2100) [11-MAR-2019 07:04:24:529] nttfpwr: entry\n\
         (2100) [11-MAR-2019 07:04:24:530] nttfpwr: socket 1644 had bytes written=37\n\
         (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: packet dump\n\
         (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 25 00 00 06 00 00 00  |.%......|\n\
         (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: 00 00 03 5E 05 04 03 02  |........|\n\
         (2100) [11-MAR-2019 07:04:24:530] nsbasic_bsd: exit (0)\n\
         (2100) [11-MAR-2019 07:04:24:530] nsbasic_brc: entry: oln/tot=0\n\
         (2100) [11-MAR-2019 07:04:24:530] nttfprd: entry\n\
         (2100) [11-MAR-2019 07:04:24:542] nttfprd: socket 1644 had bytes read=298\n\
         (2100) [11-MAR-2019 07:04:24:542] nsbasic_brc: type=6, plen=298\n",
    );
    let seen: Vec<_> = packets.iter().map(told).collect();
    assert_eq!(
        seen,
        [
            (true, 6, Some(37), Some(1644), Some(530), None),
            (false, 6, Some(298), Some(1644), Some(542), Some(530)),
        ]
    );
    assert_eq!(facts.side, Some(Side::Client));
}

#[test]
fn below_level_6_packets_have_names_alone() {
    let (packets, facts) = packets(
        "nscon: doing connect handshake...\n\
         nscon: sending NSPTCN packet\n\
         nscon: got NSPTRF packet\n\
         nserror: nsres: id=0, op=65, ns=12514, ns2=12560; nt[0]=0, nt[1]=0, nt[2]=0; ora[0]=0\n",
    );
    let seen: Vec<_> = packets.iter().map(told).collect();
    assert_eq!(
        seen,
        [
            (true, 1, None, None, None, None),
            (false, 4, None, None, None, None)
        ]
    );
    assert_eq!((facts.side, facts.refused), (Some(Side::Client), 1));
    assert_eq!(facts.errors.get(&12_514), Some(&1));
}

#[test]
fn descriptors_show_no_passwords() {
    assert_eq!(
        public("(DESCRIPTION=(CONNECT_DATA=(SID=X)(Password=tiger)(CID=(PROGRAM=p)))) and more"),
        "(DESCRIPTION=(CONNECT_DATA=(SID=X)(Password=?)(CID=(PROGRAM=p))))"
    );
    let (_, facts) = packets(
        "nsprecv: tlen=60, plen=60, type=1\n\
         nsprecv: 00 00 28 44 45 53 43 52  |........|\n\
         nsprecv: 49 50 54 49 4F 4E 3D 29  |........|\n",
    );
    assert_eq!(facts.descriptor.as_deref(), Some("(DESCRIPTION=)"));
}
