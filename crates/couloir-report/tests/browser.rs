//! The page in a real browser: it opens, its controls do what they say, it can be used with keys, and it fits
//! on a phone and on a wide screen. Pictures of it are kept in `target/screenshots`.

mod common;
#[path = "common/driver.rs"]
mod driver;

use couloir_report::page::{Bars, Page, Panel, Point, Run};
use driver::Browser;
use serde_json::{Value, json};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A page in a file and a browser that shows it.
struct Opened {
    browser: Browser,
    address: String,
    _folder: tempfile::TempDir,
}

/// None where there is no browser: then the test says so, or fails if COULOIR_NEED_BROWSER is 1.
fn open(page: &Page) -> Option<Opened> {
    if !driver::is_installed() {
        let needed = std::env::var("COULOIR_NEED_BROWSER").is_ok_and(|value| value == "1");
        assert!(
            !needed,
            "COULOIR_NEED_BROWSER is 1, but chromium or chromedriver cannot be started"
        );
        // Not by `eprintln`, which the test runner swallows.
        let skipped =
            "SKIPPED: chromium or chromedriver cannot be started, so no browser opened the page";
        writeln!(std::io::stderr(), "{skipped}").expect("standard error");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("page.html");
    std::fs::write(&file, page.html()).expect("a page");
    let opened = Opened {
        browser: Browser::open(),
        address: format!("file://{}", file.display()),
        _folder: folder,
    };
    opened.browser.resize(1600, 1000);
    opened.browser.go_to(&opened.address);
    Some(opened)
}

impl Opened {
    fn count(&self, selector: &str) -> usize {
        self.browser.all(selector).len()
    }

    fn texts(&self, selector: &str) -> Vec<String> {
        let script =
            "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)";
        let texts = self.browser.run_with(script, json!(selector));
        serde_json::from_value(texts).expect("texts")
    }

    fn text(&self, selector: &str) -> String {
        self.texts(selector).into_iter().next().unwrap_or_else(|| panic!("no {selector}"))
    }

    /// The lines of the first chart.
    fn paths(&self) -> Vec<String> {
        let script = "return [...document.querySelectorAll('[data-panel=\"0\"] .run .line')].map((e) => e.getAttribute('d'))";
        serde_json::from_value(self.browser.run(script)).expect("paths")
    }

    fn choose(&self, select: &str, option: &str) {
        self.browser.one(&format!("#{select} option[value={option}]")).click();
    }

    fn hash(&self) -> Value {
        self.browser.run("return location.hash")
    }
}

const RIGHT: &str = "\u{e014}";
const DOWN: &str = "\u{e015}";
const HOME: &str = "\u{e011}";
const END: &str = "\u{e010}";
const ESCAPE: &str = "\u{e00c}";
const FIRST_CHART: &str = "[data-panel='0'] .plot";

#[test]
fn every_chart_is_drawn_and_the_console_is_silent() {
    let Some(page) = open(&common::page(2_000)) else { return };
    assert_eq!(page.count(".panel .plot svg"), 3);
    // Five methods, one of them three times.
    assert_eq!(page.count("[data-panel='0'] .run"), 7);
    assert_eq!(page.count("[data-bars='0'] .bar"), 5);
    assert_eq!(page.count("[data-bars='1'] .bar"), 105);
    assert_eq!(page.text(".y-label"), "FW-gap");
    assert_eq!(page.text(".x-label"), "Time (s)");
    let ticks = page.texts("[data-panel='0'] .grid-lines text");
    assert!(ticks.contains(&"10⁻³".to_owned()), "{ticks:?}");
    // Decades are equally far apart.
    let decades = page.browser.run(
        "return [...document.querySelectorAll(`[data-panel='0'] .grid-lines text[text-anchor='end']`)]
         .map((text) => text.y.baseVal[0].value)",
    );
    let decades: Vec<f64> = serde_json::from_value(decades).expect("places");
    assert!(decades.len() >= 5, "{decades:?}");
    for three in decades.windows(3) {
        assert!((three[0] - 2.0 * three[1] + three[2]).abs() < 0.3, "{decades:?}");
        assert!(three[0] > three[1], "{decades:?}");
    }
    // Lines are steps: only moves, horizontals and verticals.
    for path in page.paths() {
        assert!(
            path.starts_with('M') && path.contains('H') && !path.contains(['L', 'C', 'N']),
            "{path}"
        );
    }
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn axes_and_scales_change_what_is_drawn() {
    let Some(page) = open(&common::page(300)) else { return };
    let before = page.paths();
    page.choose("x", "lo_calls");
    assert_eq!(page.text(".x-label"), "LO calls");
    let by_calls = page.paths();
    // SVRE makes no LO calls: a logarithmic axis has no place for its zeros, and the chart says so.
    assert_eq!((before.len(), by_calls.len()), (7, 6));
    assert!(
        page.text(".panel .note").starts_with("Left out: 300 points at or below zero"),
        "{}",
        page.text(".panel .note")
    );
    page.browser.one("#log-x").click();
    let linear = page.paths();
    assert_eq!(linear.len(), 7);
    assert_ne!(linear[0], by_calls[0]);
    assert!(page.texts("[data-panel='0'] .grid-lines text").contains(&"200".to_owned()));

    page.choose("y", "gap_y");
    assert_eq!(page.text(".y-label"), "FW-gap, y part");
    assert_ne!(page.paths()[0], linear[0]);
    // Every seventh of 300 points is zero, from the fourth on: 43 in each of seven runs.
    assert!(
        page.text(".panel .note").starts_with("Left out: 301 points at or below zero"),
        "{}",
        page.text(".panel .note")
    );
    page.browser.one("#log-y").click();
    assert_eq!(
        page.browser.run("return document.querySelector('.panel .note').hidden"),
        json!(true)
    );

    page.choose("y", "bound");
    assert_eq!(page.paths().len(), 4, "only two methods have a bound, one of them three times");
    assert!(page.text(".panel .note").contains("900 points whose values are not known"));
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn methods_are_switched_off_and_on_in_all_charts_with_their_repeats() {
    let Some(page) = open(&common::page(100)) else { return };
    let boxes = page.browser.all("#methods input");
    assert_eq!(boxes.len(), 5);
    boxes[1].click();
    for panel in 0..3 {
        assert_eq!(page.count(&format!("[data-panel='{panel}'] .run")), 4);
        assert_eq!(page.count(&format!("[data-panel='{panel}'] .run[data-method='1']")), 0);
    }
    for other in [0, 2, 3, 4] {
        boxes[other].click();
    }
    assert_eq!(page.count(".run"), 0);
    assert_eq!(page.texts(".nothing"), ["All methods are switched off."; 3]);
    boxes[1].click();
    assert_eq!(page.count(".run"), 9);
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn methods_differ_in_colour_dash_and_marker_and_repeats_do_not() {
    let Some(page) = open(&common::page(100)) else { return };
    let script = "return [...document.querySelectorAll(`[data-panel='0'] .run`)].map((run) => [run.dataset.method,
        getComputedStyle(run.querySelector('.line')).stroke, run.querySelector('.line').getAttribute('stroke-dasharray'),
        run.querySelector('.marker').getAttribute('d')])";
    let looks: Vec<[String; 4]> = serde_json::from_value(page.browser.run(script)).expect("looks");
    assert_eq!(looks.len(), 7);
    for a in &looks {
        for b in &looks {
            for what in 1..4 {
                assert_eq!(a[0] == b[0], a[what] == b[what], "{a:?} and {b:?}");
            }
        }
    }
}

#[test]
fn keys_walk_along_a_line_and_read_its_values() {
    let page = common::page(300);
    let points = page.panels[0].runs[0].points.clone();
    let Some(page) = open(&page) else { return };
    let chart = page.browser.one(FIRST_CHART);
    let said = || page.text("[data-panel='0'] .live");
    page.choose("x", "iterations");
    chart.keys(RIGHT);
    // Iteration 0 has no place on a logarithmic axis.
    assert!(said().starts_with("certified MPCGS, point 1 of 299: FW-gap "), "{}", said());
    assert!(said().ends_with("Iterations 1"), "{}", said());
    chart.keys(&RIGHT.repeat(4));
    let gap: f64 = said()
        .split("FW-gap ")
        .nth(1)
        .and_then(|t| t.split(',').next()?.parse().ok())
        .expect("a gap");
    assert!((gap - points[5].gap).abs() < 1e-4 * gap, "{gap} is not {}", points[5].gap);
    assert!(said().ends_with("Iterations 5"), "{}", said());
    assert!(page.text("[data-panel='0'] .tip").contains("Iterations 5"));
    assert_eq!(page.count("[data-panel='0'] .ring circle"), 1);
    assert_eq!(
        page.browser.run("return document.querySelector('.tip').checkVisibility()"),
        json!(true)
    );
    chart.keys(DOWN);
    assert!(said().starts_with("MPCGS, repeat 0, point 5 of 299"), "{}", said());
    chart.keys(END);
    assert!(said().ends_with("Iterations 299"), "{}", said());
    chart.keys(HOME);
    assert!(said().ends_with("Iterations 1"), "{}", said());
    chart.keys(ESCAPE);
    assert_eq!(said(), "");
    assert_eq!(
        page.browser.run("return document.querySelector('.tip').checkVisibility()"),
        json!(false)
    );
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn the_pointer_reads_the_nearest_point_without_speaking() {
    let made = common::page(300);
    let Some(page) = open(&made) else { return };
    let script = "
        const plot = document.querySelector(`[data-panel='0'] .plot`);
        const at = document.querySelector(`[data-panel='0'] .run .marker:last-child`).getBoundingClientRect();
        plot.dispatchEvent(new PointerEvent('pointermove', { bubbles: true, clientX: at.x + 5, clientY: at.y + 5 }));
        return [plot.querySelector('.tip').innerText, document.querySelector('.live').textContent]";
    let found = page.browser.run(script);
    let tip = found[0].as_str().expect("text");
    assert!(
        tip.starts_with("certified MPCGS")
            && tip.contains(&format!("Time (s) {}", made.panels[0].runs[0].points[299].seconds)),
        "{tip}"
    );
    assert_eq!(found[1], "");
}

#[test]
fn the_table_behind_a_chart_has_the_same_numbers() {
    let made = common::page(120);
    let Some(page) = open(&made) else { return };
    page.choose("x", "iterations");
    page.browser.one("#log-x").click();
    assert_eq!(page.count(".numbers td"), 0, "tables are made when they are opened");
    page.browser.one("[data-panel='0'] .numbers summary").click();
    page.browser.wait_for(
        "return document.querySelectorAll(`[data-panel='0'] .numbers tbody tr`).length",
        &json!(840),
    );
    assert_eq!(
        page.texts("[data-panel='0'] .numbers th"),
        ["Method", "Repeat", "Iterations", "FW-gap"]
    );
    let cells = page.texts("[data-panel='0'] .numbers td");
    let runs =
        made.panels[0].runs.iter().flat_map(|run| run.points.iter().map(move |point| (run, point)));
    for (row, (run, point)) in cells.chunks(4).zip(runs) {
        assert_eq!(
            (row[0].as_str(), row[1].as_str()),
            (run.method.as_str(), run.repeat.to_string().as_str())
        );
        let number = |cell: &str| cell.parse::<f64>().expect("a number");
        assert_eq!(number(&row[2]), point.iterations);
        assert!(
            (number(&row[3]) - point.gap).abs() <= 5.1e-6 * point.gap,
            "{} is not {}",
            row[3],
            point.gap
        );
    }
    // It follows the controls.
    page.browser.all("#methods input")[0].click();
    assert_eq!(page.count("[data-panel='0'] .numbers tbody tr"), 720);
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn the_theme_follows_the_system_until_the_switch_is_used_and_is_then_remembered() {
    let Some(page) = open(&common::page(50)) else { return };
    let system = |scheme: &str| {
        let feature = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        page.browser.chromium("Emulation.setEmulatedMedia", feature);
    };
    let colours = || {
        page.browser
            .run("const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]")
    };
    const CHECKED: &str = "return document.getElementById('theme').getAttribute('aria-checked')";
    let checked = || page.browser.run(CHECKED);
    // A page hears of the system's theme in the browser's own time.
    system("light");
    page.browser.wait_for(CHECKED, &json!("false"));
    let light = colours();
    system("dark");
    page.browser.wait_for(CHECKED, &json!("true"));
    let dark = colours();
    assert_ne!(light, dark);
    page.browser.one("#theme").click();
    assert_eq!((colours(), checked()), (light.clone(), json!("false")));
    // A browser under load writes what a page remembers a little later than it says.
    for _ in 0..20 {
        page.browser.go_to(&page.address);
        if checked() == json!("false") {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(250));
    }
    assert_eq!((colours(), checked()), (light, json!("false")), "the choice is remembered");
    page.browser.one("#theme").click();
    assert_eq!((colours(), checked()), (dark, json!("true")));
}

#[test]
fn the_address_keeps_the_view_and_an_unknown_one_changes_nothing() {
    let Some(page) = open(&common::page(50)) else { return };
    assert_eq!(page.hash(), "");
    page.choose("x", "passes");
    page.choose("y", "gap_x");
    page.browser.one("#log-x").click();
    page.browser.all("#methods input")[0].click();
    page.browser.all("#methods input")[3].click();
    let (hash, paths) = (page.hash(), page.paths());
    assert_eq!(hash, "#x=passes&y=gap_x&logX=0&off=certified+MPCGS&off=SPFW");

    let fresh = |hash: &str| {
        page.browser.go_to("about:blank");
        page.browser.go_to(&format!("{}{hash}", page.address));
    };
    let controls = || {
        page.browser.run(
            "const id = (i) => document.getElementById(i); return [id('x').value, id('y').value, id('log-x').checked,
             id('log-y').checked, [...document.querySelectorAll('#methods input')].map((box) => box.checked)]",
        )
    };
    fresh(hash.as_str().expect("a hash"));
    assert_eq!(page.paths(), paths);
    assert_eq!(
        controls(),
        json!(["passes", "gap_x", false, true, [false, true, true, false, true]])
    );
    fresh("");
    let usual = (page.paths(), controls());
    assert_eq!(usual.1, json!(["seconds", "gap", true, true, [true, true, true, true, true]]));
    for unknown in ["#nonsense", "#x=__proto__&y=7&off=nobody&logX=maybe", "#%%%", "#main"] {
        fresh(unknown);
        assert_eq!((page.paths(), controls()), usual, "{unknown}");
    }
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn downloads_have_every_point_of_the_page() {
    let mut made = common::page(40);
    made.panels[0].name = "a \"quoted\", name".into();
    let Some(page) = open(&made) else { return };
    page.browser.run(
        "window.blobs = []; const make = URL.createObjectURL;
         URL.createObjectURL = (blob) => { blobs.push(blob); return make.call(URL, blob); }",
    );
    page.browser.one("#csv").click();
    page.browser.one("#json").click();
    let files =
        page.browser.run("return Promise.all(blobs.map(async (b) => [b.type, await b.text()]))");
    assert_eq!(files[0][0], "text/csv;charset=utf-8");
    let csv: Vec<&str> = files[0][1].as_str().expect("text").lines().collect();
    assert_eq!(csv.len(), 1 + 3 * 7 * 40);
    assert_eq!(
        csv[0],
        "panel,method,repeat,status,seconds,gradients,component_gradients,lo_calls,passes,iterations,gap,gap_x,gap_y,certified_gap,bound"
    );
    assert_eq!(
        csv[1],
        "\"a \"\"quoted\"\", name\",certified MPCGS,0,solved,0,0,0,1,0,0,10.4,9.36,1.04,5.2,20"
    );
    // The last point of SVRE on the last set: it has neither full gradients nor a bound.
    let last: Vec<&str> = csv[csv.len() - 1].split(',').collect();
    assert_eq!(last[..4], ["sector.scale", "SVRE", "0", "time budget"]);
    assert_eq!((last[5], last[9], last[14]), ("", "39", ""));
    assert_eq!(files[1][0], "application/json;charset=utf-8");
    let json: Value = serde_json::from_str(files[1][1].as_str().expect("text")).expect("JSON");
    assert_eq!(json["panels"][2]["runs"][6]["columns"]["iterations"][39], 39);
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn every_control_has_a_name_and_a_name_of_its_own() {
    let Some(page) = open(&common::page(50)) else { return };
    page.browser
        .run("for (const details of document.querySelectorAll('details')) details.open = true");
    let controls = page.browser.all("button, select, input, summary, a[href], [tabindex='0']");
    assert!(controls.len() >= 2 + 2 + 2 + 5 + 3 + 3, "{} controls", controls.len());
    for control in &controls {
        assert!(!control.name().trim().is_empty());
    }
    let names: Vec<String> =
        page.browser.all("form button, form select, form input").iter().map(|e| e.name()).collect();
    for name in &names {
        assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{names:?}");
    }
}

/// Contrasts below 4.5 of text and what is behind it, as the browser computes colours.
const LOW_CONTRASTS: &str = "
    const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
    const rgb = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
    const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => v / 255).map((v) => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
    const ground = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] === 255) return c; } };
    let seen = 0; const low = [];
    for (const e of document.querySelectorAll('body *')) {
        if (e.closest('script, noscript') || ![...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim())) continue;
        const style = getComputedStyle(e);
        const text = light(rgb(e instanceof SVGElement ? style.fill : style.color)), back = light(ground(e));
        const contrast = (Math.max(text, back) + 0.05) / (Math.min(text, back) + 0.05);
        seen++;
        if (contrast < 4.5) low.push([e.outerHTML.slice(0, 80), contrast]);
    }
    return [seen, low]";

/// By how many pixels the page is wider than its window, the bar for scrolling not counted.
const OVERFLOW: &str =
    "return document.documentElement.scrollWidth - document.documentElement.clientWidth";

/// Whether charts are as wide as their places: the browser tells them of a new width in its own time.
const CHARTS_FIT: &str = "return [...document.querySelectorAll('.plot')]
    .every((plot) => plot.querySelector('svg').width.baseVal.value === plot.clientWidth)";

/// The folder for pictures in the target folder.
fn screenshots() -> PathBuf {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target"),
        // A relative one is relative to where cargo was started; tests start in the folder of the crate.
        |folder| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder),
    );
    let folder = target.join("screenshots");
    std::fs::create_dir_all(&folder).expect("a folder for pictures");
    folder
}

