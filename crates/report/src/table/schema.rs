//! The schemas in `docs/schemas` against the columns: `UPDATE_EXPECT=1 cargo test -p report` writes them
//! anew.

use super::{Column, Kind, Table};
use serde_json::{Map, Value, json};
use std::path::Path;

/// That the object at `place` of a schema describes these columns. What columns do not tell stays as it
/// is: what stands inside of JSON of its own, and further properties.
pub(crate) fn assert_described<T: Table>(title: &str, place: &str, columns: &[Column<T>]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schemas");
    let path = root.join(format!("{title}.json"));
    let text = std::fs::read_to_string(&path).expect("a schema");
    let mut schema: Value = serde_json::from_str(&text).expect("a schema is JSON");
    let object = schema.pointer_mut(place).expect("a place in the schema");
    describe(columns, object.as_object_mut().expect("an object"));
    let text = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    expect_test::expect_file![path].assert_eq(&text);
}

fn describe<T: Table>(columns: &[Column<T>], object: &mut Map<String, Value>) {
    let names: Vec<&str> = columns.iter().map(|c| c.name).collect();
    object.insert("required".to_owned(), json!(names));
    let before = object["properties"].as_object().cloned();
    let mut before = before.unwrap_or_default();
    let mut properties = Map::new();
    for c in columns {
        let before = before.remove(c.name).unwrap_or_default();
        properties.insert(c.name.to_owned(), property(c, before));
    }
    properties.extend(before);
    object.insert("properties".to_owned(), properties.into());
}

fn property<T: Table>(c: &Column<T>, before: Value) -> Value {
    let (kind, unit) = match c.kind {
        Kind::Text | Kind::Hash => ("string", ""),
        Kind::Flag => ("boolean", ""),
        Kind::Count | Kind::Frame => ("integer", ""),
        Kind::Bytes => ("integer", "bytes"),
        Kind::Duration | Kind::Time => ("integer", "ns"),
        Kind::Word(_) => ("", ""),
        Kind::Json(kind) => (kind, ""),
    };
    let kind = match c.nullable {
        true => json!([kind, "null"]),
        false => json!(kind),
    };
    let mut property = match before {
        Value::Object(before) if matches!(c.kind, Kind::Json(_)) => before,
        _ => Map::new(),
    };
    match c.kind {
        Kind::Word(words) => {
            let null = c.nullable.then_some(Value::Null);
            let words = words.iter().map(|w| Value::from(*w)).chain(null);
            property.insert("enum".to_owned(), words.collect());
        }
        _ => drop(property.insert("type".to_owned(), kind)),
    }
    match c.kind {
        Kind::Hash => drop(property.insert("pattern".to_owned(), "^[0-9a-f]{16}$".into())),
        Kind::Frame => drop(property.insert("minimum".to_owned(), 1.into())),
        Kind::Count | Kind::Bytes => drop(property.insert("minimum".to_owned(), 0.into())),
        _ => {}
    }
    let says_unit = c.help.split([' ', ',', ';']).any(|word| word == unit);
    let help = match unit {
        "" => c.help.to_owned(),
        _ if says_unit => c.help.to_owned(),
        unit => format!("{}, {unit}", c.help),
    };
    property.insert("description".to_owned(), help.into());
    property.into()
}
