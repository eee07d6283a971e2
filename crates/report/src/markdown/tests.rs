//! What the samples look like as Markdown, and that nothing in a capture formats it.

use super::*;
use crate::samples;
use crate::{OpsStyle, SqlStyle};
use expect_test::expect;
use jiff::tz::TimeZone;

#[test]
fn a_diagnosis() {
    let d = samples::diagnosis();
    expect![[r#"
        **The SERVER is slow: of 33.2 ms per call it holds 33.1 ms, mostly queueing; it works on about 4 calls at a time while 32 wait (server-concurrency-cap).**

        Costs 75.1 s of 86.3 s of call time in 2.70 s. Confidence high (95 %). For 99 % of the time it is certain whose it is. Calls overlap, some 32 at a time: all of it passed in 2.70 s.

        ### Where a call's 33.2 ms go (2,600 calls)

        | part | ms | share |
        | :-- | --: | --: |
        | client host: not seen on the wire (give the application's times with --app) |  |  |
        | network out | 0.05 | 0.2% |
        | server | 33.07 | 100% |
        | – service | 4.11 | 12% |
        | – queue | 28.96 | 87% |
        | network back | 0.06 | 0.2% |

        ### What held 2,600 calls up for 86.3 s, 33.2 ms each

        |  | a call | at least | at most | calls |
        | :-- | --: | --: | --: | --: |
        | server | 33.1 ms | 86.0 s | 86.1 s |  |
        | queue | 29.0 ms | 75.3 s | 75.4 s | 2,600 |
        | service | 4.11 ms | 10.7 s |  | 2,600 |
        | network: path | 80.0 µs | 208 ms | 286 ms | 2,600 |

        ### Response times in ms

        | op | client calls | client mean | client p50 | client p99 | server calls | server mean | server p50 | server p99 |
        | :-- | --: | --: | --: | --: | --: | --: | --: | --: |
        | READ | 1,834 | 33.19 | 32.86 | 36.51 | 1,836 | 33.08 | 32.75 | 36.39 |
        | WRITE | 766 | 33.17 | 32.84 | 36.49 | 768 | 33.06 | 32.73 | 36.37 |

        ### The same calls in both captures, in ms

        | op | calls | mean client | mean server | mean diff | p50 client | p50 server | p50 diff |
        | :-- | --: | --: | --: | --: | --: | --: | --: |
        | READ | 1,834 | 33.19 | 33.08 | 0.11 | 33.19 | 33.08 | 0.11 |
        | WRITE | 766 | 33.17 | 33.06 | 0.11 | 33.17 | 33.06 | 0.11 |

        Not matched: 4 calls: 4 outside the time that both captures cover.

        ### Files that took most time, in ms

        | file | share | calls | mean |
        | :-- | --: | --: | --: |
        | /srv/db/undo01.dbf | 81% | 2,100 | 33.19 |

        ### Findings

        1. `server-concurrency-cap`, server: **75.1 s (2.30 s elapsed)**
           - Replies leave in fours every 4.1 ms; time in the server grows by 1.03 ms with each further call outstanding; below 4 outstanding a call takes 4.2 ms.
           - cap 4, unloaded service time 4.11 ms
           - Do: raise the server's NFS threads (Linux: /proc/fs/nfsd/threads; illumos: sharectl set -p servers=N nfs), or find what the 4 are waiting for.
           - See: server.pcap frames 812, 845, 901: three replies that left together: `tshark -r server.pcap -Y 'rpc.xid==0x4ecb8123'`
        2. `client-concurrency-cap`, client: **no cost of its own**
           - Each new call waits for a reply.
           - cap 32

        ### Captures

        - `client.pcap`: taken at the client (stated)
          - 2.70 s from 2023-11-14 22:13:20 +00:00, 6,793 packets, 1.74 MB, snaplen 256, none dropped, 1 connection, 2,600 calls
        - `server.pcap`: taken at the server (SYN timing)
          - 2.70 s from 2023-11-14 22:13:20 +00:00, 6,793 packets, 1.74 MB, snaplen 256, drops unknown, 1 connection, 2,600 calls
          - 4 calls seen by half: 3 after-capture, 1 before-capture
          - damaged: cut-in-mid-record, 1: the file ends within a packet (server.pcap, packet 6794, byte offset 1900000)
        - Clocks: nothing contradicts that they agree (assumed synchronised; the offset cannot be known better than ±50.0 µs)

        - Note: What the application waited before it called is not on the wire.
    "#]].assert_eq(&samples::written(|out| diagnosis_markdown(&d, &TimeZone::UTC, out)));
}

#[test]
fn operations_connections_and_statements() {
    let style = OpsStyle {
        zone: TimeZone::UTC,
        histogram: false,
    };
    expect![[r#"
        | op | client | share | calls | err | rexmit | mean | p50 | p90 | p99 | p99.9 | max | bytes |
        | :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: |
        | READ | 10.0.0.1 | 100% | 1,834 | 3 | 1 | 33.2ms | 33.1ms | 35.0ms | 36.6ms | - | 41.0ms | 121MB |
        | GETATTR | - | &lt;0.1% | 20 | 0 | 0 | 200µs | 190µs | - | - | - | 320µs | 7.20kB |

        1,854 calls in all, 60.9 s of response time; 3 errors, 1 retransmit. Not timed: 2 without a response, 1 without a request.
    "#]].assert_eq(&samples::written(|out| ops_markdown(&samples::ops(), &style, out)));
    expect![[r#"
        2 TCP connections, 3.99 s of waiting; 60 % of it: the receiver's window was closed (server 10.0.0.2)

        | \# | client → server |  | time | bytes→ | bytes← | rtt | loss | waited | most | for |
        | :-- | :-- | :-- | --: | --: | --: | --: | --: | --: | --: | --: |
        | 1 | 10.0.0.1:41818 → 10.0.0.2:2049 | nfs4.1 | 4.00s | 1.50MB | 1B | 2.21ms | 0.2% | 3.91s | 61% | → receiver |
        | 2 | \[2001:db8:1111:2222:3333:4444:5555:6666\]:50000 → \[2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff\]:5432 | - | 1.00s | 0B | 0B | - | - | 80.0ms | 100% | ← sender |
    "#]].assert_eq(&samples::written(|out| conns_markdown(&samples::conns(), false, out)));
    let style = SqlStyle {
        all: false,
        literals: false,
    };
    expect![[r#"
        87.0 ms of call time in 3 calls (3 round trips), 1 statement: the server 69%, the network 14%, bytes passing 17%. Between calls the client took 2.00 ms.

        | \# | share | calls | mean | p99 | rows | each | server | network | transfer | think | statement |
        | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | --: | :-- |
        | 1 | 67% | 2 | 29.0ms | - | 101 | 50.5 | 40.0ms | 8.00ms | 10.0ms | 1.00ms | `select * from t where name = ?` id 445299c112c75ebf · 1 execution, 1 fetch |
        | 2 | 33% | 1 | 29.0ms | - | 0 | - | 20.0ms | 4.00ms | 5.00ms | 0ns | `(COMMIT, no statement)` |

        mean and p99: of one call; each: rows of a call that brings rows; all else: of all calls together

        **Slowest call**: 29.0 ms, frames 10 and 13: `tshark -r client.pcap -Y 'frame.number in {10,13}'`

        **Sessions**

        - 1. 10.0.0.1:700 → \[fe80::1\]:2049 tns: 3 round trips, 540 B sent, 197 kB received; 89.0 ms: work 87.0 ms, client 2.00 ms (user scott, database orcl, SDU 8,192 B)
    "#]].assert_eq(&samples::written(|out| sql_markdown(&samples::profile(), style, out)));
}

#[test]
fn every_row_of_a_table_has_the_cells_of_its_headings() {
    let rows = [["a|b", "<i>"], ["x\ny", "`|`"]].map(|row| row.map(str::to_owned).to_vec());
    let table = table(&rows, 1, |_| false);
    assert_eq!(
        table,
        "| a\\|b | &lt;i&gt; |\n| :-- | --: |\n| x y | \\`\\|\\` |\n"
    );
}

#[test]
fn what_comes_from_a_capture_formats_nothing() {
    assert_eq!(escaped("*a* _b_ [c](d) @e"), r"\*a\* \_b\_ \[c\](d) &#64;e");
    assert_eq!(code("a ``b`` c", false), "``` a ``b`` c ```");
    assert_eq!(code("a | b", true), r"`a \| b`");
    assert_eq!(block("x\n```\n"), "````text\nx\n```\n````\n");
}
