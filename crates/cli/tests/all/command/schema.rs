//! Machine output against the schemas in `docs/schemas`, which are what others are told of it.
//!
//! A checker of the part of JSON Schema (draft 2020-12) that they keep to; a keyword beyond it fails. It is
//! stricter than a schema says in one thing: a property that is not described is an error, though readers
//! are told to expect further ones. `scripts/schema_checks.py` does the same with a validator of others.

use crate::kit::{file, root, slowside, text};
use model::Field;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::sync::LazyLock;

/// The schemas by title, such as `slowside.ops/1`.
static SCHEMAS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| {
    let files = fs::read_dir(root().join("docs/schemas")).expect("schemas");
    let schemas = files.map(|f| {
        let path = f.expect("a folder can be listed").path();
        let text = fs::read_to_string(&path).expect("a schema is UTF-8");
        let schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
        let title = schema["title"].as_str().expect("a title").to_owned();
        let name = format!("{}.json", title.replace('/', "."));
        assert!(path.ends_with(&name), "{title} is in {}", path.display());
        (title, schema)
    });
    schemas.collect()
});

/// What is wrong with a value, with its place.
struct Checker<'a> {
    root: &'a Value,
    wrong: Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, at: &str) {
        let keywords = schema.as_object().expect("a schema is an object");
        let mut wrong = |what: String| self.wrong.push(format!("{at}: {what}"));
        for (keyword, said) in keywords {
            let holds = match (keyword.as_str(), value) {
                ("$schema" | "title" | "description" | "$defs" | "$ref" | "anyOf" | "items", _)
                | ("properties" | "additionalProperties", _) => true,
                ("type", _) => match said {
                    Value::Array(types) => types.iter().any(|t| is(t, value)),
                    one => is(one, value),
                },
                ("const", _) => said == value,
                ("enum", _) => said.as_array().is_some_and(|all| all.contains(value)),
                ("minimum", Value::Number(n)) => n.as_f64() >= said.as_f64(),
                ("maximum", Value::Number(n)) => n.as_f64() <= said.as_f64(),
                ("minItems", Value::Array(items)) => Some(items.len() as u64) >= said.as_u64(),
                ("maxItems", Value::Array(items)) => Some(items.len() as u64) <= said.as_u64(),
                // The one pattern there is.
                ("pattern", Value::String(text)) => {
                    assert_eq!(said, "^[0-9a-f]{16}$");
                    text.len() == 16 && text.bytes().all(|b| b"0123456789abcdef".contains(&b))
                }
                ("required", Value::Object(object)) => {
                    let names = said.as_array().expect("a list").iter();
                    names
                        .filter_map(Value::as_str)
                        .all(|name| object.contains_key(name))
                }
                ("minimum" | "maximum" | "minItems" | "maxItems" | "pattern" | "required", _) => {
                    true
                }
                _ => panic!("{keyword} is not checked"),
            };
            if !holds {
                wrong(format!("{value} is not of {keyword} {said}"));
            }
        }
        if let Some(name) = schema["$ref"].as_str() {
            let place = name
                .strip_prefix('#')
                .expect("a reference within the schema");
            let schema = self.root.pointer(place).expect("a definition");
            self.check(schema, value, at);
        }
        if let Some(any) = schema["anyOf"].as_array() {
            let mut tried = any.iter().map(|schema| {
                let mut inner = Checker {
                    root: self.root,
                    wrong: Vec::new(),
                };
                inner.check(schema, value, at);
                inner.wrong
            });
            let fails: Vec<_> = tried
                .by_ref()
                .take_while(|wrong| !wrong.is_empty())
                .collect();
            if fails.len() == any.len() {
                self.wrong.extend(fails.into_iter().flatten());
            }
        }
        match value {
            Value::Array(items) if schema.get("items").is_some() => {
                for item in items {
                    self.check(&schema["items"], item, &format!("{at}[]"));
                }
            }
            Value::Object(object) if schema.get("properties").is_some() => {
                for (name, value) in object {
                    match schema["properties"].get(name) {
                        Some(schema) => self.check(schema, value, &format!("{at}.{name}")),
                        None => self.wrong.push(format!("{at}.{name} is not described")),
                    }
                }
            }
            Value::Object(object) if schema.get("additionalProperties").is_some() => {
                for (name, value) in object {
                    let at = format!("{at}.{name}");
                    self.check(&schema["additionalProperties"], value, &at);
                }
            }
            _ => {}
        }
    }
}

