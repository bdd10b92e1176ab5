//! A page is one file: small, safe whatever is written on it, and complete without a network.

mod common;

use couloir_report::page::{Bars, MOST_POINTS, Page, Panel, Point, Run, Table};
use serde_json::Value;

/// The data that the script reads.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once(r#"<script id="data" type="application/json">"#).expect("data");
    let (json, _) = rest.split_once("</script>").expect("the end of the data");
    serde_json::from_str(json).expect("JSON")
}

/// A page that has `text` in every place for text.
fn page_of(text: &str) -> Page {
    let text = || text.to_owned();
    let point = Point { seconds: 1.0, gap: f64::NAN, ..Point::default() };
    let run = Run { method: text(), repeat: 0, status: text(), points: vec![point] };
    let bars = Bars {
        title: text(),
        about: text(),
        labels_name: text(),
        values_name: text(),
        bars: vec![(text(), f64::INFINITY)],
        logarithmic: false,
    };
    Page {
        title: text(),
        summary: vec![text()],
        panels: vec![Panel { name: text(), about: text(), runs: vec![run] }],
        bars: vec![bars],
        tables: vec![Table { caption: text(), header: vec![text()], rows: vec![vec![text()]] }],
        facts: vec![(text(), vec![(text(), text())])],
    }
}

/// Everything but text: the markup of a page.
fn tags(html: &str) -> Vec<String> {
    let mut tags = Vec::new();
    let mut rest = html;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').expect("a tag ends");
        // The name and the attributes without their values.
        let outside_quotes: Vec<&str> = tag.split('"').step_by(2).collect();
        tags.push(outside_quotes.join("\""));
        rest = after;
    }
    tags
}

#[test]
fn text_changes_nothing_in_the_structure() {
    let plain = page_of("word").html();
    for text in [
        "</script><b>\"&",
        "<!-- <script>",
        "{{data}}",
        "'\"><img src=x onerror=alert(1)>",
        "\u{2028}</title>",
    ] {
        let html = page_of(text).html();
        assert_eq!(tags(&html), tags(&plain), "{text}");
        let data = data(&html);
        assert_eq!(data["methods"][0], text);
        assert_eq!(data["bars"][0]["labels"][0], text);
    }
}

#[test]
fn text_is_shown_as_it_was_written() {
    let html = page_of("a < b & \"c\"").html();
    let escaped = "a &lt; b &amp; &quot;c&quot;";
    for place in [
        format!("<title>{escaped}</title>"),
        format!("<h1>{escaped}</h1>"),
        format!("<td>{escaped}</td>"),
        format!("<dt>{escaped}</dt>"),
    ] {
        assert!(html.contains(&place), "{place}");
    }
}

#[test]
fn what_is_no_number_is_null() {
    let html = page_of("word").html();
    let data = data(&html);
    assert_eq!(data["bars"][0]["values"][0], Value::Null);
    assert_eq!(data["panels"][0]["runs"][0]["columns"]["seconds"][0], 1);
    assert_eq!(data["panels"][0]["runs"][0]["columns"].get("gap"), None);
    assert!(html.contains(">not known</td>"));
}

#[test]
fn long_runs_are_thinned_and_the_page_says_so() {
    let html = common::page(20_000).html();
    let data = data(&html);
    let run = &data["panels"][1]["runs"][0];
    assert_eq!((&run["points"], &run["kept"]), (&Value::from(20_000), &Value::from(MOST_POINTS)));
    let iterations = run["columns"]["iterations"].as_array().expect("a column");
    assert_eq!(iterations.len(), MOST_POINTS);
    assert_eq!(
        (&iterations[0], &iterations[MOST_POINTS - 1]),
        (&Value::from(0), &Value::from(19_999))
    );
    assert!(html.contains("500 of 20000"));
    assert!(html.contains("more than 500 points"));
}

#[test]
fn five_methods_on_three_sets_with_long_traces_stay_below_two_megabytes() {
    let bytes = common::page(100_000).html().len();
    assert!(bytes < 2_000_000, "{bytes} bytes");
}

#[test]
fn the_page_refers_to_nothing_outside_of_itself() {
    let html = common::page(10).html().replace("http://www.w3.org/2000/svg", "");
    for outside in ["http://", "https://", "src=", "@import", "url(", "fetch(", "import("] {
        assert!(!html.contains(outside), "{outside}");
    }
    assert!(html.contains("Content-Security-Policy\" content=\"default-src 'none';"));
}

#[test]
fn a_page_without_anything_is_still_a_page() {
    let html = Page::default().html();
    assert_eq!(html.matches("<section").count(), html.matches(" hidden>\n<h2").count());
    assert_eq!(data(&html)["methods"], Value::Array(Vec::new()));
}
