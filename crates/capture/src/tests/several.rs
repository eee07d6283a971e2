//! Several files as one capture.

use super::build::*;
use crate::Capture;
use model::Batch;
use std::fs;

fn files(read: &Whole) -> Vec<u16> {
    read.packets.iter().map(|p| p.at.file).collect()
}

fn names(capture: &Capture) -> Vec<String> {
    capture.files().iter().map(|n| base(n)).collect()
}

#[test]
fn a_rotated_set_is_concatenated_in_any_order_of_names() {
    let folder = Folder::new();
    let inputs = [
        folder.file("c2", &pcap(&[50, 60])),
        folder.file("c", &pcap(&[10, 20])),
        folder.file("c1", &pcap(&[30, 40])),
        folder.file("c3", &pcap_header(96)),
    ];
    let read = Whole::all(Capture::open(&inputs).unwrap());
    assert_eq!(names(&read.capture), ["c", "c1", "c2", "c3"]);
    assert_eq!(read.micros(), [10, 20, 30, 40, 50, 60]);
    assert_eq!(files(&read), [0, 0, 1, 1, 2, 2]);
    let frames: Vec<_> = read.packets.iter().map(|p| p.at.frame).collect();
    assert_eq!(frames, [1, 2, 1, 2, 1, 2]);
    assert!(read.kinds().is_empty());
    let summary = read.capture.summary();
    assert_eq!(summary.packets, 6);
    assert_eq!(summary.snaplens, [96, 65_535]);
    let counts: Vec<_> = summary.files.iter().map(|f| f.packets).collect();
    assert_eq!(counts, [2, 2, 2, 0]);
    let bytes: u64 = inputs.iter().map(|i| fs::metadata(i).unwrap().len()).sum();
    assert_eq!(read.capture.progress(), (bytes, Some(bytes)));
}

#[test]
fn overlapping_files_are_merged_by_time() {
    let folder = Folder::new();
    let inputs = [
        folder.file("b", &pcap(&[2, 4, 6, 100])),
        folder.file("a", &pcap(&[1, 4, 7])),
        folder.file("later", &pcap(&[90, 110])),
    ];
    let read = Whole::all(Capture::open(&inputs).unwrap());
    assert_eq!(names(&read.capture), ["a", "b", "later"]);
    assert_eq!(read.micros(), [1, 2, 4, 4, 6, 7, 90, 100, 110]);
    assert_eq!(files(&read), [0, 1, 0, 1, 1, 0, 2, 1, 2]);
    // The bytes moved with their packets: each is filled with its number less one.
    for (packet, bytes) in read.packets.iter().zip(&read.bytes) {
        assert_eq!(*bytes, vec![(packet.at.frame - 1) as u8; 60]);
    }
}

#[test]
fn long_files_are_merged_across_batches() {
    let folder = Folder::new();
    let even: Vec<u32> = (0..40_000).map(|i| 2 * i).collect();
    let odd: Vec<u32> = (0..40_000).map(|i| 20_001 + 2 * i).collect();
    let inputs = [
        folder.file("a", &pcap(&even)),
        folder.file("b", &pcap(&odd)),
    ];
    let read = Whole::all(Capture::open(&inputs).unwrap());
    assert_eq!(read.packets.len(), 80_000);
    assert!(read.micros().is_sorted());
    let of_b: Vec<_> = read.packets.iter().filter(|p| p.at.file == 1).collect();
    assert!(of_b.iter().zip(1..).all(|(p, frame)| p.at.frame == frame));
    assert!(read.kinds().is_empty());
}

#[test]
fn one_wrong_time_does_not_hold_up_its_file() {
    let folder = Folder::new();
    let inputs = [
        folder.file("a", &pcap(&[10, 20, 900, 30, 40])),
        folder.file("b", &pcap(&[50, 60])),
    ];
    let read = Whole::all(Capture::open(&inputs).unwrap());
    assert_eq!(read.micros(), [10, 20, 900, 30, 40, 50, 60]);
}

#[test]
fn a_directory_stands_for_the_captures_in_it() {
    let folder = Folder::new();
    folder.file("two", &pcap(&[3]));
    folder.file("one", &pcap(&[1]));
    folder.file("README", b"taken at the client\n");
    folder.file("empty", b"");
    fs::create_dir(folder.0.join("older")).unwrap();
    let read = Whole::all(Capture::open(std::slice::from_ref(&folder.0)).unwrap());
    assert_eq!(names(&read.capture), ["one", "two"]);
    assert_eq!(read.micros(), [1, 3]);
    assert_eq!(
        read.kinds(),
        ["directory-not-entered", "empty-file", "not-a-capture"]
    );
    assert!(!read.problem("not-a-capture").damage);
    assert!(read.problem("empty-file").damage);
    assert_eq!(base(&read.problem("not-a-capture").first.file), "README");
}

#[test]
fn a_directory_without_captures_is_an_error() {
    let folder = Folder::new();
    folder.file("README", b"nothing here\n");
    let error = Capture::open(std::slice::from_ref(&folder.0))
        .err()
        .unwrap();
    let error = error.to_string();
    assert!(error.contains("holds no captures"), "{error}");
}

#[test]
fn an_input_that_cannot_be_read_is_damage_beside_one_that_can() {
    let folder = Folder::new();
    let text = folder.file("notes.txt", b"no capture\n");
    let missing = folder.0.join("missing");
    let good = folder.file("c", &pcap(&[1]));
    let read = Whole::all(Capture::open(&[text.clone(), missing.clone(), good]).unwrap());
    assert_eq!(read.micros(), [1]);
    assert_eq!(read.kinds(), ["not-a-capture", "unreadable-file"]);
    assert!(read.problem("not-a-capture").damage);
    let error = Capture::open(&[text, missing]).err().unwrap().to_string();
    assert!(
        error.starts_with("none of 2 inputs can be read; the first: "),
        "{error}"
    );
}

#[test]
fn a_file_named_twice_is_read_once() {
    let folder = Folder::new();
    let file = folder.file("c", &pcap(&[1, 2]));
    let again = folder.0.join(".").join("c");
    let inputs = [file, again, folder.0.clone()];
    let read = Whole::all(Capture::open(&inputs).unwrap());
    assert_eq!(read.micros(), [1, 2]);
    let problem = read.problem("same-file-twice");
    assert_eq!((problem.count, problem.damage), (2, false));
}

#[test]
fn a_file_that_vanished_before_its_turn_is_damage() {
    let folder = Folder::new();
    let inputs = [folder.file("a", &pcap(&[1])), folder.file("b", &pcap(&[2]))];
    let capture = Capture::open(&inputs).unwrap();
    fs::remove_file(&inputs[1]).unwrap();
    let read = Whole::all(capture);
    assert_eq!(read.micros(), [1]);
    assert!(read.problem("unreadable-file").damage);
    let mut capture = Capture::open(&[inputs[0].clone(), folder.file("c", &pcap(&[3]))]).unwrap();
    fs::remove_file(&inputs[0]).unwrap();
    fs::remove_file(folder.0.join("c")).unwrap();
    assert!(capture.next_batch(&mut Batch::default()).is_err());
}

#[test]
fn a_capture_moves_to_another_thread() {
    let capture = open(&pcap(&[1])).unwrap();
    let read = std::thread::spawn(move || Whole::all(capture).micros());
    assert_eq!(read.join().unwrap(), [1]);
}
