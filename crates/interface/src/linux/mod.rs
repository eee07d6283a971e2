//! An interface's packet socket (packet(7)) into pcapng.
//!
//! A packet is received by a system call of its own and copied twice, into the block and out of it. A ring
//! shared with the kernel (`PACKET_RX_RING`) would save the call, for code over memory that somebody else
//! writes to, which the compiler cannot judge. docs/interfaces.md says what rates that carries.

mod control;
mod framing;
mod privilege;
mod sys;

use crate::filter::{self, Expression};
use crate::{Error, HEART_BEAT, Options, Stop};
use capture::{PacketBlock, PcapNgWriter};
use control::{BesidePacket, CONTROL_BYTES};
use framing::Framing;
use model::Time;
use rustix::net::netdevice::name_to_index;
use socket2::{Domain, Socket, Type};
use std::fs;
use std::io::{self, ErrorKind, Read};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Every interface.
const ANY: &str = "any";

/// Bytes after which packets are handed on though more are there.
const PIECE_BYTES: usize = 256 << 10;

/// Longest packet that Linux gives: BIG TCP's super-segments, with their headers.
const LONGEST_BYTES: usize = 524_288 + 512;

/// A packet socket, read as pcapng.
#[derive(Debug)]
pub struct Interface {
    name: String,
    socket: Socket,
    framing: Framing,
    snaplen: u32,
    stop: Stop,
    /// When to end by itself.
    until: Option<Instant>,
    state: State,
    writer: PcapNgWriter<Vec<u8>>,
    /// Where what is not yet handed on begins in the writer's bytes.
    at: usize,
    buffer: Box<[u8]>,
    frame: Vec<u8>,
    received: u64,
    dropped: u64,
    /// When the last statistics were written.
    told: Instant,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Open,
    /// What came before this is still read.
    Ending(Time),
    /// The interface is no more, which the reader is not told yet.
    Gone,
    Ended,
}

impl Interface {
    /// Begins to capture.
    ///
    /// # Errors
    /// Where it is not allowed or not possible, with the cure.
    pub fn open(options: &Options) -> Result<Interface, Error> {
        let name = options.name.as_str();
        let fail = |doing| {
            move |error: io::Error| match error.raw_os_error() {
                Some(libc::EPERM | libc::EACCES) => not_allowed(name),
                Some(libc::ENODEV | libc::ENXIO) => no_such(name),
                Some(libc::ENETDOWN) => Error::Down {
                    name: name.to_owned(),
                },
                _ => Error::System {
                    name: name.to_owned(),
                    doing,
                    error,
                },
            }
        };
        // Without a protocol nothing comes until all is set and the socket bound.
        let raw = Socket::new(Domain::PACKET, Type::RAW, None).map_err(fail("packet socket"))?;
        let (index, hardware) = if name == ANY {
            // Each packet has its interface's own, so that none has a header of its own in the file.
            (0, u16::MAX)
        } else {
            let index = name_to_index(&raw, name).map_err(|_| no_such(name))?;
            // Bound without a protocol it receives nothing, and tells of the interface.
            sys::bind(&raw, index, false).map_err(fail("bind"))?;
            let of = sys::bound(&raw).map_err(fail("hardware type"))?;
            (index, of.hardware)
        };
        let framing = Framing::of(hardware);
        let socket = if framing.has_header() {
            raw
        } else {
            Socket::new(Domain::PACKET, Type::DGRAM, None).map_err(fail("packet socket"))?
        };
        sys::tell_more(&socket).map_err(fail("PACKET_AUXDATA"))?;
        set_buffer(&socket, options.buffer).map_err(fail("receive buffer"))?;
        socket
            .set_read_timeout(Some(HEART_BEAT))
            .map_err(fail("read timeout"))?;
        let kept = options.snaplen.saturating_sub(framing.added()).max(1);
        let all = Expression::all();
        let expression = options.filter.as_ref().unwrap_or(&all);
        // Packets of the loopback pass it twice, as they leave and as they come back.
        let twice = name == ANY || hardware == libc::ARPHRD_LOOPBACK;
        let program = expression.program(framing.layout(), kept, twice)?;
        socket
            .attach_filter(&filter::attachable(&program))
            .map_err(fail("filter"))?;
        if options.promiscuous && index != 0 {
            sys::promiscuous(&socket, index).map_err(fail("promiscuous mode"))?;
        }
        sys::bind(&socket, index, true).map_err(fail("bind"))?;
        if let Some(error) = socket.take_error().map_err(fail("bind"))? {
            return Err(fail("bind")(error));
        }
        let snaplen = options.snaplen.max(1);
        let writer = begin(name, framing, snaplen).map_err(fail("memory"))?;
        Ok(Interface {
            name: name.to_owned(),
            socket,
            framing,
            snaplen,
            stop: Stop::default(),
            until: options
                .duration
                .and_then(|duration| Instant::now().checked_add(duration)),
            state: State::Open,
            writer,
            at: 0,
            buffer: vec![0; LONGEST_BYTES.min(snaplen as usize)].into_boxed_slice(),
            frame: Vec::new(),
            received: 0,
            dropped: 0,
            told: Instant::now(),
        })
    }

