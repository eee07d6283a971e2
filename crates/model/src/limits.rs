//! Every bound on memory, in one place. Each is per connection or for the whole capture in packet
//! order, never per thread, so that the same input gives the same output for any number of threads.
//! The kind of problem that is counted whenever one bites is named beside it; where none is, it says what goes then.

/// Captured bytes of one packet that are believed; a longer one is a damaged length field
/// (libpcap's own bound, and large enough for BIG TCP). `absurd-length`.
pub const PACKET_BYTES: u32 = 262_144 * 4;

/// Incomplete IP datagrams held for reassembly in a capture. `fragments-evicted`.
pub const FRAGMENTED_DATAGRAMS: usize = 256;

/// How long fragments wait for their datagram: RFC 791's and Linux's 30 s. `fragments-evicted`.
pub const FRAGMENT_WAIT_NS: i64 = 30_000_000_000;

/// A connection that was silent this long is forgotten when room is needed.
pub const IDLE_NS: i64 = 3_600_000_000_000;

/// A UDP conversation that was silent this long is over.
pub const UDP_IDLE_NS: i64 = 120_000_000_000;

/// A TCP connection of which only packets without data of one side were seen is forgotten after this
/// silence: as long as Linux tries a SYN.
pub const UNANSWERED_IDLE_NS: i64 = 130_000_000_000;

/// A TCP connection whose sides have all said FIN, without all being acknowledged, is over after this
/// silence.
pub const CLOSING_IDLE_NS: i64 = 10_000_000_000;

/// How long the addresses and ports of a connection that is over are kept, to know its last packets
/// from those of a new one.
pub const CLOSED_NS: i64 = 30_000_000_000;

/// Bytes of one direction held back while an earlier byte is missing. `reorder-buffer-full`.
pub const REORDER_BYTES: usize = 4 << 20;

/// Segments of one direction held back while an earlier byte is missing. `reorder-buffer-full`.
pub const REORDER_SEGMENTS: usize = 4_096;

/// How long a missing byte is waited for before it is given up, measured by the connection's own
/// packets. A retransmission timer backs off for longer, but then nothing else arrives either.
pub const REORDER_WAIT_NS: i64 = 5_000_000_000;

/// Unanswered requests remembered per connection. `requests-evicted`.
pub const OUTSTANDING: usize = 65_536;

/// Questions over datagrams (names, addresses) of one connection that wait for an answer.
/// `requests-evicted`.
pub const QUESTIONS: usize = 256;

/// Hosts whose start-up is followed, those seen first. `hosts-left-out`.
pub const STARTUP_HOSTS: usize = 4_096;

/// Waits of a capture's start-ups; some 150 bytes each. `waits-left-out`.
pub const STARTUP_WAITS: usize = 200_000;

/// Calls per connection whose reply is taken to be hidden in a hole, remembered in case it comes after
/// all. The oldest are then reported as without a response, with the hole as the reason.
pub const DOUBTFUL: usize = 1024;

/// Responses that came before their request, remembered per connection in case packets stand in the
/// wrong order in the file.
pub const EARLY_RESPONSES: usize = 64;

/// Responses remembered per connection while the snap length hides their requests, and requests
/// hidden between two that were seen. `hidden-requests-given-up`.
pub const HIDDEN_CALLS: usize = 1024;

/// Packets per connection that may hold the start of hidden requests, remembered until it is known
/// which do. `hidden-requests-given-up`.
pub const HIDDEN_RUNS: usize = 16_384;

/// Turns of a connection of unknown protocol that are held back until it is known whether its sides
/// wait for each other.
pub const TURNS_HELD: usize = 8;

/// Records of each direction that are held back until their connection is over, where they can be paired by order only.
pub const MARKED_HELD: usize = 16_384;

/// Files of a capture whose calls are summed up in a diagnosis.
pub const FILES: usize = 50_000;

/// Segments sent again that are kept of one recovery.
pub const RESENT: usize = 16;

/// Bytes of one name or path of a file; longer ones are left out.
pub const FILE_NAME: usize = 1_024;

/// What names of files take up in memory, with [`FILE_NAME_BYTES_EACH`] beside each: further files go
/// without.
pub const FILE_NAME_BYTES: usize = 32 << 20;
pub const FILE_NAME_BYTES_EACH: usize = 160;

/// Bytes of one message that a protocol may ask to see in one piece.
pub const HEAD_BYTES: usize = 16_384;

/// Bytes of one SQL statement that are kept; it is then marked as truncated.
pub const SQL_BYTES: usize = 16_000;

