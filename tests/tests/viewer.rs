//! Runs are looked into as a browser shows them: every page, what a hostile model says, what changes while one looks, and who may look.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use regatta_tests::referee::Referee;
use regatta_tests::regatta::{finish, regatta, workspace};
use regatta_tests::viewing::{Answer, ask, host, post, run, view};
use regatta_tests::waiting::{in_time, until};
use regatta_tests::{Chromium, Window, unique_name};
use serde_json::json;

async fn page(url: &str) -> String {
    let Answer { head, body } = ask(url, "").await.unwrap();
    assert!(head.contains(" 200 "), "{url}: {head}");
    assert!(head.contains("default-src 'none'") && head.contains("nosniff"), "{url}: {head}");
    body
}

/// Pages that every run has.
const PAGES: [&str; 10] = [
    "",
    "/leaderboard",
    "/items",
    "/items?sort=disagreement",
    "/items?said=node&annotated=not&sample=5&seed=1",
    "/compare?a=sim%2Foracle&b=sim%2Fnoisy-0.5",
    "/endpoints",
    "/money",
    "/sessions/6/0",
    "/report",
];

#[tokio::test]
async fn a_run_is_looked_into_page_by_page() {
    let folder = tempfile::tempdir().unwrap();
    run(&workspace().join("examples/quickstart.yaml"), &folder.path().join("quick")).await.unwrap();
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    let of_run = format!("{ui}/runs/quick");
    assert!(page(&format!("{ui}/")).await.contains("href=\"/ui/runs/quick\""));
    for name in PAGES {
        let shown = page(&format!("{of_run}{name}")).await;
        assert!(!shown.contains("src=\"http") && !shown.contains("style=\""), "{name} loads from elsewhere");
    }
    let overview = page(&of_run).await;
    for piece in ["Why it is slow", "Of the time of sessions that have ended", "Provider's answers"] {
        assert!(overview.contains(piece), "{piece} is missing in {overview}");
    }
    // An item on which an oracle and a bad model differ is told with both sessions.
    let flips = page(&format!("{of_run}/compare?a=sim%2Foracle&b=sim%2Fnoisy-0.5")).await;
    let (of_oracle, of_noisy) = flips.split_once("Higher: sim/noisy-0.5").unwrap();
    assert!(of_oracle.contains("/sessions/0/") && of_oracle.contains("/sessions/6/"), "{of_oracle}");
    assert!(of_noisy.contains("No item."), "nobody is better than an oracle: {of_noisy}");
    // The gold stands beside the answer, and both are drawn.
    let items = page(&format!("{of_run}/items?model=sim%2Fnoisy-0.5&high=0.9&low=0.1")).await;
    let session = items.split("href=\"").filter_map(|rest| rest.split('"').next());
    let session = session.into_iter().find(|link| link.contains("/sessions/6/")).unwrap();
    let shown = page(&format!("{}{session}", ui.trim_end_matches("/ui"))).await;
    for piece in ["A right answer", "<svg class=\"graph\"", "class=\"node missing\"", "Similarity of", "Attempts"] {
        assert!(shown.contains(piece), "{piece} is missing in {shown}");
    }
    for (wrong, status) in [
        ("/runs/none", "404"),
        ("/runs/quick/sessions/99/0", "404"),
        ("/runs/quick/items?outcome=great", "400"),
        ("/runs/quick/items?low=much", "400"),
        ("/nothing", "404"),
    ] {
        let answer = ask(&format!("{ui}{wrong}"), "").await.unwrap();
        assert_eq!(answer.status(), status, "{wrong}");
    }
}

#[tokio::test]
async fn pages_of_this_machine_are_for_this_machine() {
    let folder = tempfile::tempdir().unwrap();
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    for head in ["host: evil.example\r\n", "host: 127.0.0.1\r\norigin: https://evil.example\r\n", "x: y\r\n"] {
        let answer = ask(&format!("{ui}/"), head).await.unwrap();
        assert_eq!(answer.status(), "403", "{head}");
    }
    let mut command = regatta().unwrap();
    command.args(["view", "--listen", "0.0.0.0:0"]).arg(folder.path());
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(78));
    assert!(String::from_utf8_lossy(&output.stderr).contains("others would reach the pages on 0.0.0.0:0"));
}

