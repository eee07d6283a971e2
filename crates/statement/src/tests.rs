use super::*;
use proptest::prelude::*;

fn same(statements: &[&str], normal: &str) {
    for sql in statements {
        assert_eq!(normalise(sql), normal, "{sql}");
    }
}

fn in_dialect(dialect: Dialect, sql: &str, normal: &str) {
    assert_eq!(normalise_as(sql, dialect), normal, "{sql}");
}

#[test]
fn literals_case_comments_and_white_space_make_no_difference() {
    same(
        &[
            "SELECT a,b FROM t WHERE x=17",
            "select a, b\n  from t -- why\n where x = 4.5e-3 ;",
            "/* app */ Select /*+ full(t) */ A , B from T where X = 'it''s'",
            "select a,b from t where x = -1",
            "select a,b from t where x = + - 0xFF",
            "select a,b from t where x = N'x'",
            "select a,b from t where x = q'[it's]'",
            "select a,b from t where x = nq'!it's!'",
            "select a,b from t where x = E'it\\'s'",
            "select a,b from t where x = $$it's$$",
            "select a,b from t where x = $a1$ $$ it's $a1$",
            "select a,b from t where x = X'00ff'",
            "select a,b from t where x = u&'d\\0061'",
            "# as mysql\n#writes comments\nselect a,b from t where x=.5",
            "select a,b from t where x=?",
        ],
        "select a, b from t where x = ?",
    );
    same(
        &[
            "select date '2020-01-01' from t",
            "SELECT DATE'2021-01-01'FROM t",
        ],
        "select date ? from t",
    );
}

#[test]
fn passwords_without_quotes_are_literals_too() {
    same(
        &[
            "create user scott identified by tiger",
            "CREATE USER scott IDENTIFIED BY \"Tiger\";",
        ],
        "create user scott identified by ?",
    );
    same(
        &["alter user scott identified by tiger replace lion account unlock"],
        "alter user scott identified by ? replace ? account unlock",
    );
    same(
        &["alter user scott identified by values 'F894844C34402B67'"],
        "alter user scott identified by values ?",
    );
    same(
        &["grant dba to scott identified by"],
        "grant dba to scott identified by",
    );
}

#[test]
fn quoted_identifiers_keep_their_case_and_binds_their_kind() {
    same(
        &["SELECT \"A b\".\"c''d\", `X y`, [Z w] FROM [Dbo].[T]"],
        "select \"A b\".\"c''d\", `X y`, [Z w] from [Dbo].[T]",
    );
    same(
        &["begin :1 := f(:name, :B2, $1, ?, @v, @@Rows, :\"SYS_B_0\"); end;"],
        "begin :1 := f(:name, :b2, $1, ?, @v, @@rows, :\"SYS_B_0\"); end",
    );
    same(
        &["select V$Session.Obj#, a [1], b[ 2 ], c[i]"],
        "select v$session.obj#, a[?], b[?], c[i]",
    );
}

#[test]
fn signs_belong_to_the_literal_only_where_nothing_is_subtracted_from() {
    same(
        &["select a-1, a - -1, (a)-1, -1, - a, 5-1"],
        "select a - ?, a - ?, (a) - ?, ?, - a, ? - ?",
    );
    same(&["limit -1"], "limit ?");
    same(&["x between -1 and -2"], "x between ? and ?");
    same(&["1..9"], "?..?");
}

#[test]
fn lists_and_rows_fold() {
    same(
        &[
            "x in (1)",
            "x IN(1,2,3)",
            "x in ( 'a' , -2 ,3 )",
            "x in (1,2",
            "x in (1,2,",
        ][..3],
        "x in (?)",
    );
    same(&["x in (1", "x in (1,2", "x in (1, 2, "], "x in (?");
    same(&["x in (:1, :2, :3)"], "x in (:1)");
    same(&["x in (1, 2, f(3), 4, 5)"], "x in (?, f(?), ?, ?)");
    same(&["x in (select a from b)"], "x in (select a from b)");
    same(
        &["(a, b) in ((1, 2))", "(a, b) in ((1, 2), (3, 4), (5, 6))"],
        "(a, b) in ((?, ?))",
    );
    same(
        &[
            "insert into t (a, b) values (1, 'x')",
            "INSERT INTO T(a,b) VALUES(1,2),(3,4),(5,6)",
            "insert into t(a,b) values (1,2),(3,4),(5,",
        ],
        "insert into t(a, b) values (?, ?)",
    );
    same(
        &["values ($1, now()), ($3, now()), ($5, default)"],
        "values ($1, now()), ($5, default)",
    );
    same(
        &["values (1, x in (1)), (2, x in (2, 3))"],
        "values (?, x in (?))",
    );
    same(&["array[1,2,3]"], "array[?]");
}

#[test]
fn half_a_statement_has_half_a_normal_form() {
    same(&["select 'secret"], "select ?");
    same(&["select \"secret"], "select ?");
    same(&["select q'[secret"], "select ?");
    same(&["select $x$ secret $y$"], "select ?");
    same(&["select 1 /* secret"], "select ?");
    same(&["", " ", ";", "--", "/*", "/* */ ;;"], "");
}