/// Bytes of a TNS request that are looked at: a statement of [`SQL_BYTES`] and what stands before it.
/// `statements-truncated`.
pub const TNS_REQUEST_BYTES: usize = SQL_BYTES + 2_000;

/// Bytes of the beginning and of the end of a TNS response that are looked at; rows between them pass
/// unread.
pub const TNS_RESPONSE_BYTES: usize = 2_048;

/// TNS requests of one connection that wait for their response. `requests-evicted`.
pub const TNS_PIPELINED: usize = 256;

/// Open cursors of a database session whose statements are remembered. `cursors-forgotten`.
pub const CURSORS: usize = 4_096;

/// Prepared statements, portals and cursors of a session whose statements are remembered, of each
/// kind; then all are forgotten. `names-forgotten`.
pub const SQL_NAMES: usize = 10_000;

/// Length of one message that is believed. `absurd-length`.
pub const MESSAGE_BYTES: u32 = 64 << 20;

/// Calls of one capture that wait for their twin of the other. `unmatched.evicted`.
pub const LOOK_BACK_CALLS: usize = 400_000;

/// Connections of a capture whose waits a diagnosis looks at; it says how many it left out.
pub const ACCOUNTS: usize = 20_000;

/// Connections listed. `connections-left-out`.
pub const CONNECTIONS: usize = 200_000;

/// Points of each curve of a connection's picture, some 60 bytes each while it is drawn; a picture says
/// how many it left out.
pub const PLOT_POINTS: usize = 50_000;

/// Segments of a direction that are not acknowledged yet, in a connection's picture: when the bytes of what is sent
/// again had been sent before. Of what was sent before more than that, the picture has when it was sent again.
pub const PLOT_SENDINGS: usize = 4_096;

/// Bytes of rows that are sorted in memory; more are sorted on disk, so that none is left out.
pub const SORT_BYTES: usize = 64 << 20;

/// Intervals that are still open, as packets may come out of time order: later than the newest of them
/// allows, a packet counts in the oldest. `intervals-closed`.
pub const OPEN_INTERVALS: usize = 64;

/// Intervals without a packet in a row that are written; a longer silence is left out.
/// `empty-intervals-left-out`.
pub const EMPTY_INTERVALS: i64 = 10_000;

/// The same of all silences together, for each interval that has packets: what is written is bounded by what is read.
pub const EMPTY_FOR_EACH: i64 = 8;

/// Hosts and addresses of which it is remembered what ARP says; further ones are left out.
/// `arp-hosts-left-out`.
pub const ARP_HOSTS: usize = 4_096;

/// Different addresses that a host asks for, of which so many are remembered. `arp-targets-left-out`.
pub const ARP_TARGETS: usize = 1_024;

/// Ports of bridges, of all spanning trees, of which it is remembered which root they speak for.
/// `bridges-left-out`.
pub const BRIDGE_PORTS: usize = 16_384;

/// Changes of roots, and of topologies, that are remembered. `bridges-left-out`.
pub const TREE_CHANGES: usize = 4_096;

/// Senders whose checksums are counted, by kind of checksum. `checksum-senders-left-out`.
pub const CHECKSUM_SENDERS: usize = 16_384;

/// Flows whose packets were given back by ICMP, by who did so and why. `icmp-left-out`.
pub const RETURNED_FLOWS: usize = 4_096;

/// Ways of packets with a VLAN's tag, by hosts, hardware addresses and tag. `vlan-hosts-left-out`.
pub const TAGGED_WAYS: usize = 16_384;

/// Senders of frames to everybody and to groups. `broadcasters-left-out`.
pub const BROADCASTERS: usize = 4_096;

/// Datagrams that lack a part and are remembered. `lost-fragments-left-out`.
pub const LOST_DATAGRAMS: usize = 4_096;

/// Operations and statements of a capture, and servers, that charts are drawn of; those that come
/// later have none, which is said.
pub const CHARTED: usize = 1_000;

/// Groups of one table. `groups-full`.
pub const GROUPS: usize = 200_000;

/// Segments of answers that were lost behind a capture and sent again, of which it is remembered when.
pub const SENT_AGAIN: usize = 100_000;

/// Answers of a capture whose requests had been sent before it began.
pub const BEGUN_BEFORE: usize = 65_536;

/// Connections with troubles that are remembered before old ones are looked for and forgotten.
pub const TROUBLED_CONNECTIONS: usize = 10_000;

/// Statements of a profile; calls of further ones are counted together.
pub const STATEMENTS: usize = 100_000;

/// Database sessions of a profile; calls of further ones are in its statements only.
pub const SESSIONS: usize = 20_000;

