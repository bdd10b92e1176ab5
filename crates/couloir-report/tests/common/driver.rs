//! A browser for tests: Chromium through chromedriver, spoken to in the WebDriver protocol.
//! Only what the tests need, on the HTTP client that the workspace has anyway.

use base64::Engine as _;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

/// An open window; closing it ends the browser.
pub struct Browser {
    driver: Child,
    /// Kept open: a program that writes to a closed pipe is ended.
    _output: BufReader<ChildStdout>,
    http: ureq::Agent,
    session: String,
}

/// Whether both programs can be started.
pub fn is_installed() -> bool {
    let starts = |program: &str| {
        let mut version = Command::new(program);
        version.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        version.status().is_ok_and(|status| status.success())
    };
    starts("chromium") && starts("chromedriver")
}

impl Browser {
    pub fn open() -> Browser {
        let mut driver = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("chromedriver starts");
        let mut output = BufReader::new(driver.stdout.take().expect("its output"));
        let port = |line: String| {
            line.split("successfully on port ").nth(1)?.trim_end_matches('.').parse::<u16>().ok()
        };
        let port = output.by_ref().lines().map_while(Result::ok).find_map(port);
        let port = port.expect("chromedriver names its port");
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .proxy(None)
            .timeout_global(Some(Duration::from_secs(60)));
        let http = ureq::Agent::new_with_config(config.build());
        let mut browser = Browser {
            driver,
            _output: output,
            http,
            session: format!("http://127.0.0.1:{port}/session"),
        };
        // Without a sandbox because root has none, and tests often run as root in containers.
        let arguments =
            ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];
        let wanted = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        });
        let answer = browser.post("", json!({ "capabilities": { "alwaysMatch": wanted } }));
        let id = answer["sessionId"].as_str().expect("a session").to_owned();
        browser.session = format!("{}/{id}", browser.session);
        browser
    }

    /// Sends a command. What the browser says is wrong fails the test.
    fn post(&self, command: &str, body: Value) -> Value {
        let address = format!("{}{command}", self.session);
        let request = self.http.post(&address).content_type("application/json");
        let mut answer =
            request.send(body.to_string()).unwrap_or_else(|e| panic!("{command}: {e}"));
        read(command, answer.body_mut())
    }

    fn get(&self, command: &str) -> Value {
        let address = format!("{}{command}", self.session);
        let mut answer =
            self.http.get(&address).call().unwrap_or_else(|e| panic!("{command}: {e}"));
        read(command, answer.body_mut())
    }

    pub fn go_to(&self, address: &str) {
        self.post("/url", json!({ "url": address }));
    }

    /// Runs a script and gives what it returns; `arguments[0]` in it is `argument`.
    pub fn run_with(&self, script: &str, argument: Value) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [argument] }))
    }

    pub fn run(&self, script: &str) -> Value {
        self.run_with(script, Value::Null)
    }

    /// Waits until a script returns `expected`: the browser lays out and scrolls in its own time.
    pub fn wait_for(&self, script: &str, expected: &Value) {
        let end = Instant::now() + Duration::from_secs(10);
        loop {
            let found = self.run(script);
            if found == *expected {
                return;
            }
            assert!(Instant::now() < end, "{script}: {found} instead of {expected} after 10 s");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn all(&self, selector: &str) -> Vec<Element<'_>> {
        let found = self.post("/elements", json!({ "using": "css selector", "value": selector }));
        let id = |value: &Value| value.as_object()?.values().next()?.as_str().map(str::to_owned);
        let found =
            found.as_array().expect("a list").iter().map(|value| id(value).expect("an element"));
        found.map(|id| Element { browser: self, id }).collect()
    }

    /// The first element that matches.
    pub fn one(&self, selector: &str) -> Element<'_> {
        self.all(selector).into_iter().next().unwrap_or_else(|| panic!("no {selector}"))
    }

    /// A command of Chromium's own protocol, for what WebDriver does not have.
    pub fn chromium(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    /// A window of this many pixels. WebDriver's own command stops at 500.
    pub fn resize(&self, width: u32, height: u32) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.chromium("Emulation.setDeviceMetricsOverride", size);
        self.wait_for("return innerWidth", &json!(width));
    }

    /// The whole page as a picture.
    pub fn screenshot(&self, file: &Path) {
        let size = self.run("return [innerWidth, document.documentElement.scrollHeight]");
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1 });
        let wanted = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let picture = self.chromium("Page.captureScreenshot", wanted);
        let text = picture["data"].as_str().expect("a picture");
        let bytes = base64::engine::general_purpose::STANDARD.decode(text).expect("base64");
        std::fs::write(file, bytes).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    }

    /// What went to the console since the last look.
    pub fn console(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" }));
        log.as_array().expect("a list").iter().map(Value::to_string).collect()
    }
}

fn read(command: &str, body: &mut ureq::Body) -> Value {
    let text = body.with_config().limit(200 << 20).read_to_string().expect("an answer");
    let answer: Value =
        serde_json::from_str(&text).unwrap_or_else(|e| panic!("{command}: {e}: {text}"));
    assert!(answer["value"].get("error").is_none(), "{command}: {}", answer["value"]);
    answer["value"].clone()
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Closing the session lets Chromium end; chromedriver is ours to end. Neither may hide the test's own failure.
        _ = self.http.delete(&self.session).call();
        _ = self.driver.kill();
        _ = self.driver.wait();
    }
}

/// Something on the page.
pub struct Element<'a> {
    browser: &'a Browser,
    id: String,
}

impl Element<'_> {
    pub fn click(&self) {
        self.browser.post(&format!("/element/{}/click", self.id), json!({}));
    }

    pub fn keys(&self, keys: &str) {
        self.browser.post(&format!("/element/{}/value", self.id), json!({ "text": keys }));
    }

    /// The name that a screen reader says.
    pub fn name(&self) -> String {
        let name = self.browser.get(&format!("/element/{}/computedlabel", self.id));
        name.as_str().expect("a text").to_owned()
    }
}
