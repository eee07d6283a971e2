//! A text that changes into answers over HTTP (RFC 9112), for programs that ask for it again and again, such as
//! Prometheus.
//!
//! It may be left running where strangers can reach it. A request has [`HEAD_BYTES`] and [`ASKING`], an answer
//! [`ANSWERING`], one of each a connection; [`CONNECTIONS`] at a time, and beyond them the oldest way to say no. However
//! many ask, the text is made once in [`FRESH`]: that bounds what asking costs. Who has no [`Token`] where one is
//! needed is told nothing. On addresses that others can reach one is needed.
//!
//! Own code, as a listener that bounds connections, sizes and times is what servers for applications are not
//! (tiny_http has no timeouts and as many threads as there are connections); requests are parsed by hyper's parser.

#![warn(clippy::indexing_slicing)]

mod answer;
mod request;
mod token;

pub use token::Token;

use answer::Status;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};
use thiserror::Error;

/// The longest request, body excluded: nobody who scrapes sends one.
pub(crate) const HEAD_BYTES: usize = 8 << 10;
/// How long a request may take, and an answer.
pub(crate) const ASKING: Duration = Duration::from_secs(5);
pub(crate) const ANSWERING: Duration = Duration::from_secs(20);
/// Connections at a time, each of which has a thread.
pub(crate) const CONNECTIONS: usize = 16;
/// For so long what was made for one is given to others.
const FRESH: Duration = Duration::from_millis(250);
/// Threads here need little, but for what makes the text.
const STACK_BYTES: usize = 512 << 10;

/// Why nothing can be asked for.
#[derive(Debug, Error)]
pub enum ScrapeError {
    #[error("cannot listen at {address}: {error}; name another ADDRESS:PORT of this host")]
    Bind {
        address: SocketAddr,
        error: io::Error,
    },
    #[error("no thread is to be had to answer with: {0}")]
    Thread(io::Error),
    #[error("{0} can be reached by others, who would see names and load")]
    Open(SocketAddr),
    #[error(
        "a token has {} characters at least, none of them a space or control character",
        token::LEAST_BYTES
    )]
    Token,
}

/// Makes the text.
pub type Make = dyn Fn() -> Vec<u8> + Send + Sync;

/// Bound to its address, and not yet answering: what it takes to be bound may be given up then.
#[derive(Debug)]
pub struct Scrape {
    listener: TcpListener,
    address: SocketAddr,
    token: Option<Token>,
}

/// What the threads share.
struct Shared {
    make: Box<Make>,
    content_type: &'static str,
    token: Option<Token>,
    /// What was made last, and when.
    made: Mutex<Option<(Instant, Arc<[u8]>)>>,
    connections: AtomicUsize,
}

impl Scrape {
    /// Binds the address.
    ///
    /// # Errors
    /// When it cannot be had, or others can reach it and there is no token.
    pub fn bind(address: SocketAddr, token: Option<Token>) -> Result<Scrape, ScrapeError> {
        if token.is_none() && !address.ip().to_canonical().is_loopback() {
            return Err(ScrapeError::Open(address));
        }
        let failed = |error| ScrapeError::Bind { address, error };
        let listener = TcpListener::bind(address).map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Scrape {
            listener,
            address,
            token,
        })
    }

    /// With the port that was found where none was named.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers with what `make` makes, from now on and as long as the process lives.
    ///
    /// # Errors
    /// When there is no thread for it.
    pub fn answer(
        self,
        content_type: &'static str,
        make: impl Fn() -> Vec<u8> + Send + Sync + 'static,
    ) -> Result<(), ScrapeError> {
        let shared = Arc::new(Shared {
            make: Box::new(make),
            content_type,
            token: self.token,
            made: Mutex::new(None),
            connections: AtomicUsize::new(0),
        });
        let listener = self.listener;
        let accepting = thread::Builder::new().name("scrape".to_owned());
        let started = accepting.spawn(move || accept(&listener, &shared));
        started.map(drop).map_err(ScrapeError::Thread)
    }
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Too many files are open, or whoever asked has gone: neither is worth a busy loop.
            thread::sleep(Duration::from_millis(50));
            continue;
        };
        let place = Place::take(shared);
        let serving = move |place: &Place| serve(&stream, &place.0);
        match place {
            // Closed: a word could take as long as a request.
            None => {}
            Some(place) => {
                let thread = thread::Builder::new().stack_size(STACK_BYTES);
                let _ = thread.spawn(move || serving(&place));
            }
        }
    }
}

/// One of a bounded number of connections, given back when it is dropped.
struct Place(Arc<Shared>);

impl Place {
    fn take(shared: &Arc<Shared>) -> Option<Place> {
        let taken = shared.connections.fetch_add(1, Ordering::AcqRel);
        // Gives back what was not to be had, too.
        let place = Place(Arc::clone(shared));
        (taken < CONNECTIONS).then_some(place)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::AcqRel);
    }
}

/// The status code (RFC 9110 section 15) that a request of these bytes is answered with; `None` while there must come
/// more of it.
#[must_use]
pub fn status_code(head: &[u8], token: Option<&Token>) -> Option<u16> {
    request::parse(head).map(|asked| status(asked.as_ref(), token).code())
}

/// One request and its answer. Who goes away meanwhile is nobody's problem.
fn serve(stream: &TcpStream, shared: &Shared) {
    let asked = request::read(stream, Instant::now() + ASKING);
    let until = Instant::now() + ANSWERING;
    let status = status(asked.as_ref(), shared.token.as_ref());
    let text = match status {
        Status::Ok => shared.text(),
        refused => refused.text().as_bytes().into(),
    };
    let is_head = asked.is_ok_and(|asked| asked.is_head);
    let _ = answer::write(stream, status, shared.content_type, &text, is_head, until);
}

fn status(asked: Result<&request::Asked, &Status>, token: Option<&Token>) -> Status {
    asked.map_or_else(|refused| *refused, |asked| judge(asked, token))
}

/// The token first: who has none learns nothing, not even what there is.
fn judge(asked: &request::Asked, token: Option<&Token>) -> Status {
    let knows = token.is_none_or(|token| asked.bearer.as_deref().is_some_and(|b| token.is(b)));
    match (knows, asked.is_get || asked.is_head, asked.path.as_str()) {
        (false, ..) => Status::Unauthorized,
        (_, false, _) => Status::MethodNotAllowed,
        (_, _, "/metrics") => Status::Ok,
        _ => Status::NotFound,
    }
}

impl Shared {
    /// Made by one for all who ask meanwhile.
    fn text(&self) -> Arc<[u8]> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((when, text)) = made.as_ref()
            && when.elapsed() < FRESH
        {
            return Arc::clone(text);
        }
        let text: Arc<[u8]> = (self.make)().into();
        *made = Some((Instant::now(), Arc::clone(&text)));
        text
    }
}

#[cfg(test)]
mod tests;
