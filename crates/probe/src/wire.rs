//! The probe's wire format: bytes into plain values and back. All numbers are big-endian.
//!
//! ```text
//! client                                   listener
//!   Hello      32  magic version nonce  ──►
//!              ◄──  Challenge  32  magic version nonce
//!   Proof      96  proof, wishes        ──►
//!              ◄──  Welcome    96  status, limits, options, host, proof
//!   Request    16 + padding             ──►   any number of times,
//!              ◄──  Response   32 + padding   answered in order
//! ```
//!
//! The client speaks first and gets no more than it sent until it has shown that it knows the
//! token; after that a response is as long as the request asks, up to the listener's limit. The
//! proofs are HMAC-SHA-256 over both nonces, so that the token itself never crosses, and over what
//! is asked or granted, so that nobody between changes it. What follows is not protected: it is
//! padding.
//!
//! Nothing is allocated by a length that was read.

use crate::results::SocketOptions;

pub(crate) const VERSION: u8 = 1;
const CLIENT_MAGIC: [u8; 8] = *b"slowside";
const LISTENER_MAGIC: [u8; 8] = *b"SLOWSIDE";

pub(crate) const HELLO_BYTES: usize = 32;
pub(crate) const PROOF_BYTES: usize = 96;
pub(crate) const WELCOME_BYTES: usize = 96;
/// The header of a request, which is the shortest one, in bytes.
pub(crate) const REQUEST_BYTES: u32 = 16;
/// The header of a response, which is the shortest one, in bytes.
pub(crate) const RESPONSE_BYTES: u32 = 32;

pub(crate) type Nonce = [u8; 16];
pub(crate) type Mac = [u8; 32];

/// `Hello` and `Challenge`: who speaks, in which version, and a number used once.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Greeting {
    pub(crate) version: u8,
    pub(crate) nonce: Nonce,
}

/// Which of the two greets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Client,
    Listener,
}

impl Greeting {
    pub(crate) fn encode(&self, end: End) -> [u8; HELLO_BYTES] {
        let mut out = Writer::<HELLO_BYTES>::new();
        out.put(match end {
            End::Client => &CLIENT_MAGIC,
            End::Listener => &LISTENER_MAGIC,
        });
        out.put(&[self.version, 0, 0, 0, 0, 0, 0, 0]);
        out.put(&self.nonce);
        out.bytes
    }

    /// `None` for anything that is not this end's greeting. What is reserved is not looked at: later
    /// versions may use it.
    pub(crate) fn decode(bytes: &[u8; HELLO_BYTES], end: End) -> Option<Greeting> {
        let mut r = Reader(bytes);
        let magic: [u8; 8] = r.take()?;
        let expected = match end {
            End::Client => CLIENT_MAGIC,
            End::Listener => LISTENER_MAGIC,
        };
        if magic != expected {
            return None;
        }
        let [version, ..]: [u8; 8] = r.take()?;
        let nonce = r.take()?;
        Some(Greeting { version, nonce })
    }
}

/// What the client asks of a session, and the proof that it may. As long as the answer, [`Welcome`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Proof {
    pub(crate) mac: Mac,
    pub(crate) wishes: Wishes,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wishes {
    /// Socket options of the listener's end; a buffer of 0 is the system's choice.
    pub(crate) options: SocketOptions,
    /// How long the session is meant to last, milliseconds.
    pub(crate) duration_ms: u32,
}

impl Wishes {
    /// The bytes that the proof is over, and which stand behind it.
    pub(crate) fn encode(&self) -> [u8; 32] {
        let mut out = Writer::<32>::new();
        out.put_options(&self.options);
        out.put_u32(self.duration_ms);
        out.bytes
    }

    fn decode(r: &mut Reader<'_>) -> Option<Wishes> {
        Some(Wishes {
            options: r.options()?,
            duration_ms: r.u32()?,
        })
    }
}

impl Proof {
    pub(crate) fn encode(&self) -> [u8; PROOF_BYTES] {
        let mut out = Writer::<PROOF_BYTES>::new();
        out.put(&self.mac);
        out.put(&self.wishes.encode());
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8; PROOF_BYTES]) -> Option<Proof> {
        let mut r = Reader(bytes);
        Some(Proof {
            mac: r.take()?,
            wishes: Wishes::decode(&mut r)?,
        })
    }
}

