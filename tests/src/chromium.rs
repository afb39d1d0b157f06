//! A browser without a window, driven over its debugging pipe: what a page shows, asks for and complains of.

mod pages;

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

pub use self::pages::Window;
use crate::HarnessError;
use crate::regatta::skipped;

/// Longest wait for the browser, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two looks at a page that is waited for.
const LOOK: Duration = Duration::from_millis(100);
/// Presses of the Tab key after which what is looked for is out of its reach.
const PRESSES: usize = 80;

/// A browser with one page; it ends when this is dropped.
#[derive(Debug)]
pub struct Chromium {
    _child: Child,
    _folder: TempDir,
    commands: File,
    answers: File,
    unread: Vec<u8>,
    session: Option<String>,
    number: u64,
    /// Addresses that were asked for, in order.
    pub requests: Vec<String>,
    /// Errors and warnings of scripts, policies and loading.
    pub complaints: Vec<String>,
}

fn problem(what: impl Into<String>) -> HarnessError {
    HarnessError::Binary(format!("chromium: {}", what.into()))
}

impl Chromium {
    /// A browser for `test`, with a window of so many pixels; `None`, with a sentence, where Debian's package is not installed.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn for_test(test: &str, width: u32, height: u32) -> Result<Option<Self>, HarnessError> {
        let is_there = std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|part| part.join("chromium").is_file()));
        if !is_there {
            skipped(test, "there is no chromium; `apt-get install chromium` brings it");
            return Ok(None);
        }
        Self::start(width, height).await.map(Some)
    }

    /// Starts it with an empty profile.
    async fn start(width: u32, height: u32) -> Result<Self, HarnessError> {
        let folder = tempfile::tempdir().map_err(HarnessError::io("make a folder"))?;
        let (commands, answers) = (folder.path().join("commands"), folder.path().join("answers"));
        let made = Command::new("mkfifo").args([&commands, &answers]).status().await;
        if !made.map_err(HarnessError::io("run mkfifo"))?.success() {
            return Err(problem("mkfifo failed"));
        }
        let profile = folder.path().join("profile");
        // Its debugger reads from the third descriptor and writes to the fourth.
        let script = format!(
            "exec chromium --headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking \
             --disable-component-update --disable-sync --disable-dev-shm-usage --user-data-dir={} --window-size={width},{height} \
             --remote-debugging-pipe about:blank 3<{} 4>{}",
            quoted(&profile),
            quoted(&commands),
            quoted(&answers)
        );
        let mut shell = Command::new("bash");
        shell.args(["-c", &script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let child = shell.spawn().map_err(HarnessError::io("run chromium"))?;
        // Both ends wait for each other, in the shell's order.
        let open = async {
            let commands = tokio::fs::OpenOptions::new().write(true).open(&commands).await?;
            let answers = File::open(&answers).await?;
            Ok::<_, std::io::Error>((commands, answers))
        };
        let opened = tokio::time::timeout(PATIENCE, open).await.map_err(|_| problem("did not start"))?;
        let (commands, answers) = opened.map_err(HarnessError::io("open the debugging pipe"))?;
        let mut browser = Self {
            _child: child,
            _folder: folder,
            commands,
            answers,
            unread: Vec::new(),
            session: None,
            number: 0,
            requests: Vec::new(),
            complaints: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" })).await?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let attached = browser.call("Target.attachToTarget", attach).await?;
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({})).await?;
        }
        Ok(browser)
    }

    /// Asks the browser to do something, and returns its answer.
    ///
    /// # Errors
    /// When it refuses, or does not answer.
    pub async fn call(&mut self, method: &str, parameters: Value) -> Result<Value, HarnessError> {
        self.number += 1;
        let mut message = json!({ "id": self.number, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        self.commands.write_all(&bytes).await.map_err(HarnessError::io("write to chromium"))?;
        self.commands.flush().await.map_err(HarnessError::io("write to chromium"))?;
        let answered = async {
            loop {
                let message = self.message().await?;
                if message["id"] == self.number {
                    return match message.get("error") {
                        Some(error) => Err(problem(format!("{method}: {error}"))),
                        None => Ok(message["result"].clone()),
                    };
                }
                self.note(&message);
            }
        };
        tokio::time::timeout(PATIENCE, answered).await.map_err(|_| problem(format!("no answer to {method}")))?
    }

    async fn message(&mut self) -> Result<Value, HarnessError> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == 0) {
                let message: Vec<u8> = self.unread.drain(..=end).collect();
                return serde_json::from_slice(&message[..end]).map_err(|error| problem(error.to_string()));
            }
            let mut piece = vec![0; 65_536];
            let count = self.answers.read(&mut piece).await.map_err(HarnessError::io("read from chromium"))?;
            if count == 0 {
                return Err(problem("ended"));
            }
            self.unread.extend_from_slice(&piece[..count]);
        }
    }

    fn note(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests.extend(parameters["request"]["url"].as_str().map(str::to_owned));
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(parameters["exceptionDetails"].to_string()),
            Some("Log.entryAdded") => self.complaints.push(parameters["entry"].to_string()),
            Some("Runtime.consoleAPICalled") => self.complaints.push(parameters["args"].to_string()),
            Some(_) | None => {}
        }
    }

    /// Opens `url`, and waits until it is loaded.
    ///
    /// # Errors
    /// When it is not loaded in time.
    pub async fn open(&mut self, url: &str) -> Result<(), HarnessError> {
        self.call("Page.navigate", json!({ "url": url })).await?;
        let is_loaded = format!("document.readyState === 'complete' && location.href.startsWith({})", json!(url));
        self.wait_until(&is_loaded).await
    }

    /// The value of a script's expression in the page.
    ///
    /// # Errors
    /// When it throws.
    pub async fn evaluate(&mut self, expression: &str) -> Result<Value, HarnessError> {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let answer = self.call("Runtime.evaluate", asked).await?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(problem(format!("{expression}: {details}"))),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Waits until an expression is true in the page.
    ///
    /// # Errors
    /// When it does not become so.
    pub async fn wait_until(&mut self, expression: &str) -> Result<(), HarnessError> {
        let deadline = tokio::time::Instant::now() + PATIENCE;
        while tokio::time::Instant::now() < deadline {
            // Between two pages nothing can be evaluated.
            if self.evaluate(expression).await.is_ok_and(|value| value == true) {
                return Ok(());
            }
            tokio::time::sleep(LOOK).await;
        }
        Err(problem(format!("it did not become true that {expression}")))
    }

    /// Presses a key.
    ///
    /// # Errors
    /// When the browser has gone.
    pub async fn press(&mut self, key: &str) -> Result<(), HarnessError> {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Tab" => (9, ""),
            "ArrowDown" => (40, ""),
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }

    /// Presses the keys of `text`, one after the other.
    ///
    /// # Errors
    /// When the browser has gone.
    pub async fn write(&mut self, text: &str) -> Result<(), HarnessError> {
        for key in text.chars() {
            self.press(&key.to_string()).await?;
        }
        Ok(())
    }

    /// Presses Tab until `condition` holds of `e`, the element that has the focus.
    ///
    /// # Errors
    /// When no element within reach fulfils it.
    pub async fn tab_to(&mut self, condition: &str) -> Result<(), HarnessError> {
        let holds = format!("(e => {condition})(document.activeElement)");
        for _ in 0..PRESSES {
            self.press("Tab").await?;
            if self.evaluate(&holds).await? == true {
                return Ok(());
            }
        }
        Err(problem(format!("{PRESSES} presses of Tab lead to no element of which holds {condition}")))
    }

    /// Presses Enter, and waits for the page that this leads to.
    ///
    /// # Errors
    /// When the page stays the same.
    pub async fn enter(&mut self) -> Result<(), HarnessError> {
        let from = self.evaluate("location.href").await?;
        self.press("Enter").await?;
        self.wait_until(&format!("location.href !== {from} && document.readyState === 'complete'")).await
    }

    /// The page in its whole length, as a PNG.
    ///
    /// # Errors
    /// When the browser cannot draw it.
    pub async fn screenshot(&mut self) -> Result<Vec<u8>, HarnessError> {
        let size = self.call("Page.getLayoutMetrics", json!({})).await?["cssContentSize"].clone();
        let whole = json!({ "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": whole });
        let answer = self.call("Page.captureScreenshot", asked).await?;
        let image = answer["data"].as_str().ok_or_else(|| problem("a screenshot without an image"))?;
        STANDARD.decode(image).map_err(HarnessError::refused("read a screenshot"))
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
