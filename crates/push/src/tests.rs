//! Where to, with what, when again, and against listeners of all kinds.

use super::*;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

#[test]
fn urls_are_http_of_a_host() {
    for (text, url) in [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
        ("HTTP://collector:4318/", "http://collector:4318/v1/metrics"),
        ("http://collector", "http://collector:80/v1/metrics"),
        (
            "http://[::1]:9090/api/v1/otlp/v1/metrics",
            "http://[::1]:9090/api/v1/otlp/v1/metrics",
        ),
        ("http://[::1]", "http://[::1]:80/v1/metrics"),
        ("http://h:1?a=b", "http://h:1/?a=b"),
    ] {
        let parsed: Url = text.parse().expect(text);
        assert_eq!(parsed.to_string(), url);
    }
    for text in [
        "",
        "127.0.0.1:4318",
        "ftp://h",
        "http://",
        "http://:4318",
        "http://h:",
        "http://h:0",
        "http://h:65536",
        "http://[::1",
        "http://[h]:1",
        "http://[::1]x:1",
        "http://h/#x",
        "http://h/a b",
        "http://h/\r\nX: y",
        "http://::1:4318",
    ] {
        let error = text.parse::<Url>().expect_err(text);
        assert!(matches!(error, PushError::NoUrl), "{text}: {error}");
    }
    let refused = |text: &str| text.parse::<Url>().expect_err(text).to_string();
    assert!(refused("https://h:4318").contains("proxy"));
    assert!(refused("http://me:secret@h").contains("--otlp-headers"));
}

#[test]
fn headers_are_lines_of_names_and_values() {
    let file =
        b"# of the collector\n\nAuthorization = Bearer a=b:c\r\nX-Scope-OrgID: 7\napi-key=\n";
    let headers = Headers::new(file).expect("headers");
    assert_eq!(
        headers.0,
        "Authorization: Bearer a=b:c\r\nX-Scope-OrgID: 7\r\napi-key: \r\n"
    );
    assert_eq!(format!("{headers:?}"), "Headers");
    for (file, line) in [
        (&b"secret"[..], 1),
        (b"a=b\n=c", 2),
        (b"a b=c", 1),
        (b"a=b\x01c", 1),
        (b"a=\xc3\xa4", 1),
        (b"\xff", 1),
        (b"a=b\nContent-Length: 3", 2),
        (b"HOST=x", 1),
    ] {
        let error = Headers::new(file).expect_err("none");
        assert!(
            matches!(error, PushError::Header(n) if n == line),
            "{error}"
        );
        assert!(!error.to_string().contains("secret"));
    }
}

#[test]
fn answers_are_read_in_any_pieces() {
    let plain = "HTTP/1.1 503 Busy\r\nretry-after: 3\r\nContent-Length: 2\r\n\r\n{}";
    let chunked = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Busy\r\nRetry-After: 3\r\nTransfer-Encoding: chunked\r\n\r\n\
         1\r\n{\r\n1;x=y\r\n}\r\n0\r\n\r\n";
    for text in [plain, chunked] {
        let end = text.find("\r\n0\r\n").map_or(text.len(), |at| at + 5);
        for cut in 0..end {
            assert!(
                http::parse(&text.as_bytes()[..cut], false).is_none(),
                "{cut}"
            );
        }
        let answer = http::parse(text.as_bytes(), false)
            .expect("whole")
            .expect("HTTP");
        assert_eq!((answer.status, answer.body.as_slice()), (503, &b"{}"[..]));
        assert_eq!(answer.retry_after.as_deref(), Some("3"));
    }
    // Until its end.
    let open = b"HTTP/1.0 200 OK\r\n\r\n{";
    assert!(http::parse(open, false).is_none());
    assert_eq!(
        http::parse(open, true).expect("all").expect("HTTP").body,
        b"{"
    );
    assert!(
        http::parse(b"SSH-2.0-OpenSSH\r\n", false)
            .expect("told")
            .is_err()
    );
    // As many as an answer may be long.
    let many = "HTTP/1.1 100 Continue\r\n\r\n".repeat(2_600) + "HTTP/1.1 204 No Content\r\n\r\n";
    let answer = http::parse(many.as_bytes(), false)
        .expect("whole")
        .expect("HTTP");
    assert_eq!(answer.status, 204);
    // A length that nothing can have.
    let huge = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\nx";
    assert_eq!(
        http::parse(huge, true).expect("all").expect("HTTP").body,
        b"x"
    );
}

