//! `slowside probe --listen`: answers until Ctrl-C, and notes who came.

use super::{duration, stop, token};
use crate::args::Probe;
use crate::command::print;
use crate::exit::Done;
use crate::out::complain;
use probe::{End, Event, Limits, Listener, Refusal, Token};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) fn run(args: &Probe, address: SocketAddr) -> anyhow::Result<Done> {
    let (made, token) = match &args.token_file {
        Some(file) => (None, token(file)?),
        None => {
            let (text, token) = Token::make()?;
            (Some(text), token)
        }
    };
    let limits = Limits {
        size: args.max_size,
        rate: args.max_rate,
        bandwidth_bps: args.max_bandwidth,
        duration: duration(args.max_time),
        connections: args.max_connections,
        idle: duration(args.idle),
        ..Limits::default()
    };
    let listener = Listener::bind(address, token, limits)?;
    let stop = stop()?;
    print(|out| {
        writeln!(out, "Listening at {}; Ctrl-C ends it.", listener.address())?;
        match &made {
            Some(token) => writeln!(
                out,
                "Token {token}: put it into a file there, for --token-file."
            ),
            None => Ok(()),
        }
    })?;
    let refused = AtomicU64::new(0);
    let note = |event: Event| {
        if !args.quiet {
            tell(event, &refused);
        }
    };
    let counts = listener.run(&stop, &note);
    print(|out| {
        writeln!(
            out,
            "Served {} exchanges in {} sessions, refused {} connections.",
            counts.exchanges, counts.sessions, counts.refused
        )
    })?;
    Ok(Done::Fine)
}

/// A line for each session; of refusals only the 1st, 2nd, 4th, 8th …, so that nobody fills a log by
/// knocking.
fn tell(event: Event, refused: &AtomicU64) {
    match event {
        Event::Started { client } => complain(&format!("{client} began")),
        Event::Ended {
            client,
            exchanges,
            received_bytes,
            sent_bytes,
            why,
        } => complain(&format!(
            "{client} ended: {exchanges} exchanges, {received_bytes} bytes in, {sent_bytes} bytes out; \
             {}",
            end(why)
        )),
        Event::Refused { client, why } => {
            let count = refused.fetch_add(1, Ordering::Relaxed) + 1;
            if count.is_power_of_two() {
                let why = refusal(why);
                complain(&format!("refused {count} so far, the last {client}: {why}"));
            }
        }
    }
}

fn end(why: End) -> &'static str {
    match why {
        End::Closed => "the client closed",
        End::Idle => "silent, or slow, for longer than --idle",
        End::Duration => "as long as --max-time allows",
        End::Size => "it asked for more than --max-size, or for less than a header",
        End::Stopped => "the listener ends",
        End::Failed => "the connection failed",
    }
}

fn refusal(why: Refusal) -> &'static str {
    match why {
        Refusal::Malformed => "it does not speak this protocol, or another version of it",
        Refusal::Handshake => "it closed, or did not show in time that it knows the token",
        Refusal::WrongToken => "wrong token",
        Refusal::Busy => "as many clients as --max-connections allows",
        Refusal::Crowded => "too many connections at once",
    }
}
