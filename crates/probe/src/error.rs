//! Why a measurement could not be made, each with its cure.

use std::io;
use std::net::SocketAddr;
use thiserror::Error;

#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    #[error("cannot find {target}; give HOST:PORT, such as 10.0.0.5:5201")]
    Name {
        target: String,
        #[source]
        source: io::Error,
    },
    #[error("{0} has no address; give HOST:PORT, such as 10.0.0.5:5201")]
    NoAddress(String),
    #[error(
        "{0} refuses connections: nothing listens there, or a firewall rejects it; check the port, \
         or start `slowside probe --listen` on that host"
    )]
    Refused(SocketAddr),
    #[error(
        "{address} does not answer within {seconds} s; check the address, and the firewalls between"
    )]
    Silent { address: SocketAddr, seconds: u64 },
    #[error("cannot connect to {address}; check the address and the route")]
    Connect {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error(
        "what listens at {0} is no slowside listener; start one with `slowside probe --listen`, or \
         measure connecting alone with --connect-only"
    )]
    NotAListener(SocketAddr),
    #[error(
        "the listener at {address} speaks version {theirs} of the protocol, this program {ours}; use \
         the same slowside on both ends"
    )]
    Version {
        address: SocketAddr,
        theirs: u8,
        ours: u8,
    },
    #[error(
        "the listener at {0} has another token; give the file it was started with as --token-file"
    )]
    WrongToken(SocketAddr),
    #[error("what listens at {0} does not know the token; somebody else may answer in its place")]
    Impostor(SocketAddr),
    #[error(
        "the listener at {0} serves as many connections as it may; try again later, or raise its \
         --max-connections"
    )]
    Busy(SocketAddr),
    #[error(
        "the listener allows {what} of {limit}, not {asked}; lower {here}, or raise its {there}"
    )]
    Beyond {
        what: &'static str,
        limit: String,
        asked: String,
        here: &'static str,
        there: &'static str,
    },
    #[error("{0} answered nothing that could be measured ({1}); see what its listener says")]
    NoAnswers(SocketAddr, String),
    #[error("a token has at least 16 bytes; `openssl rand -hex 16` makes one")]
    ShortToken,
    #[error("the system has no random numbers ({0}); look at /dev/urandom")]
    NoRandom(String),
    #[error("cannot listen at {address}; give an address of this host and a free port")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("cannot set the socket's options ({0}); leave out --send-buffer and --receive-buffer")]
    Options(#[source] io::Error),
    #[error("the connection to {address} failed; try again")]
    Broken {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error("cannot start a thread ({0}); close what else runs")]
    Thread(#[source] io::Error),
}
