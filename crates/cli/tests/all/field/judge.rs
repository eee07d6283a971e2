//! What a run must say (`lab/kit/expect.py`, `run`) and what was said, into the checks that do not hold.

use super::subject::Subject;
use regex_lite::Regex;
use serde_json::{Map, Value};

/// Characters of what is said instead that the list keeps.
const SAID_CHARS: usize = 300;

/// What a command said: once as text, once as JSON; what was not asked for is empty.
#[derive(Default)]
pub(crate) struct Said {
    /// The exit code if it is not one of those that the run allows.
    pub(crate) bad_exit: Option<i32>,
    pub(crate) text: String,
    pub(crate) json: Value,
    /// The message on standard error; it belongs to the text.
    pub(crate) problem: String,
}

/// One command over a case's files, and what it must say.
pub(crate) struct Run {
    pub(crate) name: String,
    pub(crate) command: String,
    pub(crate) args: Vec<String>,
    pub(crate) exits: Vec<i64>,
    pub(crate) checks: Vec<Check>,
}

pub(crate) struct Check {
    /// How the list names it; unique within its run.
    pub(crate) key: String,
    must: Must,
}

/// `low` and `high` are allowed themselves.
pub(crate) struct Range {
    low: f64,
    high: f64,
}

enum Must {
    /// The exit code; that it is allowed is asked before any check.
    Exit,
    Verdict(&'static str, Vec<Value>),
    Find(Vec<String>),
    Forbid(String),
    Fact(String, String, Range),
    Cost(String, Range),
    Where(Subject),
    /// The verdict's sentence, or the text's first paragraph.
    First {
        verdict: bool,
        pattern: Regex,
    },
    Says(Regex),
    Never(Regex),
    Between(String, Range),
    In(String, Vec<Value>),
}

impl Run {
    /// Reads one of `runs`. An expectation that cannot be understood, or that asks for nothing, is an error.
    pub(crate) fn read(value: &Value) -> Result<Run, String> {
        let fields = value.as_object().ok_or("a run is no object")?;
        let name = text(fields, "name")?;
        Run::read_named(fields, &name).map_err(|e| format!("run {name}: {e}"))
    }

    fn read_named(fields: &Map<String, Value>, name: &str) -> Result<Run, String> {
        let mut run = Run {
            name: name.into(),
            command: text(fields, "command")?,
            args: strings(fields.get("args").ok_or("no args")?)?,
            exits: vec![0, 1, 3],
            checks: Vec::new(),
        };
        for (field, wanted) in fields {
            if !["name", "command", "args"].contains(&field.as_str()) {
                run.read_checks(field, wanted)
                    .map_err(|e| format!("{field}: {e}"))?;
            }
        }
        if run.checks.is_empty() {
            return Err("nothing is checked".into());
        }
        let mut keys: Vec<&str> = run.checks.iter().map(|c| c.key.as_str()).collect();
        keys.sort_unstable();
        match keys.windows(2).find(|k| k[0] == k[1]) {
            Some(twice) => Err(format!("{} is there twice", twice[0])),
            None => Ok(run),
        }
    }

    fn read_checks(&mut self, field: &str, wanted: &Value) -> Result<(), String> {
        match field {
            "side" => self.add("side", Must::Verdict("side", values(wanted)?)),
            "cause" => self.add("cause", Must::Verdict("cause", values(wanted)?)),
            "exit" => {
                let exits = values(wanted)?;
                let exits: Option<Vec<i64>> = exits.iter().map(Value::as_i64).collect();
                self.exits = exits.ok_or("not numbers")?;
                self.add("exit", Must::Exit);
            }
            "find" => {
                for one in values(wanted)? {
                    let any = match &one {
                        Value::String(code) => vec![code.clone()],
                        several => strings(several)?,
                    };
                    self.add(&any.join(" or "), Must::Find(any));
                }
            }
            "forbid" => {
                for code in strings(wanted)? {
                    self.add(&code.clone(), Must::Forbid(code));
                }
            }
            "facts" => {
                for (code, facts) in object(wanted)? {
                    for (fact, bounds) in object(facts)? {
                        let must = Must::Fact(code.clone(), fact.clone(), range(bounds)?);
                        self.add(&format!("{code}.{fact}"), must);
                    }
                }
            }
            "cost_s" => {
                for (code, bounds) in object(wanted)? {
                    self.add(code, Must::Cost(code.clone(), range(bounds)?));
                }
            }
            "where" => {
                for one in values(wanted)? {
                    let subject = Subject::read(&one)?;
                    self.add(&subject.name(), Must::Where(subject));
                }
            }
            "first" => {
                for one in strings(wanted)? {
                    let pattern = pattern(&one)?;
                    let verdict = self.command == "diagnose";
                    self.add(&one, Must::First { verdict, pattern });
                }
            }
            "says" => {
                for one in strings(wanted)? {
                    self.add(&one, Must::Says(pattern(&one)?));
                }
            }
            "never" => {
                for one in strings(wanted)? {
                    self.add(&one, Must::Never(pattern(&one)?));
                }
            }
            "json" => {
                for (path, asked) in object(wanted)? {
                    let asked = object(asked)?;
                    let must = match (asked.get("between"), asked.get("in"), asked.len()) {
                        (Some(bounds), None, 1) => Must::Between(path.clone(), range(bounds)?),
                        (None, Some(any), 1) => Must::In(path.clone(), values(any)?),
                        _ => return Err(format!("{path} asks for neither between nor in")),
                    };
                    self.add(path, must);
                }
            }
            _ => return Err("no such check".into()),
        }
        let of_field = format!("{field} ");
        let added = |c: &Check| c.key == field || c.key.starts_with(&of_field);
        if self.checks.iter().any(added) {
            Ok(())
        } else {
            Err("is empty".into())
        }
    }

