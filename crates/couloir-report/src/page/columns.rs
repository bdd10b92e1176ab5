//! What the script of a page reads: columns of numbers as JSON that is safe inside `<script>`.

use super::{Bars, Page, Panel, Point, Run, thin};
use serde_json::{Map, Value, json};

/// A name and what it is of a point.
type Column = (&'static str, fn(&Point) -> f64);

/// The columns of a run; page.js has the same names with their labels.
const COLUMNS: [Column; 11] = [
    ("seconds", |p| p.seconds),
    ("gradients", |p| p.gradients),
    ("component_gradients", |p| p.component_gradients),
    ("lo_calls", |p| p.lo_calls),
    ("passes", |p| p.passes),
    ("iterations", |p| p.iterations),
    ("gap", |p| p.gap),
    ("gap_x", |p| p.gap_x),
    ("gap_y", |p| p.gap_y),
    ("certified_gap", |p| p.certified_gap),
    ("bound", |p| p.bound),
];

/// The data of a page.
pub(super) fn json(page: &Page) -> String {
    let methods = methods(page);
    let panel = |panel: &Panel| {
        let runs: Vec<Value> = panel.runs.iter().map(|r| run(r, &methods)).collect();
        json!({ "name": panel.name, "about": panel.about, "runs": runs })
    };
    let data = json!({
        "title": page.title,
        "methods": methods,
        "panels": page.panels.iter().map(panel).collect::<Vec<_>>(),
        "bars": page.bars.iter().map(bars).collect::<Vec<_>>(),
    });
    safe_in_script(&data.to_string())
}

/// The methods in the order in which they first come: a method's colour is its place here.
fn methods(page: &Page) -> Vec<&str> {
    let mut methods: Vec<&str> = Vec::new();
    for run in page.panels.iter().flat_map(|panel| &panel.runs) {
        if !methods.contains(&run.method.as_str()) {
            methods.push(&run.method);
        }
    }
    methods
}

fn run(run: &Run, methods: &[&str]) -> Value {
    let kept = thin::kept(&run.points, thin::MOST_POINTS);
    let mut columns = Map::new();
    for (name, value) in COLUMNS {
        let column: Vec<Value> = kept.iter().map(|&i| number(value(&run.points[i]))).collect();
        // A column without numbers would be nothing but nulls.
        if column.iter().any(|v| !v.is_null()) {
            columns.insert(name.to_owned(), column.into());
        }
    }
    json!({
        "method": methods.iter().position(|m| *m == run.method),
        "repeat": run.repeat,
        "status": run.status,
        "points": run.points.len(),
        "kept": kept.len(),
        "columns": columns,
    })
}

fn bars(bars: &Bars) -> Value {
    json!({
        "title": bars.title,
        "labels_name": bars.labels_name,
        "values_name": bars.values_name,
        "logarithmic": bars.logarithmic,
        "labels": bars.bars.iter().map(|(label, _)| label).collect::<Vec<_>>(),
        "values": bars.bars.iter().map(|(_, value)| number(*value)).collect::<Vec<_>>(),
    })
}

/// Whole numbers as they are, others with six digits, null for what is no number: enough for the eye, a third of
/// the bytes.
pub(super) fn number(value: f64) -> Value {
    if !value.is_finite() {
        Value::Null
    } else if value == value.trunc() && value.abs() < 1e15 {
        Value::from(value as i64)
    } else {
        format!("{value:.5e}").parse::<f64>().map_or(Value::Null, Value::from)
    }
}

/// Inside `<script>` a browser looks for `</script` and `<!--` before anyone reads JSON. These characters only
/// occur in strings, where JSON may write them as escapes.
fn safe_in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_stay_others_have_six_digits_and_what_is_none_is_null() {
        let written = |value| number(value).to_string();
        assert_eq!(written(123_456_789.0), "123456789");
        assert_eq!(written(0.0), "0");
        assert_eq!(written(1.0 / 3.0), "0.333333");
        assert_eq!(written(-2e-9 / 3.0), "-6.66667e-10");
        for none in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(written(none), "null");
        }
    }

    #[test]
    fn nothing_in_a_string_can_end_the_script() {
        let text = "</script><!-- & \u{2028}\u{2029} -->";
        let safe = safe_in_script(&json!([text]).to_string());
        assert!(!safe.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{safe}");
        assert_eq!(serde_json::from_str::<Value>(&safe).expect("JSON"), json!([text]));
    }

    #[test]
    fn repeats_share_their_method_and_columns_without_numbers_are_left_out() {
        let nan = f64::NAN;
        let point = Point {
            seconds: 0.5,
            gap: nan,
            gap_x: nan,
            gap_y: nan,
            bound: nan,
            ..Point::default()
        };
        let run = |method: &str, repeat| Run {
            method: method.into(),
            repeat,
            points: vec![point],
            ..Run::default()
        };
        let runs = vec![run("b", 0), run("a", 0), run("b", 1)];
        let panel = Panel { runs, ..Panel::default() };
        let page = Page { panels: vec![panel], ..Page::default() };
        let data: Value = serde_json::from_str(&json(&page)).expect("JSON");
        assert_eq!(data["methods"], json!(["b", "a"]));
        let runs = &data["panels"][0]["runs"];
        assert_eq!(
            (&runs[0]["method"], &runs[1]["method"], &runs[2]["method"]),
            (&json!(0), &json!(1), &json!(0))
        );
        assert_eq!(runs[0]["columns"]["seconds"], json!([0.5]));
        assert!(runs[0]["columns"].get("gap").is_none());
    }
}
