//! The request, letter by letter.

use super::*;
use crate::Anonymise;
use crate::openmetrics::tests::{sample, times};
use expect_test::expect;
use model::{Code, Endpoint, Name};
use pseudonyms::Anonymiser;

fn source() -> OtlpSource {
    OtlpSource {
        version: "1.2.3",
        host: "db1\u{1b}[2J".to_owned(),
        instance: "db1/eth0".to_owned(),
        start_ns: 1_700_000_000_000_000_001,
        now_ns: 1_700_000_010_000_000_002,
    }
}

fn written(result: &MetricsResult) -> String {
    let mut out = Vec::new();
    otlp(result, &source(), &mut out).expect("memory");
    String::from_utf8(out).expect("UTF-8")
}

/// The metrics of a request.
fn metrics(text: &str) -> Vec<Value> {
    let request: Value = serde_json::from_str(text).expect("JSON");
    let metrics = &request["resourceMetrics"][0]["scopeMetrics"][0]["metrics"];
    metrics.as_array().expect("a list").clone()
}

fn metric(text: &str, name: &str) -> Value {
    let all = metrics(text);
    let found = all.into_iter().find(|m| m["name"] == name);
    found.unwrap_or_else(|| panic!("{name}"))
}

fn with_databases() -> MetricsResult {
    let server = Endpoint {
        address: [10, 0, 0, 9].into(),
        port: 5433,
    };
    let row = |error, server| DatabaseRow {
        protocol: Protocol::Pgsql,
        op: Name::of("Query"),
        server,
        error,
        times: times(3_002_500_000, &[(3, 1), (4, 2), (18, 1), (19, 5)]),
    };
    let code = Outcome::Code(Code::public("42P01"));
    MetricsResult {
        databases: vec![
            row(None, Some(server)),
            row(Some(code), Some(server)),
            row(None, None),
        ],
        ..MetricsResult::default()
    }
}

