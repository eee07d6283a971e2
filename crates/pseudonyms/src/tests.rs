use super::*;
use proptest::prelude::*;

fn anonymiser() -> Anonymiser {
    Anonymiser::new(b"a key for tests")
}

#[test]
fn pseudonyms_are_functions_of_key_and_name() {
    let (a, b) = (anonymiser(), anonymiser());
    let user = a.name(NameKind::User, "scott");
    assert!(user.starts_with("user-") && user.len() == 13, "{user}");
    assert_eq!(user, b.name(NameKind::User, "scott"));
    assert_ne!(user, b.name(NameKind::User, "tiger"));
    let other = Anonymiser::new(b"another key");
    assert_ne!(user, other.name(NameKind::User, "scott"));
    assert_eq!(a.name(NameKind::User, ""), "");
    let same = |kind| {
        a.name(kind, "x")
            .split_once('-')
            .map(|(_, hash)| hash.to_owned())
    };
    assert_ne!(same(NameKind::User), same(NameKind::Host));
}

#[test]
fn files_keep_what_they_are() {
    let a = anonymiser();
    let name = a.name(NameKind::File, "/captures/bank/db1.pcap0.pcap.zst");
    assert!(
        name.starts_with("file-") && name.ends_with(".pcap.zst"),
        "{name}"
    );
    assert!(!name.contains("db1"), "{name}");
    assert_eq!(a.name(NameKind::File, "-"), "-");
    assert!(!a.name(NameKind::File, "secret").contains('.'));
}

#[test]
fn kinds_of_addresses_stay_and_hosts_change() {
    let a = anonymiser();
    for (given, prefix) in [
        ("10.1.2.3", "10."),
        ("172.20.1.1", "172."),
        ("192.168.7.9", "192.168."),
        ("169.254.3.4", "169.254."),
        ("fe80::1234", "fe80::"),
        ("fd00:1:2::3", "fd"),
    ] {
        let address: IpAddr = given.parse().expect("an address");
        let new = a.address(address);
        assert_ne!(new, address);
        assert!(new.to_string().starts_with(prefix), "{given}: {new}");
    }
    for given in ["0.0.0.0", "127.0.0.1", "255.255.255.255", "::", "::1"] {
        let address: IpAddr = given.parse().expect("an address");
        assert_eq!(a.address(address), address);
    }
    let v4: IpAddr = "203.0.113.7".parse().expect("an address");
    let mapped: IpAddr = "::ffff:203.0.113.7".parse().expect("an address");
    assert_eq!(a.address(mapped).to_canonical(), a.address(v4));
}

fn shared_bits(a: IpAddr, b: IpAddr) -> u32 {
    match (a, b) {
        (IpAddr::V4(a), IpAddr::V4(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits()).leading_zeros(),
        _ => 0,
    }
}

proptest! {
    #[test]
    fn addresses_keep_what_they_have_in_common(a in any::<u32>(), bit in 0..32_u32) {
        let names = anonymiser();
        let b = a ^ 1 << bit;
        let [x, y] = [a, b].map(|a| names.address(Ipv4Addr::from_bits(a).into()));
        prop_assert_eq!(shared_bits(x, y), 31 - bit);
    }

    #[test]
    fn so_do_those_of_six(a in any::<u128>(), bit in 0..128_u32) {
        let names = anonymiser();
        let [a, b] = [a, a ^ 1 << bit].map(Ipv6Addr::from_bits);
        prop_assume!(a.to_ipv4_mapped().is_none() && b.to_ipv4_mapped().is_none());
        let [x, y] = [a, b].map(|a| names.address(a.into()));
        prop_assert_eq!(shared_bits(x, y), 127 - bit);
    }

    #[test]
    fn any_text_is_survived(text in "\\PC{0,80}") {
        let names = anonymiser();
        let _ = names.sql(&text);
    }
}

#[test]
fn ethernet_addresses_become_local_ones() {
    let a = anonymiser();
    let [first, ..] = a.mac([0x00, 0x1b, 0x21, 1, 2, 3]);
    assert_eq!(first & 3, 2);
    assert_eq!(a.mac([0xff; 6]), [0xff; 6]);
    // LLDP
    assert_eq!(
        a.mac([0x01, 0x80, 0xc2, 0, 0, 0x0e]),
        [0x01, 0x80, 0xc2, 0, 0, 0x0e]
    );
    let solicited = [0x33, 0x33, 0xff, 0xaa, 0xbb, 0xcc];
    assert!(a.mac(solicited).starts_with(&[0x33, 0x33]));
    assert_ne!(a.mac(solicited), solicited);
}

/// The names in a statement that are no keywords.
fn names_left(sql: &str, of: &[&str]) -> Vec<String> {
    let words = sql.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '$');
    words
        .filter(|w| of.contains(w))
        .map(str::to_owned)
        .collect()
}

#[test]
fn statements_keep_their_shape_and_lose_their_names() {
    let a = anonymiser();
    let sql = a.sql(
        "SELECT e.ename, count(*) FROM scott.emp e WHERE e.ename = :who AND sal > 4711 ORDER BY 1",
    );
    assert_eq!(
        names_left(&sql, &["e", "ename", "scott", "emp", "who", "sal", "4711"]),
        Vec::<String>::new()
    );
    let shape: Vec<String> = sql
        .split(' ')
        .map(|w| {
            w.chars()
                .map(|c| if c.is_ascii_digit() { 'x' } else { c })
                .collect()
        })
        .collect();
    assert_eq!(shape.first().map(String::as_str), Some("select"));
    assert!(
        sql.contains(" from ") && sql.contains(" where ") && sql.contains("count(*)"),
        "{sql}"
    );
    assert!(sql.contains(" = :n") && sql.contains("> ?"), "{sql}");
    // The same name is the same in every statement, and in any case.
    let emp = |sql: &str| a.sql(sql).rsplit(' ').next().map(str::to_owned);
    assert_eq!(emp("delete from EMP"), emp("select 1 from emp"));
    assert_ne!(emp("delete from \"EMP\""), emp("select 1 from emp"));
    // What is numbered stays.
    assert!(
        a.sql("select :1, $2 from t")
            .starts_with("select :1, $2 from n")
    );
}
