//! Pages of a deployment in a browser: whoever has its token steers a sweep by the keyboard alone, sees what others do while looking, annotates
//! sessions, and finds nothing to complain of.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::Process;
use regatta_tests::{Chromium, Deployment, Window, unique_name, waiting};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A browser that has logged in to a deployment with a sweep. There is no worker, so that the sweep goes on for as long as anybody looks.
struct Desk {
    browser: Chromium,
    deployment: Deployment,
    sweep: String,
    ui: String,
    referee: Referee,
    _coordinator: Process,
}

impl Desk {
    /// `None` where there is no browser for `test`.
    async fn open(test: &str) -> Option<Self> {
        let mut browser = Chromium::for_test(test, 1400, 900).await.unwrap()?;
        let deployment = Deployment::new().await.unwrap();
        let referee = Referee::start(0, Duration::ZERO).await.unwrap();
        let spec = referee.spec(deployment.folder.path(), &unique_name("steered"), 12, "budget_usd: 1\n").unwrap();
        let coordinator = deployment.start("coordinator").await.unwrap();
        let sweep = deployment.submit(&spec).await.unwrap();
        let ui = format!("http://{}/ui", deployment.api());
        browser.open(&format!("{ui}/login")).await.unwrap();
        browser.wait_until("document.activeElement.name === 'token'").await.unwrap();
        browser.write(Deployment::TOKEN).await.unwrap();
        browser.enter().await.unwrap();
        assert_eq!(browser.evaluate("location.pathname").await.unwrap(), "/ui/");
        Some(Self { browser, deployment, sweep, ui, referee, _coordinator: coordinator })
    }

    /// Waits until the page of the sweep offers `button`.
    async fn offers(&mut self, button: &str) {
        let buttons = "[...document.querySelectorAll('#steering button')]";
        let offered = format!("{buttons}.some(e => e.textContent === {})", json!(button));
        self.browser.wait_until(&offered).await.unwrap();
    }

    /// Goes by the Tab key to what reads `text`.
    async fn tab_to(&mut self, text: &str) {
        self.browser.tab_to(&format!("e.textContent.trim() === {}", json!(text))).await.unwrap();
    }

