//! Packet captures (pcap, pcapng, snoop, compressed, rotated, merged) into batches of packets.
