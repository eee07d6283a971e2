//! Messages of the probe for `probe_wire`, as the head of its wire.rs draws them, behind the limit of sizes.

use crate::write;

pub fn write_all() {
    let limit = 1_000_000_u32.to_le_bytes();
    let one =
        |name: &str, message: &[u8]| write("probe_wire", name, &[&limit[..], message].concat());
    for (name, magic) in [("hello", b"slowside"), ("challenge", b"SLOWSIDE")] {
        one(
            name,
            &[&magic[..], &[1, 0, 0, 0, 0, 0, 0, 0], &[7; 16]].concat(),
        );
    }
    for size in [0, 15, 16, 32, 1_000_000, 1_000_001, u32::MAX] {
        let sizes = [size.to_be_bytes(), size.max(32).to_be_bytes()].concat();
        one(
            &format!("request-{size}"),
            &[&sizes[..], &9_u64.to_be_bytes()].concat(),
        );
        let response = [
            &size.to_be_bytes()[..],
            &[0; 4],
            &9_u64.to_be_bytes(),
            &5_000_u64.to_be_bytes(),
            &70_u64.to_be_bytes(),
        ];
        one(&format!("response-{size}"), &response.concat());
    }
    for status in 0..4 {
        let numbers: Vec<u8> = (1..24_u32).flat_map(u32::to_be_bytes).collect();
        one(
            &format!("welcome-{status}"),
            &[&[status, 0, 0, 0], &numbers[..]].concat(),
        );
    }
    for byte in [0, 1, 255] {
        one(&format!("proof-{byte}"), &[byte; 96]);
    }
}
