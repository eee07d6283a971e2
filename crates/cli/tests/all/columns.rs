//! Rows in columns, read back: cell by cell what CSV says, of every command that has rows.

use crate::kit::{folder, lab, refused, root, slowside, text};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_ipc::reader::StreamReader;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use serde_json::{Map, Value};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// `C` and `S` are both ends, `D` a database's capture.
const LINES: &[(&str, &str)] = &[
    ("calls C S", "slowside.calls/1"),
    ("calls C --sort start", "slowside.calls/1"),
    ("calls D", "slowside.calls/1"),
    ("conns C S", "slowside.conns/1"),
    ("conns C --series 100ms", "slowside.series/1"),
    (
        "ops C --by op,client,file,size,time=100ms",
        "slowside.ops/1",
    ),
    ("sql D --by user,statement", "slowside.sql/1"),
    ("sql D --show-literals", "slowside.sql/1"),
    ("stat C --interval 100ms", "slowside.stat/1"),
    ("startup C", "slowside.startup/1"),
    ("whatif D --rtt 5ms", "slowside.whatif/1"),
];

fn words(line: &str, more: &[&str]) -> Vec<String> {
    let path = |path: PathBuf| path.display().to_string();
    let word = |word: &str| match word {
        "C" => path(lab("server-cap", "client")),
        "S" => path(lab("server-cap", "server")),
        "D" => path(root().join("tests/databases/pgsql/extended.pcap")),
        word => word.to_owned(),
    };
    let more = more.iter().map(|&word| word.to_owned());
    line.split(' ').map(word).chain(more).collect()
}

/// The rows of CSV, names first (RFC 4180 section 2).
fn csv(text: &str) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new()]];
    let (mut quoted, mut letters) = (false, text.chars().peekable());
    while let Some(c) = letters.next() {
        let row = rows.last_mut().expect("one");
        let cell = row.last_mut().expect("one");
        match c {
            '"' if quoted && letters.peek() == Some(&'"') => cell.extend(letters.next()),
            '"' => quoted = !quoted,
            ',' if !quoted => row.push(String::new()),
            '\n' if !quoted => rows.push(vec![String::new()]),
            c => cell.push(c),
        }
    }
    rows.pop();
    rows
}

/// A cell as CSV has it; of what is nested, as JSON.
fn cell(column: &dyn Array, row: usize) -> String {
    use arrow_schema::DataType::{Boolean, Dictionary, Float64, Int64, List, Map, Timestamp, Utf8};
    if column.is_null(row) {
        return String::new();
    }
    match column.data_type() {
        Dictionary(..) => {
            let names = column.as_dictionary::<Int32Type>();
            let key = usize::try_from(names.keys().value(row)).expect("a key");
            cell(names.values(), key)
        }
        Utf8 => column.as_string::<i32>().value(row).to_owned(),
        Boolean => column.as_boolean().value(row).to_string(),
        Int64 => column.as_primitive::<Int64Type>().value(row).to_string(),
        Float64 => column.as_primitive::<Float64Type>().value(row).to_string(),
        Timestamp(..) => {
            let times = column.as_primitive::<TimestampNanosecondType>();
            times.value(row).to_string()
        }
        Map(..) | List(_) => nested(column, row).to_string(),
        other => panic!("{other}"),
    }
}

/// What stands in a map or list, with texts for values.
fn nested(column: &dyn Array, row: usize) -> Value {
    if let Some(map) = column.as_map_opt() {
        let entries = map.value(row);
        let value = |i| {
            (
                cell(entries.column(0), i),
                cell(entries.column(1), i).into(),
            )
        };
        return Value::Object((0..entries.len()).map(value).collect());
    }
    let elements = column.as_list::<i32>().value(row);
    let elements = elements.as_struct();
    let element = |i| {
        let names = elements.column_names().into_iter();
        let parts = names.zip(elements.columns());
        let part = |(name, part): (&str, &ArrayRef)| (name.to_owned(), cell(part, i).into());
        Value::Object(parts.map(part).collect::<Map<String, Value>>())
    };
    (0..elements.len()).map(element).collect()
}

/// JSON of CSV in the same way.
fn texts(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let text = |(k, v): (&String, &Value)| (k.clone(), texts(v));
            Value::Object(map.iter().map(text).collect())
        }
        Value::Array(list) => list.iter().map(texts).collect(),
        Value::Null => "".into(),
        Value::String(text) => text.as_str().into(),
        other => other.to_string().into(),
    }
}

