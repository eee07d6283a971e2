//! The schemas in `docs/schemas` against the columns: `UPDATE_EXPECT=1 cargo test -p report` writes them
//! anew.

use super::{Column, ColumnKind, Table};
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
    let columns: Vec<&Column<T>> = columns.iter().filter(|c| c.json).collect();
    let mut before = take(object, "properties");
    let mut required = Vec::new();
    let mut properties = Map::new();
    for group in columns.chunk_by(|a, b| a.object() == b.object()) {
        let name = group[0].object();
        if name.is_empty() {
            add(group, &mut before, &mut required, &mut properties);
            continue;
        }
        let mut inner = take(&mut before, name);
        before.shift_remove(name);
        inner.entry("type").or_insert("object".into());
        let mut inner_before = take(&mut inner, "properties");
        let (mut names, mut described) = (Vec::new(), Map::new());
        add(group, &mut inner_before, &mut names, &mut described);
        inner.insert("required".to_owned(), json!(names));
        inner.insert("properties".to_owned(), described.into());
        required.push(name.to_owned());
        properties.insert(name.to_owned(), inner.into());
    }
    properties.extend(before);
    object.insert("required".to_owned(), json!(required));
    object.insert("properties".to_owned(), properties.into());
}

/// What was an object there, or nothing; its place stays.
fn take(object: &mut Map<String, Value>, name: &str) -> Map<String, Value> {
    match object.get_mut(name).map(Value::take) {
        Some(Value::Object(inner)) => inner,
        _ => Map::new(),
    }
}

fn add<T: Table>(
    columns: &[&Column<T>],
    before: &mut Map<String, Value>,
    required: &mut Vec<String>,
    properties: &mut Map<String, Value>,
) {
    for c in columns {
        let name = match c.nested {
            true => c.name.to_owned(),
            false => c.word(),
        };
        let property = property(c, take(before, &name));
        before.shift_remove(&name);
        required.extend((!c.optional).then(|| name.clone()));
        properties.insert(name, property.into());
    }
}

/// Bounds and words that were said by hand stay.
fn property<T: Table>(c: &Column<T>, mut said: Map<String, Value>) -> Map<String, Value> {
    let (kind, least) = match c.kind {
        ColumnKind::Text => ("string", None),
        ColumnKind::Flag => ("boolean", None),
        ColumnKind::Integer | ColumnKind::Duration | ColumnKind::Time => ("integer", None),
        ColumnKind::Count | ColumnKind::Bytes | ColumnKind::Rate => ("integer", Some(0)),
        ColumnKind::Ordinal => ("integer", Some(1)),
        ColumnKind::Number => ("number", None),
        ColumnKind::Json(kind) => (kind, None),
        ColumnKind::Map => ("object", None),
        ColumnKind::List(_) => ("array", None),
    };
    let unit = c.kind.unit().unwrap_or_default();
    if !said.contains_key("enum") {
        let kind = if c.nullable {
            json!([kind, "null"])
        } else {
            json!(kind)
        };
        said.insert("type".to_owned(), kind);
    }
    if let Some(least) = least {
        said.insert("minimum".to_owned(), least.into());
    }
    let words = [" ", ",", ";"].map(|end| format!(" {unit}{end}"));
    let help = format!(" {} ", c.help);
    let says_unit = unit.is_empty() || words.iter().any(|w| help.contains(w));
    let help = match says_unit {
        true => c.help.to_owned(),
        false => format!("{}, {unit}", c.help),
    };
    if !c.kind.is_nested() {
        said.shift_remove("description");
    }
    said.insert("description".to_owned(), help.into());
    said
}