    /// Gives up all rights that the process has, as none is needed any more: root becomes `user`, or nobody where none is
    /// said; `root` keeps them. Files may be written below `folder`, if anywhere, and connections be made to port `connect`
    /// of others, if to any. Before there is a second thread. Gives the
    /// name of the user that it became.
    ///
    /// # Errors
    /// Where `user` is not known, or the process may not become it.
    pub fn give_up_rights(
        &self,
        user: Option<&str>,
        folder: Option<&Path>,
        connect: Option<u16>,
    ) -> Result<Option<String>, Error> {
        privilege::give_up(user, folder, connect)
    }

    /// What ends the capture.
    #[must_use]
    pub fn stopper(&self) -> Stop {
        self.stop.clone()
    }

    /// Waits until there is something to hand on, or for a while.
    fn wait(&mut self) -> io::Result<()> {
        if self.stop.asked() || self.until.is_some_and(|until| Instant::now() >= until) {
            self.state = State::Ending(now());
            return Ok(());
        }
        match self.receive(false) {
            Ok(_) => {
                self.receive_more(Time::MAX)?;
            }
            Err(e) => match e.kind() {
                ErrorKind::Interrupted => {}
                // The kernel tells of the end once, as it takes the interface down, when it may still be there.
                ErrorKind::WouldBlock | ErrorKind::NetworkDown => self.end_if_removed()?,
                _ => return Err(e),
            },
        }
        if self.told.elapsed() >= HEART_BEAT {
            self.statistics()?;
        }
        Ok(())
    }

    /// Receives what is there already, up to a packet that is not before `until`; whether there may be more.
    fn receive_more(&mut self, until: Time) -> io::Result<bool> {
        while self.writer.out().len() < PIECE_BYTES {
            match self.receive(true) {
                Ok(time) if time >= until => return Ok(false),
                Ok(_) => {}
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(false),
                Err(e) if e.kind() == ErrorKind::NetworkDown => {
                    self.end_if_removed()?;
                    return Ok(false);
                }
                Err(e) => return Err(e),
            }
        }
        Ok(true)
    }

    /// Receives a packet and writes it; gives its time.
    fn receive(&mut self, at_once: bool) -> io::Result<Time> {
        let mut control = [0; CONTROL_BYTES];
        let got = sys::receive(&self.socket, &mut self.buffer, &mut control, at_once)?;
        let beside = BesidePacket::of(control.get(..got.control).unwrap_or_default());
        let bytes = self.buffer.get(..got.bytes).unwrap_or_default();
        let time = beside.time.unwrap_or_else(now);
        let longer = self
            .framing
            .frame(bytes, &got.from, beside.tag, &mut self.frame);
        self.frame.truncate(self.snaplen as usize);
        self.writer.packet(&PacketBlock {
            interface: 0,
            time,
            bytes: &self.frame,
            length: beside
                .length
                .unwrap_or(got.bytes as u32)
                .saturating_add(longer),
            flags: None,
            comments: &[],
        })?;
        Ok(time)
    }