#[test]
fn after_failures_it_waits_longer_and_after_a_push_as_before() {
    let every = Duration::from_secs(10);
    let mut schedule = Schedule::new(every);
    let later = |after| Verdict::Later {
        after,
        why: String::new(),
    };
    let mut longest = Duration::from_secs(1);
    for _ in 0..40 {
        let wait = schedule.after(&later(None));
        assert!(
            longest / 2 <= wait && wait <= longest,
            "{wait:?} of {longest:?}"
        );
        longest = (longest * 2).min(Duration::from_secs(64));
    }
    assert_eq!(schedule.after(&Verdict::Taken(None)), every);
    assert!(schedule.after(&later(None)) <= Duration::from_secs(1));
    for (asked, given) in [(0, 1), (90, 90), (u64::MAX, 3600)] {
        let wait = schedule.after(&later(Some(Duration::from_secs(asked))));
        assert_eq!(wait, Duration::from_secs(given));
    }
    assert!(Schedule::new(every).after(&Verdict::Refused(String::new())) >= every);
}

/// A collector that gives these answers, one a connection, and what it was asked.
fn collector(answers: &'static [&'static str]) -> (Url, thread::JoinHandle<Vec<String>>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("bound");
    let url = format!("http://{address}").parse().expect("a URL");
    let serving = thread::spawn(move || {
        let answer = |text: &&str| {
            let (mut stream, _) = listener.accept().expect("a client");
            let mut asked = Vec::new();
            let mut piece = [0; 512];
            while !asked.ends_with(b"counted}") {
                let read = stream.read(&mut piece).expect("bytes");
                asked.extend_from_slice(&piece[..read]);
            }
            stream.write_all(text.as_bytes()).expect("a client");
            String::from_utf8(asked).expect("text")
        };
        answers.iter().map(answer).collect()
    });
    (url, serving)
}

fn pushed(url: Url, every: Duration) -> (Pusher, Arc<Mutex<Vec<String>>>) {
    let target = Target {
        url,
        headers: Headers::new(b"authorization=Bearer secret").expect("a header"),
        content_type: "application/json",
    };
    let told = Arc::new(Mutex::new(Vec::new()));
    let tell = {
        let told = Arc::clone(&told);
        move |why: &str| told.lock().expect("ours").push(why.to_owned())
    };
    let pusher = Pusher::start(target, every, || b"{counted}".to_vec(), tell).expect("a thread");
    (pusher, told)
}

const HOUR: Duration = Duration::from_secs(3600);

#[test]
fn a_request_is_whole_and_the_last_one_is_waited_for() {
    let (url, serving) = collector(&["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"]);
    let authority = url.authority();
    let (pusher, told) = pushed(url, HOUR);
    let tally = pusher.end().expect("in time");
    assert_eq!((tally.pushes, tally.failed, tally.last), (1, 0, None));
    let asked = serving.join().expect("ends").remove(0);
    assert_eq!(
        asked,
        format!(
            "POST /v1/metrics HTTP/1.1\r\nHost: {authority}\r\nUser-Agent: slowside/{}\r\n\
             Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: 9\r\n\
             Connection: close\r\nauthorization: Bearer secret\r\n\r\n{{counted}}",
            env!("CARGO_PKG_VERSION")
        )
    );
    assert!(told.lock().expect("ours").is_empty());
}

#[test]
fn who_is_busy_is_asked_again() {
    let busy = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n";
    let taken = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    let (url, serving) = collector(Box::leak(Box::new([busy, taken])));
    let (pusher, told) = pushed(url, HOUR);
    let tally = pusher.end().expect("in time");
    assert_eq!((tally.pushes, tally.failed, tally.last), (2, 1, None));
    assert_eq!(*told.lock().expect("ours"), ["it answers 503"]);
    assert_eq!(serving.join().expect("ends").len(), 2);
}

#[test]
fn who_is_not_there_is_told_once() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    drop(listener);
    let (pusher, told) = pushed(url.parse().expect("a URL"), Duration::from_millis(10));
    let tally = pusher.end().expect("in time");
    assert!(
        tally.failed >= 1 && tally.failed == tally.pushes,
        "{tally:?}"
    );
    let told = told.lock().expect("ours").clone();
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("cannot connect"), "{told:?}");
}
