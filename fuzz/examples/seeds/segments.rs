//! Segments for `track`.

use crate::write;
use testkit::Random;

pub fn write_all() {
    // Who, what, step, flags; then what `what` asks for. 8: a length.
    let data = |who: u8, step: u8, length: u16| {
        [&[who, 8, step, 0x18], &length.to_le_bytes()[..]].concat()
    };
    let bare = |who: u8, flags: u8| vec![who, 128, 0, flags];
    let open = [bare(0, 2), bare(1, 0x12), bare(0, 0x10)].concat();
    let mut talk = open.clone();
    for i in 0..8 {
        talk.extend(data(i & 1, i, 700 + u16::from(i)));
    }
    let close = [bare(0, 0x11), bare(1, 0x11), bare(0, 0x10)].concat();
    write("track", "talk", &[&talk[..], &close].concat());
    write(
        "track",
        "reset",
        &[&talk[..], &bare(1, 0x14), &open, &talk].concat(),
    );
    // A hole of 1,400 bytes (1: a sequence number near the next), acknowledged, with a SACK.
    let mut lossy = [open, data(0, 2, 1_400)].concat();
    lossy.extend([0, 9, 2, 0x18, 0x78, 0x05, 0x78, 0x05]);
    lossy.extend([1, 32, 3, 0x10, 2, 1, 5, 0, 6, 0, 0, 0, 0x78, 0x05]);
    lossy.extend([0, 9, 8, 0x18, 0x10, 0xf5, 0x78, 0x05]);
    lossy.extend([1, 32, 3, 0x10, 1, 0, 0, 0]);
    lossy.extend(data(0, 11, 900));
    write("track", "lossy", &[&lossy[..], &close].concat());
    let mut random = Random::new(7);
    for i in 0..8 {
        let noise: Vec<u8> = (0..1_500).map(|_| random.draw() as u8).collect();
        write("track", &format!("noise-{i}"), &noise);
    }
}