/// A spec of forty items whose question and answer are `text`.
fn declared(folder: &Path, text: &str) -> std::path::PathBuf {
    let data = folder.join("data");
    std::fs::create_dir_all(&data).unwrap();
    std::fs::write(
        data.join("benchmark.yaml"),
        "v: 1\ndata: { test: items.jsonl }\nitems: { id: id }\nprompt: { turns: [user: '{{ question }}'], sampling: { max_tokens: 400 } }\n\
         scorers: { right: { exact: { gold: '{{ answer }}' } } }\nsimulate: { reply: '{{ answer }}' }\n",
    )
    .unwrap();
    let items: Vec<String> =
        (0..40).map(|n| json!({ "id": format!("i{n}"), "question": text, "answer": text }).to_string()).collect();
    std::fs::write(data.join("items.jsonl"), items.join("\n")).unwrap();
    let spec = folder.join("spec.yaml");
    let name = unique_name("words");
    std::fs::write(
        &spec,
        format!(
            "name: {name}\nbenchmarks:\n  words: {{ data: data }}\nendpoints:\n  sim: {{ kind: simulated, limits: {{ concurrency: 1 }}, simulation: \
             {{ latency: {{ median_ms: 1, spread: 1.0 }} }} }}\nmodels: [sim/oracle]\n"
        ),
    )
    .unwrap();
    spec
}

/// Text with markup, escape sequences and bidirectional controls that browsers, terminals and readers would obey, and a line of a megabyte.
fn hostile() -> String {
    let words = "<script>document.title='owned'</script><img src=x onerror=alert(1)>\" onmouseover=\"x </pre></html>\
                 \u{1b}]8;;http://evil.example\u{7}link\u{1b}]8;;\u{7}\u{202e}txt.exe\u{2066}";
    format!("{words}{}", "a".repeat(1 << 20))
}

#[tokio::test]
async fn what_a_hostile_model_says_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let spec = declared(folder.path(), &hostile());
    run(&spec, &folder.path().join("hostile")).await.unwrap();
    let (_viewer, ui) = view(&folder.path().join("hostile"), &[]).await.unwrap();
    let shown = page(&format!("{ui}/runs/hostile/sessions/0/0")).await;
    assert!(shown.contains("&lt;script&gt;document.title=") && shown.contains("characters more"), "{}", &shown[..4000]);
    assert!(!shown.contains("<script>") && !shown.contains("<img src=x") && shown.matches("</html>").count() == 1);
    assert!(shown.len() < 500_000, "a page of {} bytes", shown.len());
    assert!(!shown.chars().any(|c| c == '\u{1b}' || c == '\u{7}' || c == '\u{202e}' || c == '\u{2066}'));
    assert!(shown.contains("⟨U+202E⟩"));
    let Some(mut browser) = browser("what_a_hostile_model_says_is_text").await else { return };
    browser.open(&format!("{ui}/runs/hostile/sessions/0/0")).await.unwrap();
    assert_eq!(browser.evaluate("document.title").await.unwrap(), "i0 · Regatta");
    assert_eq!(browser.evaluate("document.scripts.length").await.unwrap(), 1);
    let is_wide = browser.evaluate("document.documentElement.scrollWidth > innerWidth").await.unwrap();
    assert_eq!(is_wide, false, "the page is scrolled to the side");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

async fn browser(test: &str) -> Option<Chromium> {
    Chromium::for_test(test, 1400, 900).await.unwrap()
}

/// Name of a page in the names of files.
fn file_name(page: &str) -> String {
    let words = page.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join("-");
    if name.is_empty() { "runs".to_owned() } else { name }
}