/// Calls of a session that is followed; those of further ones are counted.
pub const FOLLOWED_CALLS: usize = 200_000;

/// Packets of a session, or of a trace, that are listed; further ones are counted, with their sizes: so many different
/// ones in both directions, beyond which they are rounded up to powers of two.
pub const LISTED_PACKETS: usize = 200_000;
pub const PACKET_SIZES: usize = 32_768;

/// Errors of a statement that are counted by code, and kinds of failed logons (code and user) from one host to one
/// server; beyond them errors are counted together, logons by code alone.
pub const ERROR_CODES: usize = 32;
pub const LOGON_FAILURES: usize = 256;

/// Users of failed logons that are told apart in a capture, over all hosts and servers; beyond them their number is the
/// least that there are.
pub const LOGON_USERS: usize = 65_536;

/// Episodes remembered per connection, where all connections have more than [`TROUBLES`].
pub const EPISODES: usize = 512;

/// The same where they have not: of a busy one a call is held against them seconds after it was answered.
pub const BUSY_EPISODES: usize = 16_384;

/// Episodes of all connections of a capture, of some 150 bytes each.
pub const TROUBLES: usize = 131_072;

/// Connections of two captures whose turns are summed apart; beyond that they are judged and
/// forgotten.
pub const ROUNDS_CONNECTIONS: usize = 100_000;

/// What calls of a capture have in common (connection, operation, file or statement), of so many
/// combinations; calls of further ones go without their files and statements, then without any.
/// `attributes-full`.
pub const ATTRIBUTES: usize = 100_000;

/// Calls that wait to be settled; beyond that the oldest are settled early.
pub const UNSETTLED: usize = 100_000;

/// More different operation lists than any client makes; from there on they are made each time.
pub const OPERATION_LISTS: usize = 10_000;

/// Servers of which it is remembered when they were heard last. Of calls to others that were never answered it is not known
/// for how long the server certainly did not.
pub const SERVERS_HEARD: usize = 65_536;

/// Pairs of hosts of which it is remembered who calls whom; calls of further ones are taken to be made
/// by clients. As many pairs of connections may be one under two addresses; further ones are two.
pub const HOST_PAIRS: usize = 100_000;
/// Pairs of hosts whose ways are known apart; those of further ones are taken together with the nearest.
pub const WAYS: usize = 4_096;

/// Tokens of one row of values that is compared with the next, to fold both into one in a statement's
/// normal form; longer rows stay.
pub const SQL_GROUP_TOKENS: usize = 4_096;

/// Bytes of one line of a trace that are looked at. `line-cut`.
pub const TRACE_LINE_BYTES: usize = 65_536;

/// Bytes of a statement's text in a trace that are kept. `statement-cut`.
pub const TRACE_SQL_BYTES: usize = 65_536;

/// Open cursors of a traced process that are remembered. `cursors-forgotten`.
pub const TRACE_CURSORS: usize = 65_536;

/// Statements of a trace's profile; further ones share a line. `statements-full`.
pub const TRACE_STATEMENTS: usize = 10_000;

/// Wait events of a trace's profile; further ones share a line. `events-full`.
pub const TRACE_EVENTS: usize = 4_000;

/// Processes of one trace file, joined by `trcsess`, that are remembered beside the one whose lines come; together as much
/// as one may have open. `processes-forgotten`.
pub const TRACE_PROCESSES: usize = 256;

/// Waits and recursive calls of a trace that wait for the call that holds them. `calls-without-end`.
pub const TRACE_PENDING: usize = 65_536;

/// Connections of a SQL*Net trace that are told apart; further ones share a line. `connections-full`.
pub const TRACE_CONNECTIONS: usize = 1_000;

/// Waits for blocks of a trace that are held against NFS READs: 32 bytes each. Said in the answer.
pub const TRACE_BLOCK_WAITS: usize = 2_000_000;

/// Round trips of a file of a server's trace that are held against calls: 88 bytes each. Said in the answer.
pub const TRACE_ROUND_TRIPS: usize = 2_000_000;

/// READs of blocks that a trace names, kept until its clock is known: some 100 bytes each. Said in the
/// answer.
pub const TRACE_READS: usize = 1_000_000;

/// Calls that are held against an application's operations when all are known: 40 bytes each. Said in the answer.
pub const APP_CALLS: usize = 4_000_000;

/// Pairs of a wait and a READ of the same place by which the clock of a trace is found; more are not
/// needed.
pub const TRACE_PAIRS: usize = 1_000_000;

