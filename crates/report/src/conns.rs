//! Connections for programs: `slowside.conns/1`, the same as rows, and what each field means.

pub(crate) mod fields;
mod filter;

pub use filter::ConnFilter;

use crate::series;
use crate::table::rows::{JsonList, RowWriter, TakeRows};
use crate::table::{Column, order};
use crate::text::wrap;
use crate::value;
use analysis::results::{ConnectionResult, ConnsResult, Vantage};
use fields::{CONNECTION, ConnRow, Conns, DIRECTION, columns};
use model::{Direction, Mark};
use serde_json::Value;
use std::io::{self, Write};

/// Writes `slowside.conns/1`.
///
/// # Errors
/// Those of `out`.
pub fn conns_json(result: &ConnsResult, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"{\"schema\":\"slowside.conns/1\",\"connections\":")?;
    let mut list = JsonList::new(&columns(), out);
    for c in listed(result) {
        let d = Direction::ToServer;
        list.write(&ConnRow { result, c: &c, d })?;
    }
    list.end()?;
    write!(out, ",\"left_out\":{},\"captures\":", result.left_out)?;
    let captures: Vec<Value> = result.captures.iter().map(value::capture).collect();
    value::write(out, &captures.into())?;
    out.write_all(b"}\n")
}

fn listed(result: &ConnsResult) -> impl Iterator<Item = ConnectionResult> {
    let rows = result.order.listed(result.connections.len());
    result.connections.iter().take(rows)
}

/// The columns that connections can be sorted by: those that both directions have in common.
#[must_use]
pub fn conns_sortable() -> Vec<String> {
    order::sortable(CONNECTION)
}

/// Connections in the order that is asked for.
#[must_use]
pub fn conns_sorted(mut result: ConnsResult) -> ConnsResult {
    let by = result.order.by.as_deref();
    if let Some(column) = by.and_then(|name| order::column(CONNECTION, name)) {
        // What a column says of a connection is not taken from the others.
        let alone = ConnsResult::default();
        let d = Direction::ToServer;
        result.connections.sort_by_cached_key(|c| {
            let result = &alone;
            order::place(&column, &ConnRow { result, c, d })
        });
    }
    result
}

/// The capture that a direction was measured in: the one nearest to its sender of those that hold the
/// connection.
pub(crate) fn capture_of(result: &ConnsResult, c: &ConnectionResult, d: Direction) -> usize {
    let sender = match d {
        Direction::ToServer => Vantage::Client,
        Direction::ToClient => Vantage::Server,
    };
    let side = |index: usize| result.captures.get(index).and_then(|c| c.side);
    let holding = || c.ends.iter().map(|(index, ..)| *index);
    holding()
        .find(|&index| side(index) == Some(sender))
        .or_else(|| holding().next())
        .unwrap_or(0)
}

/// The file that a packet stands in.
pub(crate) fn file_of(result: &ConnsResult, capture: usize, mark: Mark) -> Option<&str> {
    let files = &result.captures.get(capture)?.files;
    let file = files.get(usize::from(mark.packet.file))?;
    Some(file.as_str())
}

/// Hands over a row per connection and direction: the fields of both, and the time by class.
///
/// # Errors
/// Those of `to`.
pub fn conns_rows(result: &ConnsResult, to: &mut dyn TakeRows) -> io::Result<()> {
    let mut writer = RowWriter::of(&columns(), to.form());
    to.begin(writer.head(), writer.columns())?;
    let mut row = Vec::new();
    for c in listed(result) {
        for d in Direction::BOTH {
            row.clear();
            writer.write(&ConnRow { result, c: &c, d }, &mut row);
            to.row(&row)?;
        }
    }
    Ok(())
}

/// A line about a column.
pub(crate) fn line(name: &str, help: &str) -> String {
    wrap(&format!("  {name:<28} "), 31, help)
}

