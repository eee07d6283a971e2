use std::path::PathBuf;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let c = slowside::Config {
        threads: std::env::var("T")
            .ok()
            .and_then(|t| t.parse().ok())
            .unwrap_or(0),
        ..Default::default()
    };
    let files = vec![PathBuf::from(&a[2])];
    if a[1] == "diag" {
        let cap = if a.len() > 3 {
            slowside::Captures::Sides {
                client: files,
                server: vec![PathBuf::from(&a[3])],
            }
        } else {
            slowside::Captures::One(files)
        };
        let t = std::time::Instant::now();
        let d = slowside::diagnose(&cap, None, &c, &mut |_| ()).unwrap();
        eprintln!("{:?}", t.elapsed());
        println!("{:?}\n{:?} {:?}", d.verdict, d.budget, d.clock);
        for f in &d.findings {
            println!(
                "{} {:?} cost {:?} {:?} {}\n    {:?}",
                f.code,
                f.side,
                f.cost_ns.map(|c| c as f64 / 1e9),
                f.facts
                    .iter()
                    .map(|f| (f.name, f.value))
                    .collect::<Vec<_>>(),
                f.why,
                f.evidence
            );
        }
        for o in &d.ops {
            println!(
                "{} {} c{:?} s{:?} {:?} {:?}",
                o.protocol,
                o.op,
                o.client.map(|s| s.mean_ns),
                o.server.map(|s| s.mean_ns),
                o.matched,
                o.unmatched
            );
        }
        for n in &d.notes {
            println!("{n}");
        }
        for c in &d.captures {
            println!("{:?} {} | {:?}", c.side, c.side_from, c.half_calls);
        }
    } else if a[1] == "ops" {
        let t = std::time::Instant::now();
        let r = slowside::ops(&files, &c, &[analysis::group::Key::Op], &mut |_| ()).unwrap();
        for g in &r.groups {
            println!(
                "{} {:?} n={} mean={} p50={} p99={} err={} norep={} noreq={} inc={}",
                g.protocol,
                g.op,
                g.stats.count,
                g.stats.mean_ns,
                g.stats.p50_ns,
                g.stats.p99_ns,
                g.errors,
                g.no_response,
                g.no_request,
                g.incomplete
            );
        }
        let c = &r.captures[0];
        println!(
            "{} packets {} calls {} conns, half {:?} missing {} {}",
            c.packets, c.calls, c.connections, c.half_calls, c.missing_gaps, c.missing_bytes
        );
        for (k, p) in c.problems.iter() {
            println!("{k} {p:?}");
        }
        eprintln!(
            "{:?} {:.2} Mpkt/s",
            t.elapsed(),
            c.packets as f64 / t.elapsed().as_secs_f64() / 1e6
        );
    } else {
        println!(
            "capture,protocol,op,request_first_frame,request_last_frame,response_first_frame,response_last_frame,request_first_ns,request_last_ns,response_first_ns,response_last_ns,outcome"
        );
        slowside::calls(
            &files,
            &c,
            &mut |c, _| {
                let f = |m: Option<model::Mark>| {
                    m.map(|m| m.packet.frame.to_string()).unwrap_or_default()
                };
                let t =
                    |m: Option<model::Mark>| m.map(|m| m.time.0.to_string()).unwrap_or_default();
                println!(
                    "x,{},{},{},{},{},{},{},{},{},{},{}",
                    c.protocol,
                    c.op,
                    f(c.request_first),
                    f(c.request_last),
                    f(c.response_first),
                    f(c.response_last),
                    t(c.request_first),
                    t(c.request_last),
                    t(c.response_first),
                    t(c.response_last),
                    c.outcome.name()
                );
                Ok(())
            },
            &mut |_| (),
        )
        .unwrap();
    }
}
