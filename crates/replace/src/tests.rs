#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use super::*;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use tempfile::TempDir;

const NOTE: Kind = Kind {
    name: "note",
    option: "-o",
    is: |head| head.starts_with(b"note"),
};
const OLD: &[u8] = b"note: what was there";
const NEW: &[u8] = b"note: what comes in its place, in several pieces";

/// A folder with an old note in it.
fn old() -> (TempDir, PathBuf) {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("note");
    fs::write(&file, OLD).unwrap();
    (folder, file)
}

fn names(folder: &TempDir) -> Vec<String> {
    let entries = fs::read_dir(folder.path()).unwrap();
    let name = |e: io::Result<fs::DirEntry>| e.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort();
    names
}

/// Hands on so many pieces, and fails then.
struct Failing<W> {
    out: W,
    left: usize,
}

impl<W: Write> Write for Failing<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        self.out.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

fn write_pieces(file: &Path, pieces: usize) -> io::Result<()> {
    let replacement = Replacement::create(file, &NOTE)?;
    let mut out = Failing {
        out: replacement.writer()?,
        left: pieces,
    };
    NEW.chunks(10).try_for_each(|piece| out.write_all(piece))?;
    Ok(replacement.commit()?)
}

#[test]
fn whichever_write_fails_the_old_file_is_whole_and_alone() {
    let (folder, file) = old();
    let pieces = NEW.chunks(10).count();
    for n in 0..pieces {
        let failed = write_pieces(&file, n).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
        assert_eq!(fs::read(&file).unwrap(), OLD, "write {n}");
        assert_eq!(names(&folder), ["note"], "write {n}");
        let new = folder.path().join("new");
        write_pieces(&new, n).unwrap_err();
        assert_eq!(names(&folder), ["note"], "write {n} of a new file");
    }
    write_pieces(&file, pieces).unwrap();
    assert_eq!(fs::read(&file).unwrap(), NEW);
    assert_eq!(names(&folder), ["note"]);
}

#[test]
fn a_file_with_a_hidden_name_is_replaced_and_left_as_one_without() {
    let (folder, file) = old();
    let beside = || Beside::named(folder.path(), Some(&file.metadata().unwrap())).unwrap();
    let dropped = beside();
    assert_eq!(names(&folder).len(), 2);
    drop(dropped);
    assert_eq!(names(&folder), ["note"]);
    let whole = beside();
    whole.file().write_all(NEW).unwrap();
    whole.replace(&file).unwrap();
    assert_eq!(fs::read(&file).unwrap(), NEW);
    let names_of = |n: &str| std::iter::once(folder.path().join(n));
    let one = Beside::named(folder.path(), None).unwrap();
    assert_eq!(one.take(names_of("note")).unwrap(), None);
    assert_eq!(fs::read(&file).unwrap(), NEW);
    let one = Beside::named(folder.path(), None).unwrap();
    assert!(one.take(names_of("other")).unwrap().is_some());
    assert_eq!(names(&folder), ["note", "other"]);
}

#[test]
fn a_place_that_cannot_be_taken_at_the_end_leaves_nothing() {
    let (folder, file) = old();
    let replacement = Replacement::create(&file, &NOTE).unwrap();
    replacement.writer().unwrap().write_all(NEW).unwrap();
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    let failed = replacement.commit().unwrap_err().to_string();
    assert!(failed.starts_with("cannot write"), "{failed}");
    assert!(failed.ends_with("name another place with -o"), "{failed}");
    assert_eq!(names(&folder), ["note"]);
}

#[test]
fn permissions_are_kept_and_new_files_have_those_of_any() {
    let (folder, file) = old();
    for mode in [0o600, 0o640, 0o664] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let replacement = Replacement::create(&file, &NOTE).unwrap();
        replacement.write(NEW).unwrap();
        assert_eq!(file.metadata().unwrap().mode() & 0o7777, mode);
    }
    let [new, any] = ["new", "any"].map(|name| folder.path().join(name));
    Replacement::create(&new, &NOTE)
        .unwrap()
        .write(NEW)
        .unwrap();
    fs::write(&any, NEW).unwrap();
    assert_eq!(
        new.metadata().unwrap().mode(),
        any.metadata().unwrap().mode()
    );
    let hidden = Beside::named(folder.path(), None).unwrap();
    hidden.replace(&new).unwrap();
    assert_eq!(
        new.metadata().unwrap().mode(),
        any.metadata().unwrap().mode()
    );
}

