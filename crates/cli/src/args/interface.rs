//! What to capture from an interface, for commands that take one in place of a capture.

use super::probe::bytes;
use crate::moment;
use anyhow::Context;
use clap::Args;
use interface::{Expression, Interface, Options, Stop};
use replace::Replacement;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::io;
use std::path::Path;
use std::time::Duration;

#[derive(Args, Debug)]
#[command(next_help_heading = "From an interface")]
pub(crate) struct FromInterface {
    /// Capture from this interface (or any) instead, on Linux; Ctrl-C ends it with the totals
    ///
    /// Needs root, or the right to capture: sudo setcap cap_net_raw,cap_net_admin+ep slowside.
    #[arg(short, long, value_name = "NAME")]
    pub(crate) interface: Option<String>,

    /// End after so long, such as 10s
    #[arg(long = "for", value_name = "DURATION", value_parser = moment::positive)]
    pub(crate) lasting: Option<i64>,

    /// Only packets of which this is true, such as 'host 10.0.0.1 and port 2049'
    ///
    /// Judged in the kernel, in tcpdump's language: [src|dst] host, net, port, portrange; tcp, udp,
    /// sctp, icmp, icmp6, arp, rarp, ip, ip6, vlan [ID]; and, or, not, parentheses.
    #[arg(long = "filter", value_name = "EXPR", value_parser = expression, requires = "interface")]
    pub(crate) expression: Option<Expression>,

    /// Bytes to take of each packet; headers of protocols are within 512
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "interface")]
    pub(crate) snaplen: Option<u32>,

    /// Bytes the kernel may hold until they are read, 64M unless told; for when it drops packets
    #[arg(long, value_name = "BYTES", value_parser = bytes, requires = "interface")]
    pub(crate) buffer: Option<u32>,

    /// As root: whose rights to go on with once the interface is open: a name or a number
    ///
    /// Files of --write are made with these rights. `root` keeps all rights. Without it, root becomes
    /// nobody; others lose their capabilities and stay who they are.
    #[arg(short = 'Z', long, value_name = "USER", requires = "interface")]
    pub(crate) user: Option<String>,

    /// Only what is for this host anyway, such as where an interface must not be promiscuous
    #[arg(long, requires = "interface")]
    pub(crate) no_promiscuous: bool,
}

impl FromInterface {
    /// Begins to capture from the interface with packets of which `also` is true, if one is given, and gives up all
    /// rights but to write below `folder` and to connect to port `connect`. Where `write` could not
    /// be written then, that is said now, not hours later.
    pub(crate) fn open_for(
        &self,
        also: Option<Expression>,
        folder: Option<&Path>,
        write: Option<&Path>,
        connect: Option<u16>,
    ) -> anyhow::Result<Option<Interface>> {
        let Some(name) = &self.interface else {
            return Ok(None);
        };
        let usual = Options::of(name);
        let interface = Interface::open(&Options {
            snaplen: self.snaplen.unwrap_or(usual.snaplen),
            promiscuous: !self.no_promiscuous,
            buffer: self.buffer.map_or(usual.buffer, |bytes| bytes as usize),
            filter: also.or_else(|| self.expression.clone()),
            duration: self
                .lasting
                .map(|ns| Duration::from_nanos(ns.unsigned_abs())),
            ..usual
        })?;
        let became = interface.give_up_rights(self.user.as_deref(), folder, connect)?;
        if let Some(path) = write {
            Replacement::unnamed(path, "--write").map_err(|why| match became {
                Some(user) => anyhow::anyhow!(
                    "{why}, or with -Z a user who may write there: root has become {user}"
                ),
                None => why.into(),
            })?;
        }
        Ok(Some(interface))
    }

    /// Begins to capture, if that is asked for; Ctrl-C and SIGTERM then end the capture, a second one
    /// the program.
    pub(crate) fn open(&self) -> anyhow::Result<Option<Interface>> {
        anyhow::ensure!(
            self.interface.is_some() || self.lasting.is_none(),
            "--for says how long an interface is captured from; name one with --interface"
        );
        let Some(interface) = self.open_for(None, None, None, None)? else {
            return Ok(None);
        };
        on_signals(&interface.stopper()).context("cannot wait for Ctrl-C; use --for")?;
        Ok(Some(interface))
    }
}

fn on_signals(stop: &Stop) -> io::Result<()> {
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register_conditional_shutdown(signal, 2, stop.flag())?;
        signal_hook::flag::register(signal, stop.flag())?;
    }
    Ok(())
}

fn expression(text: &str) -> Result<Expression, String> {
    text.parse()
        .map_err(|refused: interface::Refused| refused.to_string())
}