    /// The kernel's counters begin anew whenever they are read.
    fn statistics(&mut self) -> io::Result<()> {
        let since = sys::statistics(&self.socket)?;
        self.received += u64::from(since.packets);
        self.dropped += u64::from(since.drops);
        self.told = Instant::now();
        self.writer
            .statistics(0, now(), self.received, self.dropped)
    }

    /// An interface that is down may come up again and is waited for, one that was removed is not. Of the
    /// latter the kernel has unbound the socket, which a new name or a new interface of the same name do not.
    fn end_if_removed(&mut self) -> io::Result<()> {
        if sys::bound(&self.socket)?.interface == sys::UNBOUND {
            self.state = State::Gone;
        }
        Ok(())
    }
}

impl Read for Interface {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let ready = self.writer.out();
            let rest = ready.get(self.at..).unwrap_or_default();
            if !rest.is_empty() || into.is_empty() {
                let n = rest.len().min(into.len());
                if let (Some(into), Some(rest)) = (into.get_mut(..n), rest.get(..n)) {
                    into.copy_from_slice(rest);
                }
                self.at += n;
                return Ok(n);
            }
            ready.clear();
            self.at = 0;
            match self.state {
                State::Open => self.wait()?,
                State::Ending(at) => {
                    if !self.receive_more(at)? {
                        self.statistics()?;
                        self.state = State::Ended;
                        self.end_if_removed()?;
                    }
                }
                State::Gone => {
                    self.state = State::Ended;
                    let text = format!("the interface {} was removed", self.name);
                    return Err(io::Error::new(ErrorKind::NotConnected, text));
                }
                State::Ended => return Ok(0),
            }
        }
    }
}

/// The start of the file.
fn begin(name: &str, framing: Framing, snaplen: u32) -> io::Result<PcapNgWriter<Vec<u8>>> {
    let application = concat!("slowside ", env!("CARGO_PKG_VERSION"));
    let mut writer = PcapNgWriter::new(Vec::new(), application, "")?;
    writer.interface(&capture::Interface {
        link_type: framing.link_type(),
        snaplen,
        name,
        description: "",
    })?;
    Ok(writer)
}

/// As large as is asked for where that is allowed, or as the system allows.
fn set_buffer(socket: &Socket, bytes: usize) -> io::Result<()> {
    // The kernel counts in an int, and doubles what it is told.
    let bytes = bytes.min(1 << 30) / 2;
    match rustix::net::sockopt::set_socket_recv_buffer_size_force(socket, bytes) {
        Ok(()) => Ok(()),
        Err(_) => socket.set_recv_buffer_size(bytes),
    }
}

fn now() -> Time {
    let since = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or(Duration::ZERO);
    Time(i64::try_from(since.as_nanos()).unwrap_or(i64::MAX))
}

fn not_allowed(name: &str) -> Error {
    let program = std::env::current_exe()
        .map_or_else(|_| "slowside".to_owned(), |path| path.display().to_string());
    Error::NotAllowed {
        name: name.to_owned(),
        program,
    }
}

fn no_such(name: &str) -> Error {
    // A line for each interface, behind two of headings; those of the process's own network namespace.
    let table = fs::read_to_string("/proc/net/dev").unwrap_or_default();
    let names = table.lines().filter_map(|line| line.split_once(':'));
    let mut there: Vec<_> = names.map(|(name, _)| name.trim().to_owned()).collect();
    there.push(ANY.to_owned());
    Error::NoSuchInterface {
        name: name.to_owned(),
        there,
    }
}