#[test]
fn where_a_backslash_may_escape_or_not_both_readings_are_masked() {
    same(&["f('it\\'s secret', 'x')"], "f(?, ?)");
    same(&["f('C:\\', 'secret')", "f('it\\'s secret"], "f(?");
    for dialect in [Dialect::MySql, Dialect::Unknown] {
        in_dialect(dialect, "f(x, '\\', secret, 'secret')", "f(x, ?");
    }
    in_dialect(Dialect::MySql, "f(\"\\\", \"secret\", 1)", "f(?");
    for quoted in ["f('\\', 'secret')", "f(\"\\\", \"secret\")"] {
        in_dialect(Dialect::MySqlPlain, quoted, "f(?, ?)");
    }
    in_dialect(Dialect::Oracle, "f('C:\\', 'x\\')", "f(?, ?)");
    in_dialect(Dialect::MySql, "f('it\\'s, ', 'x')", "f(?, ?)");
}

#[test]
fn dialects_differ_in_quotes_and_comments() {
    in_dialect(
        Dialect::MySql,
        "select \"a\", 5--1 # why\n, `b`",
        "select ?, ? - ?, `b`",
    );
    in_dialect(
        Dialect::PostgreSql,
        "a # b /* x /* y */ z */ #> '{c}'",
        "a # b #> ?",
    );
    in_dialect(
        Dialect::PostgreSql,
        "a::INT = '1'::text",
        "a::int = ?::text",
    );
    in_dialect(Dialect::Oracle, "a.id (+) = b.id", "a.id(+) = b.id");
}

#[test]
fn the_identity_is_that_of_fnv_1a() {
    // From the test vectors of the algorithm's authors.
    assert_eq!(id(""), 0xcbf2_9ce4_8422_2325);
    assert_eq!(id("foobar"), 0x8594_4171_f739_67e8);
}

const DIALECTS: [Dialect; 5] = [
    Dialect::Unknown,
    Dialect::Oracle,
    Dialect::PostgreSql,
    Dialect::MySql,
    Dialect::MySqlPlain,
];

/// Pieces of which trouble is made.
fn piece() -> impl Strategy<Value = String> {
    let fixed = [
        "select", "IN", "in (", "values", "values (", "(", ")", ",", "'", "''", "\"", "`", "[",
        "]", "$", "$$", "$a$", "$1", ":", "::", ":1", ":\"", "@", "@@", "?", ".", "..", "1", ".5",
        "1e-5", "-", "--", "+", "/", "*", "/*", "*/", "#", "\n", " ", ";", "x", "X1", "q'[", "]'",
        "e'", "n'", "u&'", "\\", "\\'", "é", "\u{85}", "\u{0}", "=", "<=", "->>", "|", "[ X ]",
        "and",
    ];
    proptest::sample::select(fixed.to_vec()).prop_map(str::to_owned)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::collection::vec(piece(), 0..24).prop_map(|pieces| pieces.concat()),
        proptest::collection::vec(piece(), 0..16).prop_map(|pieces| pieces.join(" ")),
        ".{0,40}",
    ]
}

fn literal() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("'SECRET'".to_owned()),
        Just("'it''s SECRET'".to_owned()),
        Just("N'SECRET -- '".to_owned()),
        Just("'/* SECRET'".to_owned()),
        Just("E'SE\\'CRET'".to_owned()),
        Just("'SE(,)CRET'".to_owned()),
        (7_000_000..8_000_000).prop_map(|n: i32| n.to_string()),
        (7_000_000..8_000_000).prop_map(|n: i32| format!("-{n}.7e+7")),
        (0x7000..0x8000).prop_map(|n: i32| format!("0x{n:X}")),
        Just("x'7777'".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_has_a_normal_form_that_is_its_own(sql in text()) {
        for dialect in DIALECTS {
            let normal = normalise_as(&sql, dialect);
            prop_assert!(normal.len() <= 2 * sql.len(), "{normal:?}");
            prop_assert!(!normal.contains(|c: char| c.is_control()), "{normal:?}");
            prop_assert_eq!(&normalise_as(&normal, dialect), &normal, "{:?}", dialect);
        }
    }

    #[test]
    fn no_literal_survives(
        literals in proptest::collection::vec(literal(), 1..8),
        space in "[ \n\t]{0,2}",
        cut in 0..20_usize,
    ) {
        let list = literals.join(&format!("{space},{space}"));
        let first = &literals[0];
        let sql = format!(
            "select {list} from t where a ={space}{first} and b in{space}({list}) \
             or c like {first}{space}limit {first}"
        );
        for dialect in DIALECTS {
            let mut end = sql.len() - cut;
            while !sql.is_char_boundary(end) {
                end -= 1;
            }
            let normal = normalise_as(&sql[..end], dialect);
            prop_assert!(!normal.contains(['7', '\'']), "{normal}");
            prop_assert!(!normal.to_uppercase().contains("CRET"), "{normal}");
        }
    }

    #[test]
    fn how_many_values_there_are_makes_no_difference(
        some in proptest::collection::vec(literal(), 1..8),
        others in proptest::collection::vec(literal(), 1..8),
    ) {
        let list = |values: &[String]| normalise(&format!("SELECT a FROM t WHERE b IN ({})", values.join(",")));
        prop_assert_eq!(list(&some), list(&others));
        let rows = |values: &[String]| {
            let rows: Vec<String> = values.iter().map(|v| format!("({v}, 1)")).collect();
            normalise(&format!("insert into t values {}", rows.join(",")))
        };
        prop_assert_eq!(rows(&some), rows(&others));
    }
}
