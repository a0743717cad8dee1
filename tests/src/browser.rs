//! A real browser, driven: Debian's Chromium without a window, by its DevTools protocol over a pair of pipes.
//!
//! Takes a page's path, gives what it shows: values of expressions, pictures; clicks, drags and keys go in as from a
//! person. Whatever a page says on its console and whatever it asks the network for is kept, so that a test can want
//! neither. Fails by name when there is no Chromium.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use base64::Engine;
use serde_json::{Value, json};

use crate::tool::{require, scratch};

/// A running browser with one page.
pub struct Browser {
    child: Child,
    to: ChildStdin,
    /// What the browser says, read by a thread of its own so that nothing waits for ever.
    from: Receiver<Vec<u8>>,
    session: Option<String>,
    next: u64,
    /// Errors that pages wrote on the console, and code that failed.
    pub errors: Vec<String>,
    /// Addresses that pages asked for, but for files and data.
    pub requests: Vec<String>,
    home: tempfile::TempDir,
}

/// No network, no first-run pages, as root no sandbox of its own, and no shared memory: containers have little.
const OPTIONS: [&str; 12] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--force-device-scale-factor=1",
    "--remote-debugging-pipe",
];

/// What the browser writes about itself, in its folder.
const LOG: &str = "said";

/// How long a page may take to do what it was asked to; the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(40);

/// How often a browser is started that dies before it has a page, as it does at times on a machine under load.
const STARTS: usize = 3;

impl Browser {
    /// With a window of this size.
    ///
    /// # Panics
    /// If there is no Chromium, or it does not start, with what it said.
    #[must_use]
    pub fn start(width: u32, height: u32) -> Self {
        let mut said = Vec::new();
        for _ in 0..STARTS {
            let mut browser = Self::spawn(width, height);
            match browser.attach() {
                Ok(()) => return browser,
                Err(error) => said.push(format!("{error}\n{}", browser.said())),
            }
        }
        panic!("the browser did not start in {STARTS} tries: {}", said.join("\n"));
    }