#[test]
fn links_stay_and_what_they_point_to_is_replaced() {
    let (folder, file) = old();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("below")).unwrap();
    symlink("../note", at("below/first")).unwrap();
    symlink("below/first", at("second")).unwrap();
    symlink("not yet", at("third")).unwrap();
    for link in ["second", "third"] {
        let replacement = Replacement::create(&at(link), &NOTE).unwrap();
        replacement.write(NEW).unwrap();
        assert!(at(link).is_symlink());
        assert_eq!(fs::read(at(link)).unwrap(), NEW);
    }
    assert!(!file.is_symlink() && at("below/first").is_symlink());
    assert_eq!(fs::read(&file).unwrap(), NEW);
    symlink("round", at("round")).unwrap();
    let round = Replacement::create(&at("round"), &NOTE).unwrap_err();
    assert!(round.to_string().contains("symbolic links"), "{round}");
}

#[test]
fn what_is_something_else_is_not_replaced() {
    let (folder, file) = old();
    let refused = |file: &Path| Replacement::create(file, &NOTE).unwrap_err().to_string();
    fs::write(&file, "a capture").unwrap();
    let shown = file.display();
    assert_eq!(
        refused(&file),
        format!("{shown} exists and is no note; name another file with -o")
    );
    assert!(refused(folder.path()).contains("is a folder"));
    let below = refused(&file.join("below"));
    assert!(below.contains("is no folder;"), "{below}");
    assert!(refused(&folder.path().join("missing/note")).contains("is no folder;"));
    assert_eq!(fs::read(&file).unwrap(), b"a capture");
    assert_eq!(names(&folder), ["note"]);
    fs::write(&file, "").unwrap();
    Replacement::create(&file, &NOTE)
        .unwrap()
        .write(NEW)
        .unwrap();
    assert_eq!(fs::read(&file).unwrap(), NEW);
}

#[test]
fn devices_and_what_is_open_are_written_to_as_they_are() {
    let null = Replacement::create(Path::new("/dev/null"), &NOTE).unwrap();
    null.write(NEW).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
    let full = Replacement::create(Path::new("/dev/full"), &NOTE).unwrap();
    let failed = full.write(NEW).unwrap_err();
    assert_eq!(failed.kind(), io::ErrorKind::StorageFull);
    assert!(failed.to_string().starts_with("cannot write /dev/full: "));
    // An open file by its number: what others wrote into it stays.
    let (_folder, file) = old();
    let open = File::open(&file).unwrap();
    use std::os::fd::AsRawFd;
    let by_number = format!("/proc/self/fd/{}", open.as_raw_fd());
    Replacement::create(Path::new(&by_number), &NOTE)
        .unwrap()
        .write(NEW)
        .unwrap();
    assert_eq!(fs::read(&file).unwrap(), [OLD, NEW].concat());
}

#[test]
fn a_name_that_somebody_took_meanwhile_stays_his() {
    let (folder, file) = old();
    let at = |n: u32| folder.path().join(format!("note-{n}"));
    fs::write(at(1), OLD).unwrap();
    let mine = Replacement::unnamed(&file, "--write").unwrap();
    mine.writer().unwrap().write_all(NEW).unwrap();
    fs::write(at(2), OLD).unwrap();
    assert_eq!(mine.commit_as((1..9).map(at)).unwrap(), at(3));
    assert_eq!(fs::read(at(3)).unwrap(), NEW);
    for n in [1, 2] {
        assert_eq!(fs::read(at(n)).unwrap(), OLD);
    }
    let none = Replacement::unnamed(&file, "--write").unwrap();
    assert!(none.commit_as((1..4).map(at)).is_err());
    assert_eq!(names(&folder), ["note", "note-1", "note-2", "note-3"]);
}
