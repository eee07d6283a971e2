//! What is asked over the loopback, and what is answered.

use super::*;
use std::io::{Read, Write};
use std::net::Shutdown;

const TYPE: &str = "text/plain";

fn loopback() -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 0))
}

/// Answers with how often the text was made.
fn started(token: Option<&str>) -> SocketAddr {
    let token = token.map(|t| Token::new(t.as_bytes()).expect("long enough"));
    let scrape = Scrape::bind(loopback(), token).expect("a port");
    let address = scrape.address();
    let made = AtomicUsize::new(0);
    let make = move || format!("made {}", made.fetch_add(1, Ordering::SeqCst)).into_bytes();
    scrape.answer(TYPE, make).expect("a thread");
    address
}

fn ask(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    // Who is turned away may not get to say a word.
    let _ = stream.write_all(request);
    let _ = stream.shutdown(Shutdown::Write);
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

fn get(address: SocketAddr, path: &str, headers: &str) -> String {
    ask(
        address,
        format!("GET {path} HTTP/1.1\r\nHost: x\r\n{headers}\r\n").as_bytes(),
    )
}

#[test]
fn the_text_is_answered_with_its_length_and_nothing_else_is() {
    let address = started(None);
    let answer = get(address, "/metrics?x=y", "");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(
        head.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"),
        "{head}"
    );
    assert!(head.contains("\r\nContent-Length: 6\r\n"), "{head}");
    assert!(body.starts_with("made "), "{body}");
    let head = ask(address, b"HEAD /metrics HTTP/1.0\r\n\r\n");
    assert!(
        head.starts_with("HTTP/1.1 200") && head.ends_with("\r\n\r\n"),
        "{head}"
    );
    for (request, status) in [
        (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
        (
            b"POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
            "405",
        ),
        (
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            "400",
        ),
        (b"GET /met", "400"),
        (b"", "400"),
    ] {
        let answer = ask(address, request);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
    }
    let long = format!("/{}", "x".repeat(2 * HEAD_BYTES));
    assert!(!get(address, &long, "").contains("200 OK"));
    let many = "a: b\r\n".repeat(200);
    assert!(get(address, "/metrics", &many).starts_with("HTTP/1.1 431 "));
}

#[test]
fn who_does_not_bring_the_token_learns_nothing() {
    let address = started(Some("0123456789abcdef\n"));
    for headers in [
        "",
        "Authorization: Bearer 0123456789abcdeX\r\n",
        "Authorization: Bearer \r\n",
        "Authorization: Basic 0123456789abcdef\r\n",
        "X: Bearer 0123456789abcdef\r\n",
    ] {
        for path in ["/metrics", "/other"] {
            let answer = get(address, path, headers);
            assert!(answer.starts_with("HTTP/1.1 401 "), "{headers}: {answer}");
            assert!(answer.contains("\r\nWWW-Authenticate: Bearer\r\n"));
            assert!(!answer.contains("made "));
        }
    }
    let answer = get(
        address,
        "/metrics",
        "authorization: bearer 0123456789abcdef\r\n",
    );
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
}

#[test]
fn others_can_reach_it_with_a_token_only() {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    let error = Scrape::bind(any, None).expect_err("open to all");
    assert!(matches!(error, ScrapeError::Open(_)), "{error}");
    let token = Token::new(b"0123456789abcdef").expect("long enough");
    assert!(Scrape::bind(any, Some(token)).is_ok());
    let mapped: SocketAddr = "[::ffff:127.0.0.1]:0".parse().expect("an address");
    assert!(!matches!(
        Scrape::bind(mapped, None),
        Err(ScrapeError::Open(_))
    ));
    for short in [
        "",
        "  0123456789abcde  ",
        "0123456789 abcdef",
        "0123456789\nabcdef",
    ] {
        assert!(Token::new(short.as_bytes()).is_err(), "{short}");
    }
}

#[test]
fn many_who_ask_at_once_share_one_text() {
    let address = started(None);
    let answers: Vec<String> = (0..20).map(|_| get(address, "/metrics", "")).collect();
    let made = answers.iter().filter_map(|a| a.rsplit_once("made "));
    let most: usize = made
        .map(|(_, n)| n.parse().expect("a number"))
        .max()
        .expect("some");
    assert!(most < 19, "made {most} times");
}

#[test]
fn beyond_so_many_connections_others_are_turned_away_until_one_ends() {
    let address = started(None);
    let silent: Vec<_> = (0..CONNECTIONS)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    assert_eq!(get(address, "/metrics", ""), "");
    drop(silent);
    while get(address, "/metrics", "").is_empty() {
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn any_bytes_are_a_request_or_none() {
    let mut state = 1_u64;
    let mut bytes = Vec::new();
    for _ in 0..2_000 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        bytes.push((state >> 56) as u8);
        let _ = request::parse(&bytes);
        let mut behind = b"GET /metrics HTTP/1.1\r\n".to_vec();
        behind.extend(bytes.iter().rev().take(64));
        behind.extend(b"\r\n\r\n");
        let _ = request::parse(&behind);
    }
}