#[test]
fn the_page_fits_and_is_readable_on_a_phone_and_on_a_wide_screen_in_both_themes() {
    let Some(page) = open(&common::page(2_000)) else { return };
    for (width, height) in [(390, 844), (1600, 1000)] {
        page.browser.resize(width, height);
        page.browser.wait_for(CHARTS_FIT, &json!(true));
        for theme in ["light", "dark"] {
            page.browser
                .run_with("document.documentElement.dataset.theme = arguments[0]", json!(theme));
            assert_eq!(page.browser.run(OVERFLOW), json!(0), "at {width}");
            let small = page.browser.run(
                "return [...document.querySelectorAll('svg text')].map((t) => parseFloat(getComputedStyle(t).fontSize)
                 * t.ownerSVGElement.getBoundingClientRect().width / t.ownerSVGElement.viewBox.baseVal.width)
                 .reduce((a, b) => Math.min(a, b))",
            );
            assert!(small.as_f64() >= Some(11.0), "{small} pixels at {width}");
            let cut = page.browser.run(
                "return [...document.querySelectorAll('svg text')].filter((t) => { const a = t.getBoundingClientRect(),
                 b = t.ownerSVGElement.getBoundingClientRect(); return a.left < b.left - 1 || a.right > b.right + 1 || a.top < b.top - 2 || a.bottom > b.bottom + 2; })
                 .map((t) => t.textContent)",
            );
            assert_eq!(cut, json!([]), "cut off at {width}");
            let contrasts = page.browser.run(LOW_CONTRASTS);
            assert!(contrasts[0].as_u64() > Some(100), "{contrasts}");
            assert_eq!(contrasts[1], json!([]), "{theme}");
            page.browser.screenshot(&screenshots().join(format!("page-{width}-{theme}.png")));
        }
    }
    let rows = page.browser.run(
        "return [...document.querySelectorAll('.panel')].map((p) => p.getBoundingClientRect().top)",
    );
    assert_eq!(rows[0], rows[1], "panels are beside each other on a wide screen");
    assert_eq!(page.browser.console(), Vec::<String>::new());
}

