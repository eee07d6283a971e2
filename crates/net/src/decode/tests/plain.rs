//! What is read in one step is what the walk reads.

use super::*;
use crate::decode::plain::read as read_plain;
use crate::decode::transport::TcpParts;
use crate::decode::walk::walk;
use proptest::prelude::*;

/// The segment of [`V4`] in Ethernet, behind VLAN tags, and padded.
fn frame(tags: &[[u8; 4]], padding: usize) -> Vec<u8> {
    let mut frame = b"\x02\0\0\0\0\x02\x02\0\0\0\0\x01".to_vec();
    frame.extend(tags.as_flattened());
    frame.extend([0x08, 0x00]);
    frame.extend(V4);
    frame.extend(vec![0; padding]);
    frame
}

fn view(frame: &[u8], captured: usize) -> View<'_> {
    View {
        data: &frame[..captured.min(frame.len())],
        wire: frame.len() as u32,
        start: 7,
    }
}

fn read(tcp: &TcpParts<'_>) -> String {
    let mut fields = tcp.fields();
    tcp.read_options(&mut fields);
    format!("{:?} {fields:?} {:?}", tcp.ports(), tcp.payload)
}

/// What the walk makes of it, where it finds TCP and nothing odd.
fn walked(view: View<'_>) -> Option<(Ip, String)> {
    let (mut ip, mut notes) = (Ip::NONE, Vec::new());
    let found = walk(Layer::Ethernet, view, &mut ip, &mut notes);
    match found {
        Ok(Innermost::Tcp(tcp)) if notes.is_empty() => Some((ip, read(&tcp))),
        _ => None,
    }
}

#[test]
fn plain_frames_are_read_in_one_step() {
    const TAG: [u8; 4] = [0x81, 0, 0, 7];
    for (tags, is_plain) in [(&[][..], true), (&[TAG], true), (&[TAG, TAG], false)] {
        let frame = frame(tags, 3);
        assert_eq!(read_plain(view(&frame, 1500)).is_some(), is_plain);
        assert!(walked(view(&frame, 1500)).is_some());
    }
    // IP options, a fragment, UDP, a length beyond the frame.
    for (at, byte) in [(14, 0x46), (20, 0x20), (21, 1), (23, 17), (17, 0xff)] {
        let mut frame = frame(&[], 0);
        frame[at] = byte;
        assert!(read_plain(view(&frame, 1500)).is_none(), "byte {at}");
    }
}

proptest! {
    #[test]
    fn one_step_is_the_walk(
        tags in prop::collection::vec(prop::sample::select(vec![[0x81, 0, 0, 7], [0x88, 0xa8, 0, 9]]), 0..2),
        padding in 0..9usize,
        damage in prop::collection::vec((12..75usize, any::<u8>()), 0..4),
        captured in prop::option::of(0..90usize),
    ) {
        let mut frame = frame(&tags, padding);
        for (at, byte) in damage {
            if let Some(place) = frame.get_mut(at) {
                *place = byte;
            }
        }
        let view = view(&frame, captured.unwrap_or(1500));
        if let Some(plain) = read_plain(view) {
            prop_assert_eq!(Some((plain.ip, read(&plain.tcp))), walked(view));
        }
    }
}
