//! A page taken apart, as far as tests look into it.

use serde_json::Value;

pub(crate) struct Page {
    pub(crate) text: String,
    /// Without script, style and data.
    pub(crate) words: String,
    pub(crate) data: Value,
}

/// What stands between two texts, from the first on.
pub(crate) fn between<'a>(text: &'a str, from: &str, to: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(from)?;
    Some(rest.split_once(to)?.0)
}

/// Text as it is read, without tags.
pub(crate) fn plain(html: &str) -> String {
    let mut out = String::new();
    let mut inside = false;
    for c in html.chars() {
        match c {
            '<' => inside = true,
            '>' if inside => inside = false,
            c if !inside => out.push(c),
            _ => {}
        }
    }
    let out = out.replace("&lt;", "<").replace("&gt;", ">");
    let out = out.replace('\u{a0}', " ");
    out.replace("&quot;", "\"").replace("&amp;", "&")
}

/// A row of a table: what each cell shows, and what it is sorted by.
pub(crate) type Row = Vec<(String, Option<String>)>;

impl Page {
    pub(crate) fn new(text: String) -> Page {
        let data = between(
            &text,
            "<script id=\"data\" type=\"application/json\">",
            "</script>",
        );
        let data = serde_json::from_str(data.expect("data")).expect("JSON");
        let (head, rest) = text.split_once("<style>").expect("a style");
        let (_, rest) = rest.split_once("</style>").expect("its end");
        let (body, rest) = rest.split_once("<script").expect("scripts");
        let (_, end) = rest.rsplit_once("</script>").expect("their end");
        let words = format!("{head}{body}{end}");
        Page { text, words, data }
    }

    /// The rows of the first table of a section.
    pub(crate) fn table(&self, section: &str) -> Vec<Row> {
        let section = between(
            &self.words,
            &format!("<section id=\"{section}\""),
            "</section>",
        );
        let table = section.and_then(|s| between(s, "<tbody>", "</tbody>"));
        let rows = table.unwrap_or_default().split("<tr").skip(1);
        rows.map(|row| {
            // No cell begins like another tag.
            let row = row.replace("<th", "<td");
            row.split("<td").skip(1).map(cell).collect()
        })
        .collect()
    }
}

fn cell(html: &str) -> (String, Option<String>) {
    let (attributes, content) = html.split_once('>').expect("a tag");
    let value = between(attributes, "data-value=\"", "\"").map(str::to_owned);
    (plain(content), value)
}