#[test]
fn odd_data_is_drawn_without_errors_or_overflow() {
    let run = |method: String, points: Vec<Point>| Run {
        method,
        status: "ended".into(),
        repeat: 0,
        points,
    };
    let point = |seconds: f64, gap: f64| Point { seconds, gap, ..Point::default() };
    let panel =
        |name: &str, runs: Vec<Run>| Panel { name: name.into(), about: String::new(), runs };
    let (nan, inf) = (f64::NAN, f64::INFINITY);
    let many = (0..20).map(|m| {
        run(format!("{} {m}", "a_name_without_spaces".repeat(4)), vec![point(1.0, 1.0); 3])
    });
    let bars = |values: &[f64], logarithmic| Bars {
        title: "Bars".into(),
        values_name: "values".into(),
        bars: values
            .iter()
            .map(|v| ("a label that is longer than there is room for on a phone".into(), *v))
            .collect(),
        logarithmic,
        ..Bars::default()
    };
    let page = Page {
        title: "A_title_without_a_space_that_is_wider_than_a_phone".into(),
        panels: vec![
            panel("no runs", Vec::new()),
            panel("no points", vec![run("none".into(), Vec::new())]),
            panel("one point", vec![run("one".into(), vec![point(1e-300, 1e300)])]),
            panel(
                "nothing known",
                vec![run("unknown".into(), vec![point(nan, inf), point(inf, nan)])],
            ),
            panel("zeros", vec![run("zero".into(), vec![point(0.0, 0.0); 2])]),
            panel(
                "below zero",
                vec![run("below".into(), vec![point(-2.0, -1.0), point(-1.0, -1e-9)])],
            ),
            panel("many methods", many.collect()),
        ],
        bars: vec![
            bars(&[], false),
            bars(&[], true),
            bars(&[0.0, 0.0], false),
            bars(&[0.0, -1.0, nan], true),
            bars(&[-2.0, 3.0, nan, inf, 1e-30, 1e30], false),
        ],
        ..Page::default()
    };
    for page in [Page::default(), page] {
        let Some(page) = open(&page) else { return };
        let boxes =
            page.browser.all("#log-x, #log-y").into_iter().filter(|_| page.count("#x option") > 0);
        let boxes: Vec<_> = boxes.collect();
        page.browser.resize(390, 844);
        page.browser.wait_for(CHARTS_FIT, &json!(true));
        for clicks in 0..=boxes.len() {
            let drawn = page.browser.run(
                "return [...document.querySelectorAll('.plot')].map((p) => p.innerHTML).join('')",
            );
            let drawn = drawn.as_str().expect("text");
            for wrong in ["NaN", "Infinity", "undefined", "null"] {
                assert!(!drawn.contains(wrong), "{wrong} in {drawn}");
            }
            assert_eq!(page.browser.run(OVERFLOW), json!(0));
            if clicks < boxes.len() {
                boxes[clicks].click();
            }
        }
        assert_eq!(page.browser.console(), Vec::<String>::new());
    }
}