/// Whether the session begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Status {
    Go,
    /// Nothing else is told.
    WrongToken,
    /// As many sessions as are allowed are open.
    Busy,
}

/// The listener's answer to a proof: its limits, the options it has set, its host, and its own
/// proof, over all of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Welcome {
    pub(crate) status: Status,
    pub(crate) grant: Grant,
    pub(crate) mac: Mac,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Grant {
    /// The longest request or response, bytes.
    pub(crate) size: u32,
    /// Exchanges per second of all sessions together.
    pub(crate) rate: u32,
    /// Of all sessions together, both directions, bits per second.
    pub(crate) bandwidth_bps: u64,
    /// Of a session, milliseconds.
    pub(crate) duration_ms: u32,
    pub(crate) connections: u32,
    pub(crate) options: SocketOptions,
    /// 0: unknown.
    pub(crate) cpus: u32,
    /// Processes that ran or waited for a CPU, average of the last minute, in hundredths;
    /// `u32::MAX`: unknown.
    pub(crate) load_hundredths: u32,
}

impl Welcome {
    pub(crate) fn encode(&self) -> [u8; WELCOME_BYTES] {
        let mut out = Writer::<WELCOME_BYTES>::new();
        out.put(&self.encode_signed());
        out.put(&self.mac);
        out.bytes
    }

    /// The bytes that the listener's proof is over.
    pub(crate) fn encode_signed(&self) -> [u8; 64] {
        let mut out = Writer::<64>::new();
        let status = match self.status {
            Status::Go => 0,
            Status::WrongToken => 1,
            Status::Busy => 2,
        };
        out.put(&[status, 0, 0, 0]);
        let g = &self.grant;
        out.put_u32(g.size);
        out.put_u32(g.rate);
        out.put_u32(g.duration_ms);
        out.put(&g.bandwidth_bps.to_be_bytes());
        out.put_u32(g.connections);
        out.put_options(&g.options);
        out.put_u32(g.cpus);
        out.put_u32(g.load_hundredths);
        out.bytes
    }

    /// `None` for a status that is not known.
    pub(crate) fn decode(bytes: &[u8; WELCOME_BYTES]) -> Option<Welcome> {
        let mut r = Reader(bytes);
        let [status, ..]: [u8; 4] = r.take()?;
        let status = match status {
            0 => Status::Go,
            1 => Status::WrongToken,
            2 => Status::Busy,
            _ => return None,
        };
        let size = r.u32()?;
        let rate = r.u32()?;
        let duration_ms = r.u32()?;
        let bandwidth_bps = u64::from_be_bytes(r.take()?);
        let grant = Grant {
            size,
            rate,
            bandwidth_bps,
            duration_ms,
            connections: r.u32()?,
            options: r.options()?,
            cpus: r.u32()?,
            load_hundredths: r.u32()?,
        };
        let _reserved: [u8; 16] = r.take()?;
        let mac = r.take()?;
        Some(Welcome { status, grant, mac })
    }
}

/// The start of a request; `request_bytes` counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Request {
    pub(crate) request_bytes: u32,
    /// How long the response is to be, its header included.
    pub(crate) response_bytes: u32,
    pub(crate) sequence: u64,
}

impl Request {
    pub(crate) fn encode(&self) -> [u8; REQUEST_BYTES as usize] {
        let mut out = Writer::<{ REQUEST_BYTES as usize }>::new();
        out.put_u32(self.request_bytes);
        out.put_u32(self.response_bytes);
        out.put(&self.sequence.to_be_bytes());
        out.bytes
    }

    /// `None` for sizes that hold no header or are larger than `limit`.
    pub(crate) fn decode(bytes: &[u8; REQUEST_BYTES as usize], limit: u32) -> Option<Request> {
        let mut r = Reader(bytes);
        let request = Request {
            request_bytes: r.u32()?,
            response_bytes: r.u32()?,
            sequence: u64::from_be_bytes(r.take()?),
        };
        let fits = (REQUEST_BYTES..=limit).contains(&request.request_bytes)
            && (RESPONSE_BYTES..=limit).contains(&request.response_bytes);
        fits.then_some(request)
    }
}

/// The start of a response; `response_bytes` counts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Response {
    pub(crate) response_bytes: u32,
    pub(crate) sequence: u64,
    /// From the request's last byte read to just before the response's first is written.
    pub(crate) service_ns: u64,
    /// How much of it the listener's limits held the response.
    pub(crate) held_ns: u64,
}

