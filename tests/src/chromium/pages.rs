//! Checks of any page, in the windows that people have: that it can be read, by the keyboard and by those who do not see it, and asks nobody else.

use std::fmt;
use std::path::PathBuf;

use serde_json::json;

use super::{Chromium, problem};
use crate::HarnessError;
use crate::regatta::workspace;

/// Script that lists shortcomings of a page for those who do not see it.
const ACCESSIBILITY: &str = include_str!("accessibility.js");
/// Script that lists texts that are hard to tell from what is behind them.
const CONTRAST: &str = include_str!("contrast.js");
/// Height of all windows, in pixels.
const HEIGHT: u32 = 900;
/// Width up to which a window is a phone's, in pixels.
const PHONE: u32 = 600;

/// A window in which pages are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Width in pixels.
    pub width: u32,
    /// Colours that the person prefers: `light` or `dark`.
    pub scheme: &'static str,
}

impl Window {
    /// A desk and a phone, by day and by night.
    pub const ALL: [Self; 4] = [
        Self { width: 1400, scheme: "light" },
        Self { width: 1400, scheme: "dark" },
        Self { width: 390, scheme: "light" },
        Self { width: 390, scheme: "dark" },
    ];
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.width, self.scheme)
    }
}

impl Chromium {
    /// Opens `url` in `window`.
    ///
    /// # Errors
    /// When it is not loaded in time.
    pub async fn open_in(&mut self, window: Window, url: &str) -> Result<(), HarnessError> {
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": window.scheme }] });
        self.call("Emulation.setEmulatedMedia", scheme).await?;
        let is_phone = window.width <= PHONE;
        let size = json!({ "width": window.width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": is_phone });
        self.call("Emulation.setDeviceMetricsOverride", size).await?;
        // A page of the same address that is still there would pass for the new one.
        self.open("about:blank").await?;
        self.open(url).await
    }

    /// Problems of the open page, a sentence each: it is wider than `window`, lacks something for accessibility, or has pale texts.
    ///
    /// # Errors
    /// When a script fails.
    pub async fn problems(&mut self, window: Window) -> Result<Vec<String>, HarnessError> {
        let mut problems = Vec::new();
        let width = self.pixels("scrollWidth").await?;
        if width > u64::from(window.width) {
            problems.push(format!("the page is {width} pixels wide"));
        }
        for (script, begins) in [(ACCESSIBILITY, "the page lacks"), (CONTRAST, "too little contrast:")] {
            let listed = self.evaluate(script).await?;
            let listed: Vec<String> = serde_json::from_value(listed).map_err(HarnessError::refused("check a page"))?;
            problems.extend(listed.into_iter().map(|one| format!("{begins} {one}")));
        }
        Ok(problems)
    }

    /// A size of the document, as `scrollHeight`, in pixels.
    ///
    /// # Errors
    /// When it has no such size.
    pub async fn pixels(&mut self, size: &str) -> Result<u64, HarnessError> {
        let pixels = self.evaluate(&format!("document.documentElement.{size}")).await?;
        pixels.as_u64().ok_or_else(|| problem(format!("the document's {size} is {pixels}")))
    }

    /// Requests so far for anything but what begins with `origin`.
    #[must_use]
    pub fn requests_elsewhere(&self, origin: &str) -> Vec<&str> {
        let urls = self.requests.iter().map(String::as_str);
        urls.filter(|url| !url.starts_with(origin) && *url != "about:blank").collect()
    }

    /// Writes a screenshot of the open page to `NAME-WIDTH-SCHEME.png` in `$REGATTA_SCREENSHOTS`, a folder, if that is set.
    ///
    /// # Errors
    /// When it cannot be drawn or written.
    pub async fn keep_screenshot(&mut self, name: &str, window: Window) -> Result<(), HarnessError> {
        let Some(folder) = std::env::var_os("REGATTA_SCREENSHOTS").map(PathBuf::from) else { return Ok(()) };
        // Tests run in the folder of their package.
        let folder = workspace().join(folder);
        let image = self.screenshot().await?;
        std::fs::create_dir_all(&folder).map_err(HarnessError::io("make the folder of screenshots"))?;
        let file = folder.join(format!("{name}-{window}.png"));
        std::fs::write(&file, image).map_err(HarnessError::io(format!("write {}", file.display())))
    }
}