#[tokio::test]
async fn a_browser_finds_nothing_to_complain_of() {
    let Some(mut browser) = browser("a_browser_finds_nothing_to_complain_of").await else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&workspace().join("examples/quickstart.yaml"), &folder.path().join("quick")).await.unwrap();
    run(&workspace().join("examples/flowbench.yaml"), &folder.path().join("flow")).await.unwrap();
    let (_viewer, ui) = view(folder.path(), &["--as", "ann"]).await.unwrap();
    for session in ["/runs/flow/sessions/0/0", "/runs/quick/sessions/6/0"] {
        let body = "mark=wrong&note=a+note";
        let sent = post(&format!("{ui}{session}/annotate"), &format!("http://{}", host(&ui)), body).await.unwrap();
        assert_eq!(sent.status(), "303", "{}", sent.body);
    }
    let mut pages: Vec<String> = ["/", "/money", "/endpoints", "/schedules"].map(str::to_owned).to_vec();
    pages.extend(PAGES.iter().filter(|name| **name != "/report").map(|name| format!("/runs/quick{name}")));
    pages.extend(["", "/items", "/sessions/0/0"].map(|name| format!("/runs/flow{name}")));
    for window in Window::ALL {
        for name in &pages {
            browser.open_in(window, &format!("{ui}{name}")).await.unwrap();
            let problems = browser.problems(window).await.unwrap();
            assert!(problems.is_empty(), "{name}, {window}: {problems:?}");
            browser.keep_screenshot(&file_name(name), window).await.unwrap();
        }
    }
    let elsewhere = browser.requests_elsewhere(ui.trim_end_matches("/ui"));
    assert!(elsewhere.is_empty(), "{elsewhere:?}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[tokio::test]
async fn a_run_is_followed_while_it_goes_on_without_loading_the_page_again() {
    let Some(mut browser) = browser("a_run_is_followed_while_it_goes_on").await else { return };
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(10, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "followed", 40, "").unwrap();
    let directory = folder.path().join("going");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory);
    let mut going = command.spawn().unwrap();
    let ledger = directory.join("store/ledger.sqlite");
    let begun = until("the ledger of the run", async || {
        assert!(going.try_wait().unwrap().is_none(), "it ended before anybody looked");
        if ledger.is_file() { Ok(()) } else { Err(format!("{} calls", referee.calls())) }
    });
    begun.await.unwrap();
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    let address = format!("{ui}/runs/going");
    let shown = until("the page of the run", async || {
        assert!(going.try_wait().unwrap().is_none(), "it ended before anybody looked");
        let answer = ask(&address, "").await.unwrap();
        if answer.status() == "200" { Ok(()) } else { Err(answer.head) }
    });
    shown.await.unwrap();
    browser.open(&address).await.unwrap();
    browser.evaluate("window.loadedOnce = true").await.unwrap();
    let measured = "Number([...document.querySelectorAll('dt')].find(e => e.textContent === 'Measured').nextElementSibling.textContent)";
    let before = browser.evaluate(measured).await.unwrap().as_f64().unwrap();
    assert!(before <= 10.0, "no more is answered yet: {before}");
    referee.answer(20);
    browser.wait_until(&format!("{measured} > {before}")).await.unwrap();
    assert!(going.try_wait().unwrap().is_none(), "what changed was seen while it went on");
    referee.answer_all();
    browser.wait_until("document.querySelector('main').textContent.includes('complete')").await.unwrap();
    browser.wait_until(&format!("{measured} === 40")).await.unwrap();
    assert_eq!(browser.evaluate("window.loadedOnce").await.unwrap(), true, "the page was not loaded again");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    assert_eq!(in_time("the end of the run", going.wait()).await.unwrap().unwrap().code(), Some(0));
}

#[tokio::test]
async fn a_run_that_was_killed_is_interrupted_and_says_how_it_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let referee = Referee::start(10, Duration::ZERO).await.unwrap();
    let spec = referee.spec(folder.path(), "killed", 40, "").unwrap();
    let directory = folder.path().join("killed");
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&directory).stdout(Stdio::null());
    let mut going = command.spawn().unwrap();
    referee.has_read(11).await;
    let (_viewer, ui) = view(&directory, &[]).await.unwrap();
    let address = format!("{ui}/runs/killed");
    let shown = page(&address).await;
    assert!(shown.contains(">running<") && shown.contains("Queued or under way"), "{shown}");
    assert!(!shown.contains("regatta resume"), "{shown}");
    // Ten of forty sessions are answered, and all have a price.
    let foretold = until("a forecast", async || {
        let shown = page(&address).await;
        if shown.contains("Money at the end") { Ok(()) } else { Err(shown) }
    });
    foretold.await.unwrap();
    assert!(page(&format!("{ui}/")).await.contains("At the end"));
    let endpoints = page(&format!("{ui}/endpoints")).await;
    assert!(endpoints.contains(">answers<") && endpoints.contains("/ui/runs/killed/endpoints"), "{endpoints}");
    going.kill().await.unwrap();
    let shown = page(&address).await;
    let advice = format!("<code>regatta resume {}</code> continues it", directory.canonicalize().unwrap().display());
    assert!(shown.contains(">interrupted<") && shown.contains(&advice), "{shown}");
    for piece in ["sessions a second", "Time left", "Money at the end"] {
        assert!(!shown.contains(piece), "{piece} in {shown}");
    }
    let runs = page(&format!("{ui}/")).await;
    assert!(runs.contains(">interrupted<") && !runs.contains("/s</td>"), "{runs}");
}