impl Response {
    pub(crate) fn encode(&self) -> [u8; RESPONSE_BYTES as usize] {
        let mut out = Writer::<{ RESPONSE_BYTES as usize }>::new();
        out.put_u32(self.response_bytes);
        out.put_u32(0);
        out.put(&self.sequence.to_be_bytes());
        out.put(&self.service_ns.to_be_bytes());
        out.put(&self.held_ns.to_be_bytes());
        out.bytes
    }

    pub(crate) fn decode(bytes: &[u8; RESPONSE_BYTES as usize]) -> Option<Response> {
        let mut r = Reader(bytes);
        let response_bytes = r.u32()?;
        let _reserved = r.u32()?;
        Some(Response {
            response_bytes,
            sequence: u64::from_be_bytes(r.take()?),
            service_ns: u64::from_be_bytes(r.take()?),
            held_ns: u64::from_be_bytes(r.take()?),
        })
    }
}

/// Reads bytes as each of the messages in turn and writes them again, for fuzzing: what was written is read as
/// it was.
#[doc(hidden)]
pub fn read_as_each(bytes: &[u8], limit: u32) {
    fn again<T: PartialEq + std::fmt::Debug>(read: Option<T>, write: impl Fn(&T) -> Option<T>) {
        if let Some(message) = read {
            assert_eq!(write(&message).as_ref(), Some(&message));
        }
    }
    if let Some(bytes) = bytes.first_chunk() {
        again(Request::decode(bytes, limit), |r| {
            Request::decode(&r.encode(), limit)
        });
    }
    if let Some(bytes) = bytes.first_chunk() {
        again(Response::decode(bytes), |r| Response::decode(&r.encode()));
        for end in [End::Client, End::Listener] {
            again(Greeting::decode(bytes, end), |g| {
                Greeting::decode(&g.encode(end), end)
            });
        }
    }
    if let Some(bytes) = bytes.first_chunk() {
        again(Proof::decode(bytes), |p| Proof::decode(&p.encode()));
        again(Welcome::decode(bytes), |w| Welcome::decode(&w.encode()));
    }
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*head)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn options(&mut self) -> Option<SocketOptions> {
        let [nodelay, ..]: [u8; 4] = self.take()?;
        Some(SocketOptions {
            nodelay: nodelay != 0,
            send_buffer: self.u32()?,
            receive_buffer: self.u32()?,
        })
    }
}

/// A message of a fixed length; what is not written is zero.
struct Writer<const N: usize> {
    bytes: [u8; N],
    at: usize,
}

impl<const N: usize> Writer<N> {
    fn new() -> Self {
        Writer {
            bytes: [0; N],
            at: 0,
        }
    }

    fn put(&mut self, part: &[u8]) {
        for (to, from) in self.bytes.iter_mut().skip(self.at).zip(part) {
            *to = *from;
        }
        self.at += part.len();
        debug_assert!(self.at <= N, "messages have room for their fields");
    }

    fn put_u32(&mut self, value: u32) {
        self.put(&value.to_be_bytes());
    }

