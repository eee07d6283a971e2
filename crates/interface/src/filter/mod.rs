//! Expressions of tcpdump's filter language (pcap-filter(7)) into classic BPF programs, which the kernel
//! runs on each packet before it copies it: the part of the language that captures are narrowed by.
//!
//! `words` → `parse` → [`Shape`] of primitives → `lower` to tests of single fields → `program`.
//!
//! Own code: `pcap` and `libpcap` need the C library, `pktbaffle` 0.1 is the only other one (one release,
//! no users, and what it does with VLAN tags that the kernel took off is not what libpcap does). Meaning
//! is libpcap's, quirks too, as everybody knows it: tests compare with tcpdump.

mod lower;
mod parse;
mod program;
mod shape;
#[cfg(test)]
mod tests;
mod words;

pub use program::Instruction;
use shape::{Primitive, Shape};
use std::fmt;
use std::str::FromStr;

/// Longest expression, bytes. libpcap has no bound; the kernel takes 4,096 instructions.
const LONGEST: usize = 16 << 10;

/// What can be said, for messages.
const SUPPORTED: &str = "[src|dst] host ADDRESS, net NETWORK[/BITS], port N, portrange A-B; \
    tcp, udp, sctp, icmp, icmp6, arp, rarp, ip, ip6, vlan [ID]; and, or, not, ( )";

/// What a program sees of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A frame from its Ethernet header on.
    Ethernet,
    /// A packet from its network header on; the kernel knows its protocol.
    Network,
}

/// A filter that was understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expression {
    text: String,
    /// None: all packets.
    shape: Option<Shape<Primitive>>,
}

/// Why a filter is not taken: one line.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("column {column}: {what}")]
pub struct Refused {
    /// Of the character, from 1.
    pub column: usize,
    pub what: String,
}

impl Expression {
    /// That which all packets meet.
    #[must_use]
    pub fn all() -> Expression {
        Expression {
            text: String::new(),
            shape: None,
        }
    }

    /// The program that accepts the packets of the expression and keeps `snaplen` bytes of each. With
    /// `twice`, packets that leave through the loopback are left out, as they come back through it.
    ///
    /// # Errors
    /// When what is asked cannot be seen in this layout, or the program is too long for the kernel.
    pub fn program(
        &self,
        layout: Layout,
        snaplen: u32,
        twice: bool,
    ) -> Result<Vec<Instruction>, Refused> {
        let lowered = lower::lower(self.shape.as_ref(), layout, twice)?;
        program::program(lowered.as_ref(), snaplen).ok_or_else(|| Refused {
            column: 1,
            what: "this makes a longer program than the kernel takes (4,096 instructions)"
                .to_owned(),
        })
    }
}

impl FromStr for Expression {
    type Err = Refused;

    fn from_str(text: &str) -> Result<Expression, Refused> {
        if text.len() > LONGEST {
            return Err(Refused {
                column: LONGEST + 1,
                what: format!("longer than {LONGEST} bytes"),
            });
        }
        Ok(Expression {
            text: text.to_owned(),
            shape: parse::parse(text)?,
        })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// As sockets take it.
#[cfg(target_os = "linux")]
pub(crate) fn attachable(program: &[Instruction]) -> Vec<socket2::SockFilter> {
    program
        .iter()
        .map(|i| socket2::SockFilter::new(i.code, i.yes, i.no, i.value))
        .collect()
}