fn is(kind: &Value, value: &Value) -> bool {
    match kind.as_str() {
        Some("null") => value.is_null(),
        Some("boolean") => value.is_boolean(),
        Some("string") => value.is_string(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("number") => value.is_number(),
        Some("array") => value.is_array(),
        Some("object") => value.is_object(),
        other => panic!("{other:?} is no type"),
    }
}

/// That the value keeps to the schema of that title.
pub(crate) fn assert_described(title: &str, value: &Value) {
    let schema = SCHEMAS
        .get(title)
        .unwrap_or_else(|| panic!("no schema is called {title}"));
    let mut checker = Checker {
        root: schema,
        wrong: Vec::new(),
    };
    checker.check(schema, value, "");
    checker.wrong.sort();
    checker.wrong.dedup();
    assert!(checker.wrong.is_empty(), "{title}: {:#?}", checker.wrong);
}

/// That an answer keeps to the schema that it names.
fn assert_answer(arguments: &[&str]) {
    let output = slowside(arguments);
    assert_ne!(
        output.status.code(),
        Some(2),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    let value: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_described(value["schema"].as_str().expect("a schema's name"), &value);
}

/// That each line keeps to the schema.
fn assert_lines(title: &str, arguments: &[&str]) {
    let output = slowside(arguments);
    assert_ne!(
        output.status.code(),
        Some(2),
        "{arguments:?}: {}",
        text(&output.stderr)
    );
    let lines = text(&output.stdout);
    assert!(lines.lines().count() > 0, "{arguments:?}");
    for line in lines.lines() {
        assert_described(title, &serde_json::from_str(line).expect("JSON"));
    }
}

const EVERY_KEY: &str = "op,client,server,connection,file,size,time=1s";

#[test]
fn answers_on_the_lab_s_captures_are_described() {
    for case in [
        "server-cap",
        "packet-loss",
        "reset-by-server",
        "slow-turns",
        "small-window",
    ] {
        let folder = root().join("tests/lab").join(case);
        let [client, server] = ["client", "server"].map(|side| {
            folder
                .join(format!("{side}.pcap.zst"))
                .display()
                .to_string()
        });
        let (client, server) = (client.as_str(), server.as_str());
        assert_answer(&[client, server, "--format=json"]);
        assert_answer(&[client, "--format=json"]);
        assert_answer(&["ops", client, "--by", EVERY_KEY, "--format=json"]);
        assert_answer(&["ops", client, "--by=size", "--format=json"]);
        assert_answer(&["conns", client, server, "--format=json"]);
        let series = ["conns", client, "--series=100ms", "--format=jsonl"];
        assert_lines("slowside.series/1", &series);
        assert_lines("slowside.calls/1", &["calls", server, "--format=jsonl"]);
        assert_answer(&["info", client, "--format=json"]);
        let stat = ["stat", client, "--interval=100ms", "--format=jsonl"];
        assert_lines("slowside.stat/1", &stat);
        let live = [
            "live",
            client,
            "--interval=200ms",
            "--when=rtt>1us",
            "--format=json",
        ];
        assert_lines("slowside.live/1", &live);
    }
}

#[test]
fn comparisons_are_described() {
    let runs = ["without-loss", "loss", "fetch-100", "fetch-1", "healthy"];
    let runs = runs.map(|run| {
        let folder = root().join("tests/compare").join(run);
        let end = |side: &str| {
            folder
                .join(format!("{side}.pcap.zst"))
                .display()
                .to_string()
        };
        format!("{},{}", end("client"), end("server"))
    });
    for pair in runs.windows(2) {
        assert_answer(&["compare", &pair[0], &pair[1], "--format=json"]);
    }
}

#[test]
fn answers_on_databases_captures_are_described() {
    for name in [
        "mysql/queries.pcap.zst",
        "mysql/tls.pcap.zst",
        "pgsql/cursors.pcap",
    ] {
        let path = root()
            .join("tests/databases")
            .join(name)
            .display()
            .to_string();
        assert_answer(&["sql", &path, "--format=json"]);
        let by = "statement,client,program,user,service,connection";
        assert_answer(&["sql", &path, "--by", by, "--show-literals", "--format=json"]);
        assert_answer(&["whatif", &path, "--rtt=5ms", "--format=json"]);
        let live = [
            "live",
            &path,
            "--when=statement~* and max>1us",
            "--format=json",
        ];
        assert_lines("slowside.live/1", &live);
        assert_lines("slowside.calls/1", &["calls", &path, "--format=jsonl"]);
    }
    let pairs = "2356@0.021ms,1567@0.161ms,854@0.685ms";
    assert_answer(&["whatif", "--from", pairs, "--rtt=2ms", "--format=json"]);
    assert_answer(&["whatif", "--from=2356@0.021ms", "--format=json"]);
}

#[test]
fn start_ups_are_described() {
    let path = root().join("tests/startup/capture.pcap.zst");
    let path = path.display().to_string();
    assert_answer(&["startup", &path, "--format=json"]);
    assert_answer(&["startup", &path, "--client=192.0.2.1", "--format=json"]);
    assert_lines("slowside.calls/1", &["calls", &path, "--format=jsonl"]);
}

#[test]
fn profiles_of_traces_are_described() {
    let trace = "Trace file /u01/trace/orcl_ora_4711.trc
Oracle Database 19c Enterprise Edition Release 19.0.0.0.0 - Production
*** 2026-03-01T14:00:00.000000+00:00
=====================
PARSING IN CURSOR #1 len=17 dep=0 uid=5 oct=3 lid=5 tim=1000000 hv=1 ad='1' sqlid='abc'
select 1 from dual
END OF STMT
PARSE #1:c=10,e=20,p=0,cr=0,cu=0,mis=1,r=0,dep=0,og=1,plh=1,tim=1000100
WAIT #1: nam='SQL*Net message to client' ela= 2 driver id=1 #bytes=1 p3=0 obj#=0 tim=1000110
WAIT #1: nam='db file sequential read' ela= 300 file#=4 block#=9 blocks=1 obj#=1 tim=1000500
FETCH #1:c=100,e=500,p=1,cr=3,cu=0,mis=0,r=1,dep=0,og=1,plh=1,tim=1000700
WAIT #1: nam='SQL*Net message from client' ela= 900 driver id=1 #bytes=1 p3=0 obj#=0 tim=1001700
";
    let path = file("schemas", "orcl_ora_4711.trc", trace.as_bytes());
    assert_answer(&["trace", path.to_str().expect("UTF-8"), "--format=json"]);
}

#[test]
fn every_field_of_a_call_is_described() {
    let detail = &SCHEMAS["slowside.calls/1"]["properties"]["detail"]["properties"];
    for field in Field::ALL {
        assert!(detail.get(field.name()).is_some(), "{}", field.name());
    }
}

#[test]
fn what_is_not_described_is_found() {
    let schema = serde_json::json!({
        "type": "object", "required": ["a"],
        "properties": {"a": {"type": ["integer", "null"], "minimum": 1}},
    });
    for (value, fine) in [
        (r#"{"a":1}"#, true),
        (r#"{"a":null}"#, true),
        (r#"{"a":0}"#, false),
        (r#"{"a":1.5}"#, false),
        (r#"{"a":1,"b":2}"#, false),
        ("{}", false),
    ] {
        let mut checker = Checker {
            root: &schema,
            wrong: Vec::new(),
        };
        checker.check(&schema, &serde_json::from_str(value).expect("JSON"), "");
        assert_eq!(
            checker.wrong.is_empty(),
            fine,
            "{value}: {:?}",
            checker.wrong
        );
    }
}

#[test]
fn every_number_says_its_unit() {
    /// Numbers whose names end in a unit.
    fn walk(schema: &Value, at: &str, wrong: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            return;
        };
        for (name, inner) in keywords
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let said = inner["description"].as_str().unwrap_or_default();
            let unit = match name.rsplit('_').next().unwrap_or_default() {
                "ns" => "ns",
                "bytes" => "bytes",
                "bps" => "bits per second",
                "ppm" => "parts per million",
                _ => "",
            };
            let number = inner
                .get("type")
                .is_some_and(|t| t.to_string().contains("integer"));
            if number && (said.is_empty() || !said.contains(unit)) {
                wrong.push(format!("{at}.{name}: {said}"));
            }
        }
        for (key, inner) in keywords {
            walk(inner, &format!("{at}.{key}"), wrong);
        }
    }
    let mut wrong = Vec::new();
    for (title, schema) in SCHEMAS.iter() {
        walk(schema, title, &mut wrong);
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