    fn spawn(width: u32, height: u32) -> Self {
        let chromium = require("chromium".as_ref(), "install the package chromium");
        let home = scratch();
        let log = std::fs::File::create(home.path().join(LOG)).expect("a file can be made");
        // The browser reads commands from descriptor 3 and answers on 4; a shell puts our pipes there.
        let mut shell = Command::new("sh");
        shell.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"]).arg(chromium).args(OPTIONS);
        shell.arg(format!("--window-size={width},{height}")).arg(format!("--user-data-dir={}", home.path().display()));
        shell.arg("about:blank").env("HOME", home.path()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut child = shell.spawn().expect("a shell can be started");
        let to = child.stdin.take().expect("piped");
        let mut pipe = BufReader::new(child.stdout.take().expect("piped"));
        let (sender, from) = channel();
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            while pipe.read_until(0, &mut bytes).is_ok_and(|read| read > 0) && sender.send(bytes).is_ok() {
                bytes = Vec::new();
            }
        });
        let (errors, requests) = Default::default();
        Browser { child, to, from, session: None, next: 0, errors, requests, home }
    }

    /// Opens the page that everything is asked of.
    fn attach(&mut self) -> Result<(), String> {
        let target = self.ask("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        self.session = self.ask("Target.attachToTarget", attach)?["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Network", "Log"] {
            self.ask(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(())
    }

    /// What the browser wrote about itself.
    fn said(&self) -> String {
        std::fs::read_to_string(self.home.path().join(LOG)).unwrap_or_default()
    }

    /// A command of the protocol and its answer.
    ///
    /// # Panics
    /// If the browser refuses it, or is gone.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}\n{}", self.said()))
    }

    /// As [`Browser::call`], but the browser may refuse it or be gone.
    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.next += 1;
        let id = self.next;
        let mut message = json!({ "id": id, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&message).expect("JSON");
        bytes.push(0);
        let gone = |error: &dyn std::fmt::Display| format!("the browser is gone: {error}");
        self.to.write_all(&bytes).and_then(|()| self.to.flush()).map_err(|error| gone(&error))?;
        loop {
            let answer = self.read().map_err(|error| gone(&error))?;
            if answer["id"] == id {
                let refused = &answer["error"];
                return if refused.is_null() { Ok(answer["result"].clone()) } else { Err(refused.to_string()) };
            }
            self.note(&answer);
        }
    }

    fn read(&mut self) -> Result<Value, RecvTimeoutError> {
        let mut bytes = self.from.recv_timeout(PATIENCE)?;
        bytes.pop();
        Ok(serde_json::from_slice(&bytes).expect("JSON"))
    }

    fn note(&mut self, event: &Value) {
        let parameters = &event["params"];
        match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => self.errors.push(parameters["exceptionDetails"].to_string()),
            "Runtime.consoleAPICalled" if parameters["type"] == "error" => {
                self.errors.push(parameters["args"].to_string())
            }
            "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
                self.errors.push(parameters["entry"].to_string())
            }
            "Network.requestWillBeSent" => {
                let url = parameters["request"]["url"].as_str().unwrap_or_default();
                if !["file:", "data:", "blob:"].iter().any(|known| url.starts_with(known)) {
                    self.requests.push(url.to_owned());
                }
            }
            _ => {}
        }
    }

    /// Opens a file, with a state behind its address, and waits until the page is drawn.
    pub fn open(&mut self, page: &Path, state: &str) {
        let path = page.canonicalize().expect("the page is there");
        // Another state of the same page alone would not load it again.
        self.call("Page.navigate", json!({ "url": "about:blank" }));
        self.wait("location.href === 'about:blank'");
        self.call("Page.navigate", json!({ "url": format!("file://{}#{state}", path.display()) }));
        self.wait("document.documentElement?.dataset.ready !== undefined");
    }

    /// What an expression is in the page.
    ///
    /// # Panics
    /// If it fails there.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", parameters);
        assert!(answer["exceptionDetails"].is_null(), "{expression}: {}", answer["exceptionDetails"]);
        answer["result"]["value"].clone()
    }

    pub fn text(&mut self, expression: &str) -> String {
        self.value(expression).as_str().map(str::to_owned).unwrap_or_default()
    }

    /// Waits until an expression is true.
    ///
    /// # Panics
    /// If it does not become so.
    pub fn wait(&mut self, expression: &str) {
        let started = Instant::now();
        // While a page goes and another comes, there is nothing to ask.
        let parameters = json!({ "expression": expression, "returnByValue": true });
        while !self.ask("Runtime.evaluate", parameters.clone()).is_ok_and(|answer| answer["result"]["value"] == true) {
            assert!(started.elapsed() < PATIENCE, "never: {expression}; errors: {:?}", self.errors);
            std::thread::sleep(Duration::from_millis(15));
        }
    }

    /// Waits until the page has drawn what was asked for last.
    pub fn settle(&mut self) {
        self.value("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))");
    }

    /// The middle of an element.
    ///
    /// # Panics
    /// If there is none, or it cannot be seen.
    pub fn middle(&mut self, selector: &str) -> (f64, f64) {
        let quoted = json!(selector);
        let at = self.value(&format!(
            "(() => {{ const e = document.querySelector({quoted}); if (!e) return null; e.scrollIntoView({{ block: 'nearest' }}); \
             const b = e.getBoundingClientRect(); return [b.x + b.width / 2, b.y + b.height / 2]; }})()"
        ));
        let part = |i: usize| at[i].as_f64().unwrap_or_else(|| panic!("there is no {selector}"));
        (part(0), part(1))
    }

    pub fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let (button, buttons) = if kind == "mouseMoved" { ("none", 1) } else { ("left", 1) };
        let parameters = json!({ "type": kind, "x": x, "y": y, "button": button, "buttons": buttons, "clickCount": 1 });
        self.call("Input.dispatchMouseEvent", parameters);
    }

    pub fn click_at(&mut self, at: (f64, f64)) {
        self.mouse("mousePressed", at);
        self.mouse("mouseReleased", at);
        self.settle();
    }

    pub fn click(&mut self, selector: &str) {
        let at = self.middle(selector);
        self.click_at(at);
    }

    /// A key by its name in the DOM, as in `ArrowLeft`, `a`.
    pub fn key(&mut self, key: &str) {
        let code = match key {
            "ArrowLeft" => 37,
            "ArrowUp" => 38,
            "ArrowRight" => 39,
            "ArrowDown" => 40,
            "Enter" => 13,
            "Backspace" => 8,
            "Home" => 36,
            "End" => 35,
            other => other.bytes().next().map_or(0, |byte| i64::from(byte.to_ascii_uppercase())),
        };
        let text = (key.chars().count() == 1).then_some(key);
        for kind in ["keyDown", "keyUp"] {
            let text = text.filter(|_| kind == "keyDown");
            let parameters = json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text });
            let parameters = parameters.as_object().expect("an object").clone();
            let parameters: serde_json::Map<_, _> =
                parameters.into_iter().filter(|(_, value)| !value.is_null()).collect();
            self.call("Input.dispatchKeyEvent", Value::Object(parameters));
        }
        self.settle();
    }

    /// The window as a PNG.
    ///
    /// # Panics
    /// If it cannot be taken or written.
    pub fn picture(&mut self, to: &Path) -> PathBuf {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = answer["data"].as_str().unwrap_or_default();
        let bytes = base64::engine::general_purpose::STANDARD.decode(data).expect("base64");
        std::fs::write(to, bytes).expect("the picture can be written");
        to.to_path_buf()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It asks its own children to end.
        self.session = None;
        let message = b"{\"id\":0,\"method\":\"Browser.close\"}\0";
        let _ = self.to.write_all(message).and_then(|()| self.to.flush());
        for _ in 0..100 {
            if self.child.try_wait().is_ok_and(|status| status.is_some()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
