//! Requests of HTTP for `scrape`.

use crate::write;

pub fn write_all() {
    for (name, request) in [
        ("get", "GET /metrics?x=y HTTP/1.1\r\nHost: a:9464\r\n\r\n"),
        ("head", "HEAD /metrics HTTP/1.0\r\n\r\n"),
        (
            "post",
            "POST /metrics HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc",
        ),
        ("elsewhere", "GET / HTTP/1.1\r\n\r\n"),
        (
            "token",
            "GET /metrics HTTP/1.1\r\nAuthorization: Bearer 0123456789abcdef\r\n\r\n",
        ),
        (
            "no-token",
            "GET /metrics HTTP/1.1\r\nauthorization: Basic YTpi\r\n\r\n",
        ),
        ("unfinished", "GET /metrics HTTP/1.1\r\nHost: a"),
        ("tls", "\u{16}\u{3}\u{1}\u{2}"),
    ] {
        write("scrape", name, request.as_bytes());
    }
    let many = "A: b\r\n".repeat(65);
    let request = format!("GET /metrics HTTP/1.1\r\n{many}\r\n");
    write("scrape", "many-headers", request.as_bytes());
}