    /// `field` has put `must` down; its key is "field what", or what alone where that is the field.
    fn add(&mut self, what: &str, must: Must) {
        let field = match &must {
            Must::Exit | Must::Verdict(..) => "",
            Must::Find(_) => "find ",
            Must::Forbid(_) => "forbid ",
            Must::Fact(..) => "facts ",
            Must::Cost(..) => "cost_s ",
            Must::Where(_) => "where ",
            Must::First { .. } => "first ",
            Must::Says(_) => "says ",
            Must::Never(_) => "never ",
            Must::Between(..) | Must::In(..) => "json ",
        };
        let key = clean(&format!("{field}{what}"));
        self.checks.push(Check { key, must });
    }

    pub(crate) fn needs_json(&self) -> bool {
        self.checks.iter().any(|c| {
            !matches!(
                c.must,
                Must::Exit | Must::Says(_) | Must::Never(_) | Must::First { verdict: false, .. }
            )
        })
    }

    pub(crate) fn needs_text(&self) -> bool {
        self.checks.iter().any(|c| {
            matches!(
                c.must,
                Must::Exit | Must::Says(_) | Must::Never(_) | Must::First { verdict: false, .. }
            )
        })
    }

    /// Checks that do not hold: (key, what is said instead). A command that could not do its work keeps none.
    pub(crate) fn misses(&self, said: &Said) -> Vec<(String, String)> {
        if let Some(code) = said.bad_exit {
            let instead = clean(&format!("exit {code}: {}", said.problem));
            return self
                .checks
                .iter()
                .map(|c| (c.key.clone(), instead.clone()))
                .collect();
        }
        let missed = |c: &Check| Some((c.key.clone(), clean(&c.must.missed(said)?)));
        self.checks.iter().filter_map(missed).collect()
    }
}

impl Must {
    /// What is said instead, where it does not hold.
    fn missed(&self, said: &Said) -> Option<String> {
        let verdict = &said.json["verdict"];
        let sentence = || verdict["sentence"].as_str().unwrap_or("no verdict");
        let text = clean_whole(&format!("{}\n\n{}", said.text, said.problem));
        let unless = |holds: bool, instead: String| (!holds).then_some(instead);
        match self {
            Must::Exit => None,
            Must::Verdict(field, any) => {
                let told = verdict.get(field);
                let holds = told.is_some_and(|v| any.contains(v));
                unless(holds, sentence().into())
            }
            Must::Find(any) => unless(any.iter().any(|c| finding(said, c).is_some()), codes(said)),
            Must::Forbid(code) => match (said.json["findings"].as_array(), finding(said, code)) {
                (Some(_), None) => None,
                (None, _) => Some("no list of findings".into()),
                (_, Some(f)) => Some(f["title"].as_str().unwrap_or(code).into()),
            },
            Must::Fact(code, fact, range) => {
                let Some(f) = finding(said, code) else {
                    return Some(codes(said));
                };
                let told = &f["facts"][fact];
                unless(range.holds(told), told.to_string())
            }
            Must::Cost(code, range) => {
                let Some(f) = finding(said, code) else {
                    return Some(codes(said));
                };
                let seconds = f["cost_ns"].as_f64().map(|ns| ns / 1e9);
                let holds = seconds.is_some_and(|s| range.holds(&s.into()));
                unless(
                    holds,
                    seconds.map_or("no cost".into(), |s| format!("{s:.3} s")),
                )
            }
            Must::Where(subject) => subject.missed(&said.json["findings"]),
            Must::First { verdict, pattern } => {
                let first = if *verdict {
                    sentence().into()
                } else {
                    first_paragraph(&said.text)
                };
                unless(pattern.is_match(&first), first)
            }
            Must::Says(pattern) => unless(pattern.is_match(&text), first_paragraph(&said.text)),
            Must::Never(pattern) if said.text.trim().is_empty() && said.problem.is_empty() => {
                Some(format!("says nothing, so not {pattern} either"))
            }
            Must::Never(pattern) => pattern.find(&text).map(|m| m.as_str().into()),
            Must::Between(path, range) => {
                let told = at(&said.json, path);
                unless(told.is_some_and(|v| range.holds(v)), shown(told))
            }
            Must::In(path, any) => {
                let told = at(&said.json, path);
                unless(told.is_some_and(|v| any.contains(v)), shown(told))
            }
        }
    }
}

impl Range {
    pub(crate) fn holds(&self, value: &Value) -> bool {
        value
            .as_f64()
            .is_some_and(|v| self.low <= v && v <= self.high)
    }
}

fn finding<'a>(said: &'a Said, code: &str) -> Option<&'a Value> {
    let mut all = said.json["findings"].as_array()?.iter();
    all.find(|f| f["code"] == code)
}