#[test]
fn a_request_is_that_of_the_protocol() {
    expect![[r#"{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"slowside"}},{"key":"service.version","value":{"stringValue":"1.2.3"}},{"key":"service.instance.id","value":{"stringValue":"db1/eth0"}},{"key":"host.name","value":{"stringValue":"db1 [2J"}}]},"scopeMetrics":[{"scope":{"name":"slowside","version":"1.2.3"},"metrics":[{"name":"slowside_other_calls","description":"Calls that count as other, as there are too many labels.","unit":"","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asInt":"0"}]}},{"name":"slowside_captured_packets","description":"Packets that were captured.","unit":"","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asInt":"0"}]}},{"name":"slowside_captured_bytes","description":"Bytes of these packets on the wire.","unit":"By","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asInt":"0"}]}},{"name":"slowside_missing_bytes","description":"Bytes that their receivers had and the capture lacks, of connections that are over.","unit":"By","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asInt":"0"}]}}]}]}]}"#]].assert_eq(&written(&MetricsResult::default()));
}

#[test]
fn sums_gauges_and_histograms_have_the_fields_of_the_protocol() {
    let mut result = sample();
    for row in &mut result.calls {
        row.keys.truncate(2);
    }
    let text = written(&result);
    expect![[r#"{"name":"slowside_calls","description":"Calls, those in part too.","unit":"","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[{"key":"protocol","value":{"stringValue":"nfs4.1"}},{"key":"op","value":{"stringValue":"READ"}},{"key":"server","value":{"stringValue":"10.0.0.2"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asInt":"4"}]}}"#]].assert_eq(&metric(&text, "slowside_calls").to_string());
    expect![[r#"{"name":"slowside_held_seconds","description":"How long TCP held messages of calls back: for what was lost, a closed window, Nagle.","unit":"s","sum":{"aggregationTemporality":2,"isMonotonic":true,"dataPoints":[{"attributes":[{"key":"protocol","value":{"stringValue":"nfs4.1"}},{"key":"op","value":{"stringValue":"READ"}},{"key":"server","value":{"stringValue":"10.0.0.2"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","asDouble":0.25}]}}"#]].assert_eq(&metric(&text, "slowside_held_seconds").to_string());
    expect![[r#"{"name":"slowside_response_time_seconds","description":"From a request's first byte to its response's last, where packets were captured.","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"attributes":[{"key":"protocol","value":{"stringValue":"nfs4.1"}},{"key":"op","value":{"stringValue":"READ"}},{"key":"server","value":{"stringValue":"10.0.0.2"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","count":"3","sum":3.0025,"bucketCounts":["0","0","0","0","2","0","0","0","0","0","0","0","0","0","0","0","0","0","1","0"],"explicitBounds":[0.0001,0.00025,0.0005,0.001,0.0025,0.005,0.01,0.02,0.05,0.1,0.25,0.5,1.0,2.5,5.0,10.0,30.0,60.0,300.0]}]}}"#]].assert_eq(&metric(&text, "slowside_response_time_seconds").to_string());
    expect![[r#"{"name":"slowside_reached_timestamp_seconds","description":"Until when packets have been looked at, since the epoch.","unit":"s","gauge":{"dataPoints":[{"attributes":[],"timeUnixNano":"1700000010000000002","asDouble":1700000000.5}]}}"#]].assert_eq(&metric(&text, "slowside_reached_timestamp_seconds").to_string());
    expect![[r#"{"name":"slowside_outstanding","description":"Calls without their answer yet, when the last interval ended.","unit":"","gauge":{"dataPoints":[{"attributes":[{"key":"protocol","value":{"stringValue":"nfs4.1"}},{"key":"server","value":{"stringValue":"10.0.0.2"}}],"timeUnixNano":"1700000010000000002","asInt":"5"}]}}"#]].assert_eq(&metric(&text, "slowside_outstanding").to_string());
}

#[test]
fn the_families_are_those_of_openmetrics_and_none_is_there_twice() {
    let result = sample();
    let all = metrics(&written(&result));
    let mut names: Vec<&str> = all
        .iter()
        .map(|m| m["name"].as_str().expect("text"))
        .collect();
    let mut text = Vec::new();
    crate::openmetrics(result.clone(), &mut text).expect("memory");
    let text = String::from_utf8(text).expect("UTF-8");
    let types = text.lines().filter_map(|l| l.strip_prefix("# TYPE "));
    let mut expected: Vec<&str> = types.filter_map(|l| l.split(' ').next()).collect();
    names.sort_unstable();
    expected.sort_unstable();
    assert_eq!(names, expected);
    names.dedup();
    assert_eq!(names.len(), expected.len());
}

#[test]
fn what_strangers_said_stays_within_its_value() {
    let text = written(&sample());
    assert!(
        !text.contains('\u{1b}') && !text.contains("\\u001b"),
        "{text}"
    );
    let calls = metric(&text, "slowside_calls");
    let attributes = &calls["sum"]["dataPoints"][0]["attributes"];
    let names = attributes.as_array().expect("a list").iter();
    let names: Vec<&Value> = names.map(|a| &a["key"]).collect();
    assert_eq!(
        names,
        ["protocol", "op", "server", "client", "file", "size"]
    );
    assert_eq!(
        attributes[3]["value"]["stringValue"],
        "a\\b\"} 1 slowside_evil{x=\" [2J"
    );
}

#[test]
fn databases_are_named_as_the_conventions_name_them() {
    let text = written(&with_databases());
    expect![[r#"{"name":"db.client.operation.duration","description":"Duration of database client operations, where packets were captured.","unit":"s","histogram":{"aggregationTemporality":2,"dataPoints":[{"attributes":[{"key":"db.system.name","value":{"stringValue":"postgresql"}},{"key":"db.operation.name","value":{"stringValue":"Query"}},{"key":"server.address","value":{"stringValue":"10.0.0.9"}},{"key":"server.port","value":{"intValue":"5433"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","count":"9","sum":3.0025,"bucketCounts":["1","2","0","0","0","0","0","0","0","6"],"explicitBounds":[0.001,0.005,0.01,0.05,0.1,0.5,1.0,5.0,10.0]},{"attributes":[{"key":"db.system.name","value":{"stringValue":"postgresql"}},{"key":"db.operation.name","value":{"stringValue":"Query"}},{"key":"db.response.status_code","value":{"stringValue":"42P01"}},{"key":"error.type","value":{"stringValue":"42P01"}},{"key":"server.address","value":{"stringValue":"10.0.0.9"}},{"key":"server.port","value":{"intValue":"5433"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","count":"9","sum":3.0025,"bucketCounts":["1","2","0","0","0","0","0","0","0","6"],"explicitBounds":[0.001,0.005,0.01,0.05,0.1,0.5,1.0,5.0,10.0]},{"attributes":[{"key":"db.system.name","value":{"stringValue":"postgresql"}},{"key":"db.operation.name","value":{"stringValue":"Query"}}],"startTimeUnixNano":"1700000000000000001","timeUnixNano":"1700000010000000002","count":"9","sum":3.0025,"bucketCounts":["1","2","0","0","0","0","0","0","0","6"],"explicitBounds":[0.001,0.005,0.01,0.05,0.1,0.5,1.0,5.0,10.0]}]}}"#]].assert_eq(&metric(&text, DATABASES.name).to_string());
}

#[test]
fn classes_of_other_bounds_are_sums_of_ours() {
    assert!(DATABASE_BOUNDS_NS.iter().all(|b| BOUNDS_NS.contains(b)));
    let mut each = Times::default();
    for (i, n) in each.counts.iter_mut().enumerate() {
        *n = 1 << i;
    }
    let all: Vec<u64> = classes(&each, &BOUNDS_NS).collect();
    assert_eq!(all, each.counts);
    let coarse: Vec<u64> = classes(&each, &DATABASE_BOUNDS_NS).collect();
    assert_eq!(coarse.len(), DATABASE_BOUNDS_NS.len() + 1);
    assert_eq!(coarse.iter().sum::<u64>(), each.count());
    // Up to 1 ms are four of ours.
    assert_eq!(coarse[0], 0b1111);
}

#[test]
fn pseudonyms_stand_for_servers_and_for_errors_that_people_made() {
    let names = Anonymiser::new(b"a key for tests");
    let mut result = with_databases();
    result.databases[1].error = Some(Outcome::Code(Code::new("ZZ999")));
    let text = written(&result.anonymised(&names));
    let data = metric(&text, DATABASES.name).to_string();
    assert!(
        !data.contains("10.0.0.9") && !data.contains("ZZ999"),
        "{data}"
    );
    assert!(data.contains("5433"), "{data}");
}
