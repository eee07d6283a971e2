//! `tests/field/not-yet.tsv`: the checks that do not hold today. It only shrinks.

use super::judge::clean;

/// A line of the list; the last column is for people.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Line {
    pub(crate) case: String,
    pub(crate) run: String,
    pub(crate) check: String,
    pub(crate) said: String,
}

const HEAD: &str = "# case\trun\tcheck\tsaid instead";

impl Line {
    pub(crate) fn new(case: &str, run: &str, check: &str, said: &str) -> Line {
        let [case, run, check, said] = [case, run, check, said].map(clean);
        Line {
            case,
            run,
            check,
            said,
        }
    }

    pub(crate) fn same_check(&self, other: &Line) -> bool {
        (&self.case, &self.run, &self.check) == (&other.case, &other.run, &other.check)
    }

    fn name(&self) -> String {
        format!("{}, run {}, {}", self.case, self.run, self.check)
    }
}

pub(crate) fn read(text: &str) -> Result<Vec<Line>, String> {
    let lines = text.lines().filter(|l| !l.starts_with('#'));
    let line = |l: &str| match l.split('\t').collect::<Vec<_>>()[..] {
        [case, run, check, said] => Ok(Line::new(case, run, check, said)),
        _ => Err(format!("not four columns: {l}")),
    };
    lines.map(line).collect()
}

pub(crate) fn write(lines: &[Line]) -> String {
    let mut text = format!("{HEAD}\n");
    for l in lines {
        text += &format!("{}\t{}\t{}\t{}\n", l.case, l.run, l.check, l.said);
    }
    text
}

/// What is wrong between the list, all checks that there are, and those of them that do not hold.
pub(crate) fn differences(listed: &[Line], checks: &[Line], misses: &[Line]) -> Vec<String> {
    let mut wrong = Vec::new();
    let within = |lines: &[Line], line: &Line| lines.iter().any(|l| l.same_check(line));
    for miss in misses.iter().filter(|m| !within(listed, m)) {
        wrong.push(format!("does not hold: {}: {}", miss.name(), miss.said));
    }
    for (i, line) in listed.iter().enumerate() {
        if !within(checks, line) {
            wrong.push(format!("is listed, but there is no such: {}", line.name()));
        } else if !within(misses, line) {
            wrong.push(format!("holds, take it off the list: {}", line.name()));
        }
        if within(&listed[..i], line) {
            wrong.push(format!("is listed twice: {}", line.name()));
        }
    }
    wrong
}

/// The list without what holds by now or is gone, and with what is said today. Never with more lines.
pub(crate) fn shrunk(listed: &[Line], misses: &[Line]) -> Vec<Line> {
    let mut kept: Vec<Line> = Vec::new();
    for line in listed {
        let miss = misses.iter().find(|m| m.same_check(line));
        kept.extend(miss.filter(|m| !kept.contains(m)).cloned());
    }
    kept
}

/// The list with the misses of a case that has no line in it yet, in the order of cases.
pub(crate) fn with_new(listed: &[Line], case: &str, misses: &[Line]) -> Result<Vec<Line>, String> {
    if listed.iter().any(|l| l.case == case) {
        return Err(format!("{case} is on the list already: it is not new"));
    }
    let mut all = listed.to_vec();
    all.extend(misses.iter().filter(|m| m.case == case).cloned());
    all.sort_by(|a, b| a.case.cmp(&b.case));
    Ok(all)
}