fn codes(said: &Said) -> String {
    let all = said.json["findings"].as_array().into_iter().flatten();
    let codes: Vec<&str> = all.filter_map(|f| f["code"].as_str()).collect();
    if codes.is_empty() {
        "no finding".into()
    } else {
        format!("only {}", codes.join(", "))
    }
}

/// The value at a path such as `ops[0].matched.count`.
fn at<'a>(json: &'a Value, path: &str) -> Option<&'a Value> {
    let mut here = json;
    for step in path.split('.') {
        let mut parts = step.split('[');
        let field = parts.next().unwrap_or_default();
        if !field.is_empty() {
            here = here.get(field)?;
        }
        for index in parts {
            here = here.get(index.strip_suffix(']')?.parse::<usize>().ok()?)?;
        }
    }
    Some(here)
}

fn shown(value: Option<&Value>) -> String {
    value.map_or("nothing there".into(), Value::to_string)
}

/// The text up to its first empty line, on one line.
fn first_paragraph(text: &str) -> String {
    let lines = text.lines().skip_while(|l| l.trim().is_empty());
    let lines: Vec<&str> = lines.take_while(|l| !l.trim().is_empty()).collect();
    clean_whole(&lines.join(" "))
}

/// On one line: where a sentence is broken into lines is nobody's concern.
fn clean_whole(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// On one line that is not too long for the list.
pub(crate) fn clean(text: &str) -> String {
    let whole = clean_whole(text);
    match whole.char_indices().nth(SAID_CHARS) {
        Some((end, _)) => format!("{}…", &whole[..end]),
        None => whole,
    }
}

fn text(fields: &Map<String, Value>, name: &str) -> Result<String, String> {
    let value = fields.get(name).and_then(Value::as_str);
    value.map(str::to_owned).ok_or(format!("no {name}"))
}

pub(crate) fn object(value: &Value) -> Result<&Map<String, Value>, String> {
    value
        .as_object()
        .ok_or_else(|| format!("{value} is no object"))
}

pub(crate) fn values(value: &Value) -> Result<Vec<Value>, String> {
    value
        .as_array()
        .cloned()
        .ok_or_else(|| format!("{value} is no list"))
}

pub(crate) fn strings(value: &Value) -> Result<Vec<String>, String> {
    let all = values(value)?;
    let texts = all.iter().map(|v| v.as_str().map(str::to_owned));
    texts
        .collect::<Option<_>>()
        .ok_or_else(|| format!("{value} is no list of texts"))
}

pub(crate) fn range(value: &Value) -> Result<Range, String> {
    match values(value)?.as_slice() {
        [low, high] => match (low.as_f64(), high.as_f64()) {
            (Some(low), Some(high)) if low <= high => Ok(Range { low, high }),
            _ => Err(format!("{value} is no range")),
        },
        _ => Err(format!("{value} is no range")),
    }
}

pub(crate) fn pattern(text: &str) -> Result<Regex, String> {
    match Regex::new(text) {
        Ok(pattern) if pattern.is_match("") => Err(format!("{text} matches everything")),
        Ok(pattern) => Ok(pattern),
        Err(e) => Err(format!("{text}: {e}")),
    }
}
