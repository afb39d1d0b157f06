//! A browser without a window, driven over its debugging pipe: what a page shows, asks for and complains of.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::fs::File;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, Command};

use crate::HarnessError;

/// Longest wait for the browser, on a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(120);
/// Time between two looks at a page that is waited for.
const LOOK: Duration = Duration::from_millis(100);

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
    /// `true` if Debian's package is installed.
    #[must_use]
    pub fn is_there() -> bool {
        std::env::var_os("PATH")
            .is_some_and(|path| std::env::split_paths(&path).any(|part| part.join("chromium").is_file()))
    }

    /// Starts it with an empty profile, and a window of so many pixels.
    ///
    /// # Errors
    /// When it does not start.
    pub async fn start(width: u32, height: u32) -> Result<Self, HarnessError> {
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
            _ => (0, key),
        };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.call("Input.dispatchKeyEvent", event).await?;
        }
        Ok(())
    }
}

fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "'\\''"))
}