/// Condition of an element that leads to an address with `part` in it.
fn leads_to(part: &str) -> String {
    format!("(e.getAttribute('href') || '').includes({})", json!(part))
}

#[tokio::test]
async fn the_keyboard_alone_leads_from_the_runs_to_a_session_that_was_filtered_for() {
    const TEST: &str = "the_keyboard_alone_leads_from_the_runs_to_a_session_that_was_filtered_for";
    let Some(mut browser) = browser(TEST).await else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&workspace().join("examples/quickstart.yaml"), &folder.path().join("quick")).await.unwrap();
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    browser.open(&format!("{ui}/")).await.unwrap();
    browser.press("Tab").await.unwrap();
    let skip = browser.evaluate("document.activeElement.textContent").await.unwrap();
    assert_eq!(skip, "To the content");
    for link in ["/ui/runs/quick", "/ui/runs/quick/items"] {
        browser.tab_to(&leads_to(link)).await.unwrap();
        browser.enter().await.unwrap();
    }

    browser.tab_to("e.name === 'model'").await.unwrap();
    // Any model, then those of the run.
    for model in ["sim/oracle", "sim/noisy-0.2", "sim/noisy-0.5"] {
        browser.press("ArrowDown").await.unwrap();
        assert_eq!(browser.evaluate("document.activeElement.value").await.unwrap(), model);
    }
    browser.tab_to("e.name === 'low'").await.unwrap();
    browser.write("0.1").await.unwrap();
    browser.enter().await.unwrap();
    let filters = browser.evaluate("location.search").await.unwrap();
    let filters = filters.as_str().unwrap();
    assert!(filters.contains("model=sim%2Fnoisy-0.5&") && filters.contains("low=0.1&"), "{filters}");
    assert_eq!(browser.evaluate("document.querySelector('[name=low]').value").await.unwrap(), "0.1");

    browser.tab_to(&leads_to("/sessions/6/")).await.unwrap();
    browser.enter().await.unwrap();
    let session = browser.evaluate("location.pathname").await.unwrap();
    assert!(session.as_str().unwrap().contains("/sessions/6/"), "{session}");
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}

#[tokio::test]
async fn the_keyboard_alone_leads_through_a_comparison_to_both_sessions_of_an_item_that_flipped() {
    const TEST: &str = "the_keyboard_alone_leads_through_a_comparison_to_both_sessions_of_an_item_that_flipped";
    let Some(mut browser) = browser(TEST).await else { return };
    let folder = tempfile::tempdir().unwrap();
    run(&workspace().join("examples/quickstart.yaml"), &folder.path().join("quick")).await.unwrap();
    let (_viewer, ui) = view(folder.path(), &[]).await.unwrap();
    browser.open(&format!("{ui}/runs/quick")).await.unwrap();
    browser.tab_to(&leads_to("/ui/runs/quick/compare")).await.unwrap();
    browser.enter().await.unwrap();

    browser.tab_to("e.name === 'b'").await.unwrap();
    browser.press("ArrowDown").await.unwrap();
    browser.tab_to("e.type === 'submit'").await.unwrap();
    browser.enter().await.unwrap();
    let compared = "document.querySelector('#flips').textContent.includes('sim/noisy-0.5')";
    assert_eq!(browser.evaluate(compared).await.unwrap(), true);

    let flips = browser.evaluate("location.href").await.unwrap();
    // The oracle's sessions are those of the first three cells, those of the other model begin with the seventh.
    for cell in ["/sessions/0/", "/sessions/6/"] {
        browser.open(flips.as_str().unwrap()).await.unwrap();
        browser.tab_to(&format!("e.closest('#flips') && {}", leads_to(cell))).await.unwrap();
        browser.enter().await.unwrap();
        let session = browser.evaluate("location.pathname").await.unwrap();
        assert!(session.as_str().unwrap().contains(cell), "{session}");
    }
    assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
}