    /// Neither the pages nor what they asked for gave cause for complaint.
    fn is_content(&self) {
        let elsewhere = self.browser.requests_elsewhere(self.ui.trim_end_matches("/ui"));
        assert!(elsewhere.is_empty(), "{elsewhere:?}");
        assert!(self.browser.complaints.is_empty(), "{:?}", self.browser.complaints);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sweep_of_a_deployment_is_steered_by_the_keyboard_alone_and_its_page_follows_others() {
    const TEST: &str = "a_sweep_of_a_deployment_is_steered_by_the_keyboard_alone_and_its_page_follows_others";
    let Some(mut desk) = Desk::open(TEST).await else { return };
    let address = format!("/ui/runs/{}", desk.sweep);
    desk.browser.tab_to(&format!("e.getAttribute('href') === {}", json!(address))).await.unwrap();
    desk.browser.enter().await.unwrap();
    for (button, next) in [("Pause", "Continue"), ("Continue", "Pause")] {
        desk.tab_to(button).await;
        // It leads back to the same address.
        desk.browser.press("Enter").await.unwrap();
        desk.offers(next).await;
    }

    desk.browser.evaluate("window.loadedOnce = true").await.unwrap();
    let paused = desk.deployment.run(&["pause", &desk.sweep]).await.unwrap();
    assert!(paused.status.success(), "{}", String::from_utf8_lossy(&paused.stderr));
    desk.offers("Continue").await;
    assert_eq!(desk.browser.evaluate("window.loadedOnce").await.unwrap(), true, "the page was not loaded again");

    for text in ["Cancel it …", "Cancel the sweep"] {
        desk.tab_to(text).await;
        desk.browser.enter().await.unwrap();
    }
    assert_eq!(desk.browser.evaluate("location.pathname").await.unwrap(), address.as_str());
    let status = desk.deployment.status(&desk.sweep).await.unwrap();
    assert_eq!(status["state"], "cancelled", "{status}");
    desk.is_content();
}

/// The answer to a request of somebody with the deployment's token, whose browser shows its pages.
async fn asked(deployment: &Deployment, method: &str, path: &str, form: &str) -> String {
    let (address, token, length) = (deployment.api(), Deployment::TOKEN, form.len());
    let head = format!("{method} {path} HTTP/1.0\r\nhost: {address}\r\nauthorization: Bearer {token}\r\n");
    let of_form = format!(
        "origin: http://{address}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n"
    );
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(format!("{head}{of_form}\r\n{form}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_annotated_on_the_pages_of_a_deployment_is_fetched_with_the_sweep() {
    let deployment = Deployment::new().await.unwrap();
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = referee.spec(deployment.folder.path(), &unique_name("annotated"), 4, "").unwrap();
    let _coordinator = deployment.start("coordinator").await.unwrap();
    let _others = [deployment.start("worker").await.unwrap(), deployment.start("scorer").await.unwrap()];
    let sweep = deployment.submit(&spec).await.unwrap();
    let watched = deployment.run(&["watch", &sweep]).await.unwrap();
    assert!(watched.status.success(), "{}", String::from_utf8_lossy(&watched.stderr));

    let session = format!("/ui/runs/{sweep}/sessions/0/0");
    for form in ["mark=unsure", "mark=wrong&note=left+out"] {
        let answer = asked(&deployment, "POST", &format!("{session}/annotate"), form).await;
        assert!(answer.starts_with("HTTP/1.0 303") || answer.starts_with("HTTP/1.1 303"), "{answer}");
    }
    let shown = asked(&deployment, "GET", &session, "").await;
    assert!(shown.contains("says operator") && shown.contains("left out"), "{shown}");
    let log = deployment.run(&["audit", "--json"]).await.unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    assert_eq!(log.matches("\"annotate\"").count(), 2, "{log}");

    let (_, directory) = deployment.finish(&sweep).await.unwrap();
    let lines = std::fs::read_to_string(directory.join("annotations.jsonl")).unwrap();
    let marks: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["mark"].clone()).collect();
    assert_eq!(marks, ["unsure", "wrong"], "{lines}");
    assert!(lines.contains(r#""by":"operator""#), "{lines}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_finds_nothing_to_complain_of_in_the_pages_of_a_deployment() {
    const TEST: &str = "a_browser_finds_nothing_to_complain_of_in_the_pages_of_a_deployment";
    let Some(mut desk) = Desk::open(TEST).await else { return };
    let of_sweep = ["", "/leaderboard", "/items", "/endpoints", "/money", "/cancel"];
    let of_sweep = of_sweep.map(|page| format!("/runs/{}{page}", desk.sweep));
    let pages = ["/", "/money", "/endpoints", "/schedules", "/login"].map(str::to_owned);
    for window in Window::ALL {
        for (at, page) in pages.iter().chain(&of_sweep).enumerate() {
            desk.browser.open_in(window, &format!("{}{page}", desk.ui)).await.unwrap();
            let problems = desk.browser.problems(window).await.unwrap();
            assert!(problems.is_empty(), "{page}, {window}: {problems:?}");
            desk.browser.keep_screenshot(&format!("deployed-{at}"), window).await.unwrap();
        }
    }
    desk.is_content();
}

/// A client's command, which ends well: what it printed.
async fn said(deployment: &Deployment, arguments: &[&str]) -> String {
    let output = deployment.run(arguments).await.unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_drift_of_a_schedule_is_reached_by_the_keyboard_and_read_in_any_window() {
    const TEST: &str = "the_drift_of_a_schedule_is_reached_by_the_keyboard_and_read_in_any_window";
    let Some(mut desk) = Desk::open(TEST).await else { return };
    desk.referee.answer_all();
    let _others = [desk.deployment.start("worker").await.unwrap(), desk.deployment.start("scorer").await.unwrap()];
    let (folder, name) = (desk.deployment.folder.path().to_owned(), unique_name("nightly"));
    desk.referee.spec(&folder, "night", 4, "").unwrap();
    let file = folder.join("schedule.yaml");
    std::fs::write(&file, format!("name: {name}\ncron: 0 0 29 2 *\nspec: night.yaml\n")).unwrap();
    said(&desk.deployment, &["schedule", "create", file.to_str().unwrap()]).await;
    for nights in 1..=2 {
        said(&desk.deployment, &["schedule", "run", &name]).await;
        let ended = waiting::until(format!("the end of night {nights}"), async || {
            let history = said(&desk.deployment, &["schedule", "history", &name, "--json"]).await;
            let history: Value = serde_json::from_str(&history).unwrap();
            let is_last = history.as_array().is_some_and(|ticks| ticks.len() == nights);
            if is_last && history[0]["state"] == "ended" { Ok(()) } else { Err(history.to_string()) }
        });
        ended.await.unwrap();
    }

    let path = format!("/ui/schedules/{name}/drift");
    desk.browser.open(&format!("{}/schedules", desk.ui)).await.unwrap();
    desk.browser.tab_to(&format!("e.getAttribute('href') === {}", json!(path))).await.unwrap();
    desk.browser.enter().await.unwrap();
    assert_eq!(desk.browser.evaluate("location.pathname").await.unwrap(), path.as_str());
    let heading = desk.browser.evaluate("document.querySelector('h1').textContent").await.unwrap();
    assert_eq!(heading, format!("Drift of {name}"));
    assert_ne!(desk.browser.evaluate("document.querySelectorAll('svg').length").await.unwrap(), 0);
    for window in Window::ALL {
        desk.browser.open_in(window, &format!("{}/schedules/{name}/drift", desk.ui)).await.unwrap();
        let problems = desk.browser.problems(window).await.unwrap();
        assert!(problems.is_empty(), "{window}: {problems:?}");
        desk.browser.keep_screenshot("deployed-drift", window).await.unwrap();
    }
    desk.is_content();
}