/// Memory for unpacking one .xz file: as much as `xz -9` asks for.
pub const XZ_DICTIONARY_BYTES: usize = 64 << 20;

/// Blocks of time that a run is kept in for comparisons; they grow longer instead.
pub const BLOCKS: usize = 128;

/// Operations and statements of a capture that are told apart for comparisons; further ones only count
/// in the sums.
pub const COMPARED_SUBJECTS: usize = 256;

/// Of a saved run: operations and statements, those with most time; ports; names of files; hosts that
/// ask others.
pub const SAVED_SUBJECTS: usize = 32;
pub const SAVED_PORTS: usize = 16;
pub const SAVED_FILES: usize = 16;
pub const SAVED_TIERS: usize = 16;

/// Pseudonyms of addresses that are remembered; then they are made anew.
pub const PSEUDONYMS: usize = 200_000;

/// Calls of one capture that `cut` writes; it says how many it left out.
pub const CUT_CALLS: usize = 200_000;

/// Connections of which `cut` remembers the opening where packets are chosen by time or number.
/// `connections-without-opening`.
pub const CUT_FLOWS: usize = 200_000;

/// Packets before what is cut that `cut` remembers, over all connections; beyond that only handshakes are
/// written beside what was chosen.
pub const CUT_BEFORE: usize = 4_000_000;

/// Intervals that the window of a live capture holds.
pub const LIVE_SLOTS: i64 = 600;

/// Operations of a live capture that are told apart, and statements; calls of further ones share a line.
/// Each takes at most some 40 kB, for its distribution, in each interval of the window in which it had more
/// than 4,096 calls; less in others. `operations-left-out`, `groups-full`, `statements-left-out`.
pub const LIVE_OPERATIONS: usize = 500;
pub const LIVE_STATEMENTS: usize = 1_000;

/// Connections of a live capture that are followed at a time: those with packets in the window or calls
/// outstanding; and rows beyond a `--when` at a time. `connections-not-shown`, `crossings-untold`.
pub const LIVE_CONNECTIONS: usize = 4_096;

/// Connections of a live capture that are listed at its end, those that ended first; some 500 bytes each.
/// `connections-left-out`.
pub const LIVE_LISTED: usize = 20_000;

/// What the rows of a live view did is remembered for so many intervals, and for fewer where there are many rows: an
/// operation, a statement or a connection in one interval takes some 700 bytes at most. Older intervals make room.
pub const LIVE_PAST_INTERVALS: usize = 240;
pub const LIVE_PAST: usize = 40_000;

/// Intervals of `stat` that are put into another order; some 300 bytes each. More are refused.
pub const SORTED_INTERVALS: usize = 500_000;

/// Sets of labels of which calls are counted apart as metrics, and servers; calls and packets of further ones count as
/// `other`. Some 600 bytes each, and seventy lines of what is scraped. `slowside_other_calls`.
pub const METRICS_LABELS: usize = 500;

/// Servers of databases of which locks are followed, and sessions of one, those seen first; transactions of one that
/// ended last; statements of which it is known which table they want, and tables of one transaction. Beyond them fewer waits are known to be
/// possibly for locks.
pub const LOCK_SERVERS: usize = 1_024;
pub const LOCK_SESSIONS: usize = 16_384;
pub const LOCKS_ENDED: usize = 16_384;
pub const LOCK_TABLES: usize = 32_768;
pub const LOCK_TABLES_EACH: usize = 16;
/// Parts of files that are locked at an SMB server.
pub const LOCK_PARTS: usize = 16_384;

/// Files that one SMB connection has open, and trees: more are forgotten, all of them.
pub const SMB_FILES: usize = 4_096;

/// Hosts of a capture whose own calls are held against what is asked of them, those seen first; open connections, and pairs
/// of hosts; servers of one host that are told apart. Beyond them a host's own calls are not known to be for others'.
pub const TIER_HOSTS: usize = 4_096;
pub const TIER_CONNECTIONS: usize = 65_536;
pub const TIER_SERVERS: usize = 64;
/// Calls to such hosts, and of theirs, that are held against each other, in some 200 MB. Nothing is told of those beyond them.
pub const TIER_CALLS: usize = 2_097_152;

/// Calls that were answered "ask again later" and were not yet; further ones are not known to be asked again.
pub const DEFERRED: usize = 65_536;

/// Hosts of a capture that are held against those of another; whether captures of more have one in common is not told.
pub const HOSTS_HELD_AGAINST: usize = 4_096;

/// Intervals of a probe that are kept for its result: a day of seconds. Further ones are only told as
/// they end.
pub const PROBE_INTERVALS: usize = 86_400;
