use super::*;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;
use std::time::Instant;

const SOON: Duration = Duration::from_secs(20);

fn local() -> Reach {
    Reach::open(&Place::Local, &[], Path::new("/nowhere")).expect("a shell")
}

/// A program that takes the place of another one: it says its words and runs those from `skip` on.
fn stand_in(folder: &Path, name: &str, skip: &str) -> String {
    let path = folder.join(name);
    let log = folder.join("words");
    let text = format!(
        "#!/bin/sh\nprintf '%s\\n' \"$*\" >>{}\n{skip}\n",
        log.display()
    );
    // By another process: what this one writes, a child that another test starts meanwhile would hold open, and what is
    // open for writing cannot be run.
    let mut install = Command::new("install")
        .args(["-m", "755", "/dev/stdin"])
        .arg(&path)
        .stdin(Stdio::piped())
        .spawn()
        .expect("install");
    let mut pipe = install.stdin.take().expect("piped");
    pipe.write_all(text.as_bytes()).expect("written");
    drop(pipe);
    assert!(install.wait().expect("install").success());
    path.display().to_string()
}

#[test]
fn scripts_files_and_answers_go_there_and_back() {
    let reach = local();
    assert_eq!(
        reach
            .run("cat; echo a\necho \"$((1 + 1))\"", SOON)
            .expect("said"),
        "a\n2\n"
    );
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("it's a file").display().to_string();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    reach.put(&bytes, &path, SOON).expect("put");
    let mode = fs::metadata(&path)
        .expect("it is there")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut back = Vec::new();
    reach
        .get(
            &format!("cat <{}", quote::word(&path)),
            300_000,
            SOON,
            &mut back,
        )
        .expect("got");
    assert!(back == bytes);
}

#[test]
fn what_takes_too_long_or_says_too_much_is_ended() {
    let reach = local();
    let before = Instant::now();
    let late = reach.run("sleep 60", Duration::from_millis(200));
    assert!(matches!(late, Err(Failure::Late(_))), "{late:?}");
    let long = reach.run("while :; do echo and so on; done", SOON);
    assert!(matches!(long, Err(Failure::Long(_))), "{long:?}");
    let long = reach.get("cat /dev/zero", 1_000, SOON, &mut std::io::sink());
    assert!(matches!(long, Err(Failure::Long(1_000))), "{long:?}");
    let failed = reach.run("echo fine; echo one >&2; echo the last >&2; exit 3", SOON);
    assert!(
        matches!(&failed, Err(Failure::Failed { code: Some(3), said }) if said == "the last"),
        "{failed:?}"
    );
    assert!(before.elapsed() < SOON);
}

#[test]
fn a_shell_that_stays_answers_each_line() {
    let mut talk = local()
        .talk("while read -r q; do echo \"<$q>\"; done")
        .expect("a shell");
    assert_eq!(talk.ask("a b", SOON).expect("an answer"), "<a b>");
    assert_eq!(talk.ask("c", SOON).expect("an answer"), "<c>");
    let mut deaf = local().talk("exit").expect("a shell");
    assert!(deaf.ask("a", SOON).is_err());
}

#[test]
fn ssh_gets_one_word_that_any_login_shell_reads_and_a_name_that_is_no_option() {
    let folder = tempfile::tempdir().expect("a folder");
    // As sshd does, with the user's login shell.
    let ssh = stand_in(
        folder.path(),
        "ssh",
        "case $* in *-G*|*-O*) exit 0;; esac\nfor last; do :; done\nexec sh -c \"$last\"",
    );
    let place = Place::Ssh {
        user: Some("root".into()),
        host: "db1".into(),
    };
    let reach =
        Reach::open(&place, &[ssh, "-F".into(), "config".into()], folder.path()).expect("it runs");
    assert_eq!(
        reach.run("echo \"it's $((40 + 2))\"", SOON).expect("said"),
        "it's 42\n"
    );
    let mut reach = reach;
    reach.with_sudo();
    // Whether there is a sudo here is not what is asked.
    let _ = reach.run("exit", SOON);
    drop(reach);
    let words = fs::read_to_string(folder.path().join("words")).expect("a log");
    let lines: Vec<&str> = words.lines().collect();
    assert_eq!(lines.len(), 5, "{words}");
    assert_eq!(lines[0], "-F config -G root@db1");
    assert!(
        lines[1].contains("ControlMaster=auto")
            && lines[1].ends_with("-- root@db1 exec /bin/sh -c 'exit 0'"),
        "{words}"
    );
    assert!(lines[2].ends_with("-- root@db1 exec /bin/sh -s"), "{words}");
    assert!(
        lines[3].ends_with("-- root@db1 exec sudo -n /bin/sh -s"),
        "{words}"
    );
    assert!(lines[4].ends_with("-O exit -- root@db1"), "{words}");
}
