//! What lies beneath a call, out of its server's time.

use super::*;

#[test]
fn what_lies_beneath_a_call_is_a_part_of_its_server_s_time() {
    let own = |charges: &[(Cause, Bounds)], alone_ns, shared_ns| {
        let mut ledger = Ledger::default();
        ledger.clear(Bounds::exactly(100));
        for (cause, ns) in charges {
            ledger.charge(*cause, Direction::ToServer, *ns);
        }
        ledger.wait_downstream(alone_ns, shared_ns);
        let lines = ledger.lines().into_iter();
        lines.map(|l| (l.cause, l.ns)).collect::<Vec<_>>()
    };
    let exactly = Bounds::exactly;
    // Of what it did, and of its silence first.
    assert_eq!(
        own(
            &[(Cause::Service, exactly(60)), (Cause::Path, exactly(40))],
            30,
            20
        ),
        [
            (Cause::Path, exactly(40)),
            (Cause::Service, exactly(10)),
            (Cause::Downstream, exactly(30)),
            (Cause::DownstreamShared, exactly(20)),
        ]
    );
    assert_eq!(
        own(
            &[(Cause::Service, exactly(60)), (Cause::Stall, exactly(40))],
            50,
            0
        ),
        [
            (Cause::Service, exactly(50)),
            (Cause::Downstream, exactly(50))
        ]
    );
    // No more than it had; what is certain of both together stays as it was.
    assert_eq!(
        own(&[(Cause::Service, Bounds::between(20, 50))], 70, 9),
        [(Cause::Downstream, Bounds::between(20, 50))]
    );
    // Who waits in a queue waits for its turn.
    let queued = [(Cause::Queue, exactly(80))];
    assert_eq!(own(&queued, 30, 30), queued);
}