fn assert_same(csv: &[Vec<String>], batches: &[RecordBatch], line: &str) {
    let (names, rows) = csv.split_first().expect("names");
    let mut rows = rows.iter();
    for batch in batches {
        let schema = batch.schema();
        let fields: Vec<&String> = schema.fields().iter().map(|f| f.name()).collect();
        assert_eq!(fields, names.iter().collect::<Vec<_>>(), "{line}");
        for row in 0..batch.num_rows() {
            let expected = rows.next().expect("as many rows");
            for ((column, name), expected) in batch.columns().iter().zip(names).zip(expected) {
                let found = cell(column, row);
                let same = found == *expected
                    || match (found.parse::<f64>(), expected.parse::<f64>()) {
                        (Ok(found), Ok(expected)) => found == expected,
                        _ => serde_json::from_str(expected)
                            .map(|json: Value| texts(&json).to_string())
                            .is_ok_and(|expected| expected == found),
                    };
                assert!(same, "{line}: {name} {row}: {found:?}, not {expected:?}");
            }
        }
    }
    assert_eq!(rows.len(), 0, "{line}: as many rows");
}

/// What the file says that it holds, and its rows.
fn parquet(file: &Path) -> (Option<String>, Vec<RecordBatch>) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).expect("a file"));
    let reader = reader.expect("Parquet");
    let schema = reader.schema().metadata().get("slowside.schema").cloned();
    let batches = reader.build().expect("a reader");
    (
        schema,
        batches.map(|batch| batch.expect("a batch")).collect(),
    )
}

#[test]
fn columns_are_those_of_csv_cell_by_cell() {
    let file = folder("columns").join("rows.parquet");
    for &(line, schema) in LINES {
        let output = slowside(words(line, &["--format", "csv", "--raw-cells", "-q"]));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let rows = csv(&text(&output.stdout));
        assert!(rows.len() > 2, "{line}: {rows:?}");

        let target = file.to_str().expect("UTF-8");
        let output = slowside(words(line, &["--format", "parquet", "-o", target, "-q"]));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(text(&output.stdout) + &text(&output.stderr), "", "{line}");
        let (said, batches) = parquet(&file);
        assert_same(&rows, &batches, line);
        assert_eq!(said.as_deref(), Some(schema), "{line}");

        let output = slowside(words(line, &["--format", "arrow", "-q"]));
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stream = StreamReader::try_new(&*output.stdout, None).expect("a stream");
        let batches: Vec<RecordBatch> = stream.map(|b| b.expect("a batch")).collect();
        assert_same(&rows, &batches, line);
        // It is what a pipe reads at whatever end.
        let output = slowside(words(line, &["--format", "parquet", "-q", "-o", "-"]));
        assert_eq!(output.stdout, fs::read(&file).expect("a file"), "{line}");
    }
}

#[test]
fn units_and_meanings_stand_with_the_columns() {
    let output = slowside(words("calls C", &["--format", "arrow", "-q"]));
    let stream = StreamReader::try_new(&*output.stdout, None).expect("a stream");
    let schema = stream.schema();
    let field = |name| schema.field_with_name(name).expect("a column");
    let said = |name, what| field(name).metadata().get(what).map(String::as_str);
    assert_eq!(said("wait_ns", "unit"), Some("ns"));
    assert_eq!(said("request_bytes", "unit"), Some("bytes"));
    assert_eq!(said("request_first_ns", "unit"), None, "its type says it");
    assert_eq!(said("op", "description"), Some("the operation"));
    let types = ["request_first_ns", "op", "id", "in_diagnosis"].map(|n| field(n).data_type());
    assert_eq!(
        types.map(ToString::to_string),
        [
            "Timestamp(ns, \"UTC\")",
            "Dictionary(Int32, Utf8)",
            "Utf8",
            "Boolean"
        ]
    );
}

#[test]
fn only_what_slowside_wrote_is_replaced() {
    let folder = folder("columns-replaced");
    let file = folder.join("rows");
    let target = file.to_str().expect("UTF-8");
    let rows = |format| words("calls C", &["--format", format, "-q", "-o", target]);
    fs::write(&file, "a diary").expect("a file");
    for format in ["parquet", "arrow"] {
        let said = refused(rows(format));
        assert!(said.contains("exists and is no"), "{said}");
    }
    fs::write(&file, "").expect("a file");
    for _ in 0..2 {
        assert_eq!(slowside(rows("parquet")).status.code(), Some(0));
    }
    assert!(refused(rows("arrow")).contains("exists and is no Arrow stream"));
    let said = refused(rows("csv"));
    assert!(
        said.contains("-o is for --format parquet and arrow"),
        "{said}"
    );
    assert!(fs::read(&file).expect("a file").starts_with(b"PAR1"));
}

#[test]
fn what_cannot_be_read_leaves_no_rows() {
    let folder = folder("columns-none");
    let (file, input) = (folder.join("rows.parquet"), folder.join("none.pcap"));
    fs::write(&input, "no capture").expect("a file");
    let path = |path: &Path| path.display().to_string();
    let output = slowside([
        "calls".to_owned(),
        path(&input),
        "--format=parquet".to_owned(),
        "-o".to_owned(),
        path(&file),
    ]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(!file.exists());
}