    fn put_options(&mut self, options: &SocketOptions) {
        self.put(&[u8::from(options.nodelay), 0, 0, 0]);
        self.put_u32(options.send_buffer);
        self.put_u32(options.receive_buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const OPTIONS: SocketOptions = SocketOptions {
        nodelay: true,
        send_buffer: 0x0001_0203,
        receive_buffer: 0x0405_0607,
    };

    #[test]
    fn greetings_are_these_bytes() {
        let nonce = *b"0123456789abcdef";
        let greeting = Greeting { version: 1, nonce };
        let hello = b"slowside\x01\0\0\0\0\0\0\x000123456789abcdef";
        assert_eq!(&greeting.encode(End::Client), hello);
        assert_eq!(Greeting::decode(hello, End::Client), Some(greeting));
        assert_eq!(Greeting::decode(hello, End::Listener), None);
        let challenge = b"SLOWSIDE\x01\0\0\0\0\0\0\x000123456789abcdef";
        assert_eq!(&greeting.encode(End::Listener), challenge);
    }

    #[test]
    fn proofs_are_these_bytes() {
        let wishes = Wishes {
            options: OPTIONS,
            duration_ms: 11_000,
        };
        let proof = Proof {
            mac: [0xaa; 32],
            wishes,
        };
        let mut bytes = [0; 96];
        bytes[..32].fill(0xaa);
        bytes[32..48]
            .copy_from_slice(b"\x01\0\0\0\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x2a\xf8");
        assert_eq!(proof.encode(), bytes);
        assert_eq!(Proof::decode(&bytes), Some(proof));
    }

    #[test]
    fn welcomes_are_these_bytes() {
        let welcome = Welcome {
            status: Status::Busy,
            grant: Grant {
                size: 0x0020_0000,
                rate: 10_000,
                bandwidth_bps: 1_000_000_000,
                duration_ms: 600_000,
                connections: 16,
                options: OPTIONS,
                cpus: 2,
                load_hundredths: 150,
            },
            mac: [0xbb; 32],
        };
        let mut bytes = [0; 96];
        bytes[..48].copy_from_slice(
            b"\x02\0\0\0\x00\x20\x00\x00\x00\x00\x27\x10\x00\x09\x27\xc0\
              \x00\x00\x00\x00\x3b\x9a\xca\x00\x00\x00\x00\x10\
              \x01\0\0\0\x00\x01\x02\x03\x04\x05\x06\x07\x00\x00\x00\x02\x00\x00\x00\x96",
        );
        bytes[64..].fill(0xbb);
        assert_eq!(welcome.encode(), bytes);
        assert_eq!(Welcome::decode(&bytes), Some(welcome));
        bytes[0] = 9;
        assert_eq!(Welcome::decode(&bytes), None);
    }

    #[test]
    fn requests_are_these_bytes_and_bounded() {
        let request = Request {
            request_bytes: 200,
            response_bytes: 8_192,
            sequence: 7,
        };
        let bytes = *b"\x00\x00\x00\xc8\x00\x00\x20\x00\0\0\0\0\0\0\0\x07";
        assert_eq!(request.encode(), bytes);
        assert_eq!(Request::decode(&bytes, 8_192), Some(request));
        assert_eq!(Request::decode(&bytes, 8_191), None);
        for (request_bytes, response_bytes) in [(15, 100), (100, 31), (u32::MAX, 100), (0, 0)] {
            let wrong = Request {
                request_bytes,
                response_bytes,
                sequence: 0,
            };
            assert_eq!(Request::decode(&wrong.encode(), 1 << 20), None);
        }
    }

    #[test]
    fn responses_are_these_bytes() {
        let response = Response {
            response_bytes: 8_192,
            sequence: 7,
            service_ns: 12_345,
            held_ns: 1,
        };
        let bytes = *b"\x00\x00\x20\x00\0\0\0\0\0\0\0\0\0\0\0\x07\
            \0\0\0\0\0\0\x30\x39\0\0\0\0\0\0\0\x01";
        assert_eq!(response.encode(), bytes);
        assert_eq!(Response::decode(&bytes), Some(response));
    }

    proptest! {
        #[test]
        fn bytes_never_panic(bytes in any::<[[u8; 32]; 3]>(), limit in any::<u32>()) {
            let all = bytes.as_flattened();
            let hello: [u8; 32] = all[..32].try_into().unwrap();
            let _ = Greeting::decode(&hello, End::Client);
            let _ = Greeting::decode(&hello, End::Listener);
            let _ = Response::decode(&hello);
            let _ = Proof::decode(&all.try_into().unwrap());
            let _ = Welcome::decode(&all.try_into().unwrap());
            if let Some(r) = Request::decode(&all[..16].try_into().unwrap(), limit) {
                prop_assert!(r.request_bytes <= limit && r.response_bytes <= limit);
            }
        }

        #[test]
        fn any_message_that_is_read_is_written_as_it_was(bytes in any::<[[u8; 32]; 3]>(), kind in 0u8..3, limit in any::<u32>()) {
            let mut all = bytes.as_flattened().to_vec();
            match kind {
                0 => all[..8].copy_from_slice(&CLIENT_MAGIC),
                1 => all[0] = 0,
                _ => {}
            }
            read_as_each(&all, limit);
        }

        #[test]
        fn what_is_written_is_read(request in any::<(u32, u32, u64, u64)>()) {
            let (a, b, c, d) = request;
            let response = Response { response_bytes: a, sequence: c, service_ns: d, held_ns: u64::from(b) };
            prop_assert_eq!(Response::decode(&response.encode()), Some(response));
        }
    }
}