/// Writes what each field means.
///
/// # Errors
/// Those of `out`.
pub fn conns_fields(out: &mut dyn Write) -> io::Result<()> {
    let lines = |columns: &[Column<Conns>], is: fn(&Column<Conns>) -> bool| -> String {
        let columns = columns.iter().filter(|c| is(c));
        columns.map(|c| line(&c.path(), c.help)).collect()
    };
    // Times and what was longest stand last.
    let connection = lines(CONNECTION, |_| true);
    let direction = lines(&DIRECTION, |c| c.csv && c.within != "time_ns");
    let classes = lines(&DIRECTION, |c| !c.csv || c.within == "time_ns");
    let notes = "Windows and acknowledgements stand with the direction of the data that they are \
                 about. JSON has an object for what stands before a dot, CSV a row per direction \
                 and the columns handshake_seen, …, time_idle_ns, …";
    let rows = "Of each row of --series, one for each interval in which a packet of the connection \
                was seen:";
    write!(
        out,
        "Of each connection:\n{connection}\n\
         Of each direction, client_to_server and server_to_client:\n{direction}\n\
         Of each direction, its time by class, which adds up to the connection's:\n\
         {classes}\n{}\n{}{}",
        wrap("", 0, notes),
        wrap("", 0, rows),
        series::fields(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples;
    use crate::table::schema;
    use expect_test::expect;

    #[test]
    fn the_schema_describes_the_columns() {
        schema::assert_described("slowside.conns.1", "/$defs/connection", &columns());
        schema::assert_described("slowside.conns.1", "/$defs/direction", &DIRECTION);
    }

    #[test]
    fn json_holds_connections_with_their_directions() {
        let text = samples::written(|out| conns_json(&samples::conns(), out));
        assert_eq!(text.lines().count(), 4);
        let json: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(json["schema"], "slowside.conns/1");
        let first = text.lines().nth(1).expect("a connection");
        expect![[r#"{"number":1,"client":"10.0.0.1:41818","server":"10.0.0.2:2049","protocol":"nfs4.1","first_ns":1700000000000000000,"last_ns":1700000004000000000,"vantage":"client","vantage_from":"the handshake's two halves: 2.10 ms to the server and back, 20.0 µs to the client and back","vantage_confidence":0.95,"close":"finished","handshake":{"seen":true,"syn_retries":1,"synack_retries":0,"syn_to_synack_ns":2100000,"synack_to_ack_ns":20000},"at_stake_ns":3914100000,"top":{"direction":"client_to_server","class":"receiver-application","ns":2400000000},"directions":{"client_to_server":{"packets":1245,"payload_bytes":1504344,"retransmitted_packets":3,"retransmitted_bytes":4344,"spurious_retransmissions":1,"lost_on_network_packets":2,"lost_on_network_bytes":2896,"missing_from_capture_packets":2,"missing_from_capture_bytes":2000,"out_of_order_packets":0,"duplicate_packets":0,"duplicate_acks":3,"zero_windows":64,"zero_window_ns":2100000000,"mss":1460,"window_scale":7,"sack":true,"timestamps":true,"rtt":{"count":128,"min_ns":2100000,"p50_ns":2210000,"p90_ns":2900000,"p99_ns":11000000,"max_ns":20300000},"flight_max_bytes":64512,"window_min_bytes":5792,"window_max_bytes":64512,"goodput_bps":3050512,"segments_per_ack":1.231,"delayed_ack_ns":40100000,"write_size_bytes":8192,"time_ns":{"handshake":2100000,"idle":85900000,"sender-application":0,"receiver-application":2400000000,"small-window":0,"nagle-delayed-ack":0,"loss-recovery":612000000,"congestion":0,"bandwidth":0,"transfer":900000000,"unknown":0},"longest":[{"class":"handshake","ns":1050000,"frames":[10,14],"capture":0,"files":["client.pcap","client.pcap"]},{"class":"receiver-application","ns":1200000000,"frames":[20,24],"capture":0,"files":["client.pcap","client.pcap"]},{"class":"loss-recovery","ns":306000000,"frames":[30,34],"capture":0,"files":["client.pcap","client.pcap"]},{"class":"transfer","ns":450000000,"frames":[40,44],"capture":0,"files":["client.pcap","client.pcap"]}],"writes":183,"segments":{"up_to_64_bytes":2,"up_to_256_bytes":0,"up_to_512_bytes":1,"up_to_1460_bytes":140,"up_to_8960_bytes":60,"larger":37},"retransmissions":{"fast":1,"timeout":1,"tail_probe":0,"other":1},"congestion_window":{"count":3,"min_bytes":14480,"mean_bytes":40544,"max_bytes":64512,"last_bytes":42640},"pauses":{"count":2,"total_ns":85000000,"longest_ns":60000000},"stretch_acks":12,"ecn":{"negotiated":true,"capable_packets":1200,"ce_packets":7,"ece_packets":0,"cwr_packets":4}},"server_to_client":{"packets":198,"payload_bytes":1,"retransmitted_packets":0,"retransmitted_bytes":0,"spurious_retransmissions":0,"lost_on_network_packets":null,"lost_on_network_bytes":null,"missing_from_capture_packets":0,"missing_from_capture_bytes":0,"out_of_order_packets":0,"duplicate_packets":0,"duplicate_acks":0,"zero_windows":0,"zero_window_ns":0,"mss":null,"window_scale":null,"sack":null,"timestamps":null,"rtt":{"count":0,"min_ns":null,"p50_ns":null,"p90_ns":null,"p99_ns":null,"max_ns":null},"flight_max_bytes":0,"window_min_bytes":null,"window_max_bytes":null,"goodput_bps":null,"segments_per_ack":null,"delayed_ack_ns":null,"write_size_bytes":null,"time_ns":{"handshake":2100000,"idle":3997900000,"sender-application":0,"receiver-application":0,"small-window":0,"nagle-delayed-ack":0,"loss-recovery":0,"congestion":0,"bandwidth":0,"transfer":0,"unknown":0},"longest":[{"class":"handshake","ns":1050000,"frames":[10,14],"capture":0,"files":["client.pcap","client.pcap"]}],"writes":0,"segments":{"up_to_64_bytes":0,"up_to_256_bytes":0,"up_to_512_bytes":0,"up_to_1460_bytes":0,"up_to_8960_bytes":0,"larger":0},"retransmissions":{"fast":0,"timeout":0,"tail_probe":0,"other":0},"congestion_window":{"count":0,"min_bytes":null,"mean_bytes":null,"max_bytes":null,"last_bytes":null},"pauses":{"count":0,"total_ns":0,"longest_ns":null},"stretch_acks":0,"ecn":{"negotiated":null,"capable_packets":0,"ce_packets":0,"ece_packets":0,"cwr_packets":0}}},"sqlnet":null},"#]].assert_eq(first);
        let second = &json["connections"][1];
        let sent = &second["directions"]["server_to_client"];
        assert!(second["protocol"].is_null() && second["handshake"]["syn_to_synack_ns"].is_null());
        assert!(sent["rtt"]["p50_ns"].is_null() && sent["segments_per_ack"].is_null());
        assert_eq!(sent["time_ns"]["sender-application"], 80_000_000);
    }

    #[test]
    fn what_the_receiver_says_stands_with_the_data_it_is_about() {
        let json = samples::written(|out| conns_json(&samples::conns(), out));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        let directions = &json["connections"][0]["directions"];
        for (direction, windows, acks) in [("client_to_server", 64, 3), ("server_to_client", 0, 0)]
        {
            assert_eq!(directions[direction]["zero_windows"], windows);
            assert_eq!(directions[direction]["duplicate_acks"], acks);
        }
    }

    #[test]
    fn without_a_wait_there_is_no_top() {
        let mut result = samples::conns();
        let first = result.connections.iter().take(1);
        result.connections = first.map(|c| ConnectionResult { top: None, ..c }).collect();
        let json = samples::written(|out| conns_json(&result, out));
        let json: Value = serde_json::from_str(&json).expect("JSON");
        assert!(json["connections"][0]["top"].is_null());
    }

    #[test]
    fn each_direction_is_measured_nearest_to_its_sender() {
        let mut result = samples::conns();
        let mut server = result.captures[0].clone();
        server.side = Some(Vantage::Server);
        result.captures.insert(0, server);
        let c = &mut result.connections.get(0).expect("samples");
        c.ends.push((1, c.ends[0].1, c.ends[0].2));
        assert_eq!(capture_of(&result, c, Direction::ToServer), 1);
        assert_eq!(capture_of(&result, c, Direction::ToClient), 0);
        c.ends.remove(0);
        assert_eq!(capture_of(&result, c, Direction::ToClient), 1);
    }

    #[test]
    fn csv_has_a_row_per_direction() {
        let text = samples::written(|out| conns_rows(&samples::conns(), &mut samples::Csv(out)));
        // Commas between quotation marks are text.
        let plain = |l: &str| l.split('"').step_by(2).collect::<String>();
        let widths: Vec<usize> = text.lines().map(|l| plain(l).split(',').count()).collect();
        assert_eq!(widths.len(), 5);
        assert!(widths.iter().all(|w| *w == widths[0]), "{widths:?}");
        expect![[r#"
            number,client,server,protocol,first_ns,last_ns,vantage,vantage_from,vantage_confidence,close,handshake_seen,handshake_syn_retries,handshake_synack_retries,handshake_syn_to_synack_ns,handshake_synack_to_ack_ns,at_stake_ns,top_direction,top_class,top_ns,direction,packets,payload_bytes,retransmitted_packets,retransmitted_bytes,spurious_retransmissions,lost_on_network_packets,lost_on_network_bytes,missing_from_capture_packets,missing_from_capture_bytes,out_of_order_packets,duplicate_packets,duplicate_acks,zero_windows,zero_window_ns,mss,window_scale,sack,timestamps,rtt_count,rtt_min_ns,rtt_p50_ns,rtt_p90_ns,rtt_p99_ns,rtt_max_ns,flight_max_bytes,window_min_bytes,window_max_bytes,goodput_bps,segments_per_ack,delayed_ack_ns,write_size_bytes,time_handshake_ns,time_idle_ns,time_sender_application_ns,time_receiver_application_ns,time_small_window_ns,time_nagle_delayed_ack_ns,time_loss_recovery_ns,time_congestion_ns,time_bandwidth_ns,time_transfer_ns,time_unknown_ns,writes,segments_up_to_64_bytes,segments_up_to_256_bytes,segments_up_to_512_bytes,segments_up_to_1460_bytes,segments_up_to_8960_bytes,segments_larger,retransmissions_fast,retransmissions_timeout,retransmissions_tail_probe,retransmissions_other,congestion_window_count,congestion_window_min_bytes,congestion_window_mean_bytes,congestion_window_max_bytes,congestion_window_last_bytes,pauses_count,pauses_total_ns,pauses_longest_ns,stretch_acks,ecn_negotiated,ecn_capable_packets,ecn_ce_packets,ecn_ece_packets,ecn_cwr_packets,sqlnet_sdu_bytes,sqlnet_sdu_offered_bytes,sqlnet_tdu_bytes,sqlnet_tdu_offered_bytes,sqlnet_purpose
            1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000000000000,1700000004000000000,client,"the handshake's two halves: 2.10 ms to the server and back, 20.0 µs to the client and back",0.95,finished,true,1,0,2100000,20000,3914100000,client_to_server,receiver-application,2400000000,client_to_server,1245,1504344,3,4344,1,2,2896,2,2000,0,0,3,64,2100000000,1460,7,true,true,128,2100000,2210000,2900000,11000000,20300000,64512,5792,64512,3050512,1.231,40100000,8192,2100000,85900000,0,2400000000,0,0,612000000,0,0,900000000,0,183,2,0,1,140,60,37,1,1,0,1,3,14480,40544,64512,42640,2,85000000,60000000,12,true,1200,7,0,4,,,,,
            1,10.0.0.1:41818,10.0.0.2:2049,nfs4.1,1700000000000000000,1700000004000000000,client,"the handshake's two halves: 2.10 ms to the server and back, 20.0 µs to the client and back",0.95,finished,true,1,0,2100000,20000,3914100000,client_to_server,receiver-application,2400000000,server_to_client,198,1,0,0,0,,,0,0,0,0,0,0,0,,,,,0,,,,,,0,,,,,,,2100000,3997900000,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,0,0,,0,,0,0,0,0,,,,,
            2,[2001:db8:1111:2222:3333:4444:5555:6666]:50000,[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:5432,,1700000001000000000,1700000002000000000,unknown,no handshake and no acknowledgements to go by,0.0,end-of-capture,false,0,0,,,80000000,server_to_client,sender-application,80000000,client_to_server,0,0,0,0,0,,,0,0,0,0,0,0,0,,,,,0,,,,,,0,,,,,,,0,1000000000,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,0,0,,0,,0,0,0,0,,,,,
            2,[2001:db8:1111:2222:3333:4444:5555:6666]:50000,[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff]:5432,,1700000001000000000,1700000002000000000,unknown,no handshake and no acknowledgements to go by,0.0,end-of-capture,false,0,0,,,80000000,server_to_client,sender-application,80000000,server_to_client,0,0,0,0,0,,,0,0,0,0,0,0,0,,,,,0,,,,,,0,,,,,,,0,920000000,80000000,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,,,,,0,0,,0,,0,0,0,0,,,,,
        "#]].assert_eq(&text);
    }

    #[test]
    fn every_field_is_explained_on_a_page() {
        let text = samples::written(conns_fields);
        assert!(text.lines().all(|l| l.chars().count() <= 80), "{text}");
        expect![[r#"
            Of each connection:
              number                       counts from 1 in the order of first packets; what
                                           --connection takes
              client                       address:port of who opened it
              server                       address:port of the other end
              protocol                     what it carries, as in the column of `slowside
                                           calls`
              first_ns                     time of its first packet, since the epoch
              last_ns                      time of its last packet, since the epoch
              vantage                      where it was captured: client, server, middle,
                                           unknown
              vantage_from                 what that was concluded from, in words
              vantage_confidence           how sure that is, 0 to 1
              close                        how it ended: finished, reset, replaced,
                                           forgotten, evicted, expired, end-of-capture
              handshake.seen               whether SYN and SYN/ACK are in the capture
              handshake.syn_retries        SYNs sent again
              handshake.synack_retries     SYN/ACKs sent again
              handshake.syn_to_synack_ns   from the last SYN to the SYN/ACK: from the point
                                           of capture to the server and back
              handshake.synack_to_ack_ns   from there to the client's acknowledgement: to
                                           the client and back
              at_stake_ns                  time not idle, of the direction with more of it;
                                           connections are sorted by it
              top.direction                the direction of the longest wait:
                                           client_to_server or server_to_client
              top.class                    its time class
              top.ns                       how long it was, all stretches together

            Of each direction, client_to_server and server_to_client:
              packets                      packets sent this way
              payload_bytes                payload sent this way, retransmitted bytes
                                           included
              retransmitted_packets        packets with bytes that were sent before
              retransmitted_bytes          bytes that were sent before
              spurious_retransmissions     packets sent again although the receiver had them
              lost_on_network_packets      packets the network dropped, every copy counted
              lost_on_network_bytes        payload the network dropped, every copy counted
              missing_from_capture_packets packets the receiver got and the capture lacks,
                                           of full size, at least one a gap
              missing_from_capture_bytes   bytes the receiver acknowledged and the capture
                                           lacks
              out_of_order_packets         packets that others overtook on the way
              duplicate_packets            packets the capture holds twice
              duplicate_acks               acknowledgements of this data by its receiver
                                           that say nothing new
              zero_windows                 how often the receiver of this data closed its
                                           window
              zero_window_ns               how long that window was closed
              mss                          maximum segment size, bytes
              window_scale                 window scale as an exponent of 2
              sack                         whether both sides agreed on selective
                                           acknowledgements; unknown without both SYNs
              timestamps                   whether both sides agreed on timestamps; unknown
                                           without both SYNs
              rtt.count                    round trips from the point of capture to the
                                           receiver: how many are certain
              rtt.min_ns                   the shortest of them
              rtt.p50_ns                   half are shorter (within 2 %)
              rtt.p90_ns                   90 % are shorter (within 2 %)
              rtt.p99_ns                   99 % are shorter (within 2 %)
              rtt.max_ns                   the longest of them
              flight_max_bytes             most bytes sent and not yet acknowledged
              window_min_bytes             smallest window above zero that the receiver of
                                           this data offered
              window_max_bytes             largest window that it offered
              goodput_bps                  new payload in bits per second, from the first
                                           data to the last
              segments_per_ack             data segments for each acknowledgement that came
                                           back without data
              delayed_ack_ns               median delay of acknowledgements that waited for
                                           a timer
              write_size_bytes             what the application writes at once most often
              writes                       what it wrote at once, of any size: ended by a
                                           push and a pause or an answer
              segments.up_to_64_bytes      data segments of up to 64 bytes of payload, as
                                           the capture has them
              segments.up_to_256_bytes     of 65 to 256
              segments.up_to_512_bytes     of 257 to 512
              segments.up_to_1460_bytes    of 513 to 1,460
              segments.up_to_8960_bytes    of 1,461 to 8,960: jumbo frames, or joined by
                                           offloading
              segments.larger              larger ones: joined, or not yet cut, by
                                           offloading
              retransmissions.fast         packets sent again because of duplicate or
                                           selective ACKs, and in the recovery after
              retransmissions.timeout      packets sent again after 200 ms without progress,
                                           and in the recovery after
              retransmissions.tail_probe   last packets sent again sooner, to find out
                                           whether they arrived
              retransmissions.other        packets sent again for which nothing tells why
              congestion_window.count      how often the sender stopped though window and
                                           application had more, until an ACK came
              congestion_window.min_bytes  what was in flight then, an estimate of the
                                           congestion window: the least
              congestion_window.mean_bytes the mean
              congestion_window.max_bytes  the most
              congestion_window.last_bytes the last
              pauses.count                 silences of the sender above 200 µs with nothing
                                           outstanding, until it sent again
              pauses.total_ns              all of them together
              pauses.longest_ns            the longest
              stretch_acks                 acknowledgements without data of more than two
                                           full segments
              ecn.negotiated               whether both sides agreed on explicit congestion
                                           notification
              ecn.capable_packets          packets sent this way that routers may mark
                                           (ECT), marked ones included
              ecn.ce_packets               packets sent this way that a router marked (CE)
              ecn.ece_packets              packets by which the receiver of this data says
                                           that marks came (ECE, RFC 3168)
              ecn.cwr_packets              packets by which the sender says that it slowed
                                           down for them (CWR, RFC 3168)

            Of each direction, its time by class, which adds up to the connection's:
              time_ns.handshake            until the connection was open
              time_ns.idle                 nothing to send: waiting for the other side's
                                           data, or both silent
              time_ns.sender-application   the sender's application did not write, though
                                           TCP could have sent
              time_ns.receiver-application the receiver's application did not read: its
                                           window was closed or closing
              time_ns.small-window         the receiver reads, but its window is too small
                                           for the path
              time_ns.nagle-delayed-ack    a small segment was held back (Nagle) until the
                                           receiver's delayed acknowledgement
              time_ns.loss-recovery        something was lost, or taken to be, and was sent
                                           again
              time_ns.congestion           as much was under way as the congestion window
                                           allowed; no queue on the path
              time_ns.bandwidth            as much was under way as the congestion window
                                           allowed; a queue on the path
              time_ns.transfer             sending, and the last bytes' way to the receiver
                                           and back
              time_ns.unknown              what was waited for is not known
              longest[]                    the longest stretch of each class: class, ns,
                                           first and last frame, index of the capture, files
                                           of the frames (JSON only)

            Windows and acknowledgements stand with the direction of the data that they are
            about. JSON has an object for what stands before a dot, CSV a row per direction
            and the columns handshake_seen, …, time_idle_ns, …

            Of each row of --series, one for each interval in which a packet of the
            connection was seen:
              capture                      the capture's first file, as given
              captured_at                  where it was taken: client, server, middle,
                                           unknown
              connection                   number of the connection, as --connection takes
                                           it
              client                       address:port of who opened it
              server                       address:port of the other end
              protocol                     what it carries
              start_ns                     when the interval begins, since the epoch: a
                                           multiple of its width
              width_ns                     how long it is
              outstanding_max              most calls outstanding at once; empty where the
                                           protocol is not known
            and for both directions, as client_to_server_packets and so on:
              packets                      packets sent this way
              payload_bytes                payload sent this way, retransmitted bytes
                                           included
              throughput_bps               the same in bits per second of the interval
              retransmitted_packets        packets with bytes that were sent before
              rtt_count                    round trips of this data that ended in it: from
                                           the capture to the receiver
              rtt_min_ns                   the shortest of them
              rtt_mean_ns                  their mean
              flight_max_bytes             most bytes sent and not yet acknowledged
              window_min_bytes             smallest window of the receiver in force, zero
                                           included; empty where the scale is not known
              congestion_window_bytes      largest estimate of the congestion window made in
                                           it; empty where there is none
        "#]]
        .assert_eq(&text);
    }
}
