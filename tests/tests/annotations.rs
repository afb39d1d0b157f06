//! People annotate sessions at the pages of runs: what is kept and what is refused, going through a sample, search, and what `align` makes
//! of it.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use futures::{StreamExt as _, stream};
use regatta_tests::Chromium;
use regatta_tests::regatta::{Process, binary, finish, program, regatta, workspace};
use regatta_tests::viewing::{Answer, ask, host, post, run, started, view};
use serde_json::{Value, json};

/// A run that is looked at.
struct Looked {
    folder: tempfile::TempDir,
    _viewer: Process,
    ui: String,
}

impl Looked {
    /// The run of an example, at the pages of ann.
    async fn at(example: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        run(&workspace().join("examples").join(example), &folder.path().join("run")).await.unwrap();
        let (viewer, ui) = view(folder.path(), &["--as", "ann"]).await.unwrap();
        Self { folder, _viewer: viewer, ui }
    }

    fn directory(&self) -> PathBuf {
        self.folder.path().join("run")
    }

    fn file(&self) -> PathBuf {
        self.directory().join("annotations.jsonl")
    }

    fn lines(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.file()).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    /// Address of a path below the run's.
    fn of(&self, path: &str) -> String {
        format!("{}/runs/run{path}", self.ui)
    }

    async fn page(&self, path: &str) -> String {
        let answer = ask(&self.of(path), "").await.unwrap();
        assert_eq!(answer.status(), "200", "{path}: {}", answer.body);
        answer.body
    }

    /// Sends a form to the session at `path`, as its page does.
    async fn annotate(&self, path: &str, body: &str) -> Answer {
        annotate(&self.ui, path, body).await
    }
}

async fn annotate(ui: &str, path: &str, body: &str) -> Answer {
    let (session, query) =
        path.split_once('?').map_or((path, String::new()), |(path, query)| (path, format!("?{query}")));
    post(&format!("{ui}/runs/run{session}/annotate{query}"), &format!("http://{}", host(ui)), body).await.unwrap()
}

/// Paths of the sessions that a page links to and that have everything in `having` in their element, below the run's.
fn sessions(page: &str, having: &str) -> Vec<String> {
    let links = page.split("<a ").filter(|element| element.split('>').next().is_some_and(|tag| tag.contains(having)));
    let paths = links.filter_map(|element| element.split("href=\"/ui/runs/run").nth(1)?.split('"').next());
    paths.filter(|path| path.starts_with("/sessions/")).map(|path| path.replace("&amp;", "&")).collect()
}

async fn command(arguments: &[&str]) -> (i32, String, String) {
    let mut command = regatta().unwrap();
    command.args(arguments);
    let output = finish(command).await.unwrap();
    let [stdout, stderr] = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap());
    (output.status.code().unwrap(), stdout, stderr)
}

#[tokio::test]
async fn what_people_rate_at_the_pages_is_aligned_as_a_file_with_the_same_ratings_is() {
    let looked = Looked::at("flowbench.yaml").await;
    let directory = looked.directory();
    let at = directory.to_str().unwrap();
    let (status, _, problem) = command(&["align", at]).await;
    assert_eq!(status, 78, "{problem}");
    assert!(problem.contains("annotations.jsonl has no ratings of sessions that the judge scored"), "{problem}");

    let (_bob, of_bob) = view(looked.folder.path(), &["--as", "bob"]).await.unwrap();
    let page = looked.page("/items?benchmark=flowbench&setting=session%2Fsingle%2Fflowchart&outcome=measured").await;
    let paths = sessions(&page, "class=\"mark");
    assert!(paths.len() >= 4, "{paths:?}");
    for (number, path) in paths.iter().enumerate() {
        let rating = ["0", "0.25", "0.5", "1"][number % 4];
        let mark = if number % 2 == 0 { "right" } else { "wrong" };
        let answer = looked.annotate(path, &format!("mark={mark}&rating={rating}&note=")).await;
        assert_eq!(answer.status(), "303", "{}", answer.body);
        let answer =
            annotate(&of_bob, path, &format!("mark=right&rating={}&note=I+agree", ["0.5", "1"][number % 2])).await;
        assert_eq!(answer.status(), "303", "{}", answer.body);
    }
    // Ann changes her mind, and says the same once more.
    for _ in 0..2 {
        looked.annotate(&paths[0], "mark=unsure&rating=0.75&note=").await;
    }
    let lines = looked.lines();
    assert_eq!(lines.len(), paths.len() * 2 + 1, "what says nothing new is no line");
    assert_eq!(std::fs::metadata(looked.file()).unwrap().permissions().mode() & 0o777, 0o600);
    let last = lines.last().unwrap();
    assert_eq!((&last["by"], &last["mark"], &last["rating"]), (&json!("ann"), &json!("unsure"), &json!(0.75)));
    assert!(last["at"].as_str().unwrap().ends_with('Z') && last.get("note").is_none(), "{last}");

    let rated = |line: &Value, ratings: Value| json!({ "setting": line["setting"], "model": line["model"], "trial": line["trial"], "item": line["item"], "ratings": ratings });
    let file = looked.folder.path().join("ratings.jsonl");
    let (mut content, mut marks) = (Vec::new(), Vec::new());
    for pair in lines[..paths.len() * 2].chunks(2) {
        let is_first = content.is_empty();
        let of_ann = if is_first { json!(0.75) } else { pair[0]["rating"].clone() };
        content.push(rated(&pair[0], json!({ "ann": of_ann, "bob": pair[1]["rating"] })).to_string());
        let mut people = json!({ "bob": 1 });
        if !is_first {
            people["ann"] = json!(if pair[0]["mark"] == "right" { 1 } else { 0 });
        }
        marks.push(rated(&pair[0], people).to_string());
    }
    // The session that was annotated last is the last line of what is aligned.
    content.rotate_left(1);
    marks.rotate_left(1);
    std::fs::write(&file, content.join("\n")).unwrap();
    let (_, by_file, _) = command(&["align", at, "--json", "--ratings", file.to_str().unwrap()]).await;
    let (status, by_annotations, told) = command(&["align", at, "--json"]).await;
    assert_eq!((status, by_annotations), (0, by_file), "{told}");
    assert!(told.contains(&format!("annotations.jsonl: {} sessions by ann, bob", paths.len())), "{told}");
    std::fs::write(&file, marks.join("\n")).unwrap();
    let (_, by_file, _) =
        command(&["align", at, "--json", "--score", "success", "--ratings", file.to_str().unwrap()]).await;
    let (status, by_marks, told) = command(&["align", at, "--json", "--score", "success", "--marks"]).await;
    assert_eq!((status, by_marks), (0, by_file), "{told}");

    // By hand a line is broken: it stays, the page says which, and align does not take the rest for the whole.
    let mut text = std::fs::read_to_string(looked.file()).unwrap();
    text += "{\"by\": \"ann\", mark: right}\n";
    std::fs::write(looked.file(), text).unwrap();
    let number = paths.len() * 2 + 2;
    assert!(looked.page(&paths[0]).await.contains(&format!("line {number}: key must be a string")));
    let (status, _, problem) = command(&["align", at]).await;
    assert!(status == 78 && problem.contains(&format!("annotations.jsonl, line {number}: ")), "{problem}");
}

#[tokio::test]
async fn a_note_is_text_whatever_is_in_it_and_a_form_of_anybody_else_is_refused() {
    let looked = Looked::at("quickstart.yaml").await;
    let session = "/sessions/0/0";
    let own = format!("http://{}", host(&looked.ui));
    let to = looked.of(&format!("{session}/annotate"));
    let note = |text: &str| format!("mark=wrong&note={text}");
    for (origin, why) in [("https://evil.example", "evil.example"), ("null", "null"), ("", "names no Origin")] {
        let answer = post(&to, origin, "mark=right").await.unwrap();
        assert!(answer.status() == "403" && answer.body.contains(why), "{origin}: {}", answer.body);
    }
    // A name that a stranger's site had resolved to this machine.
    let (port, path) = to.trim_start_matches("http://127.0.0.1").split_once('/').unwrap();
    let rebound = format!(
        "POST /{path} HTTP/1.0\r\nhost: evil.example{port}\r\norigin: http://evil.example{port}\r\ncontent-length: 10\r\n\
                           content-type: application/x-www-form-urlencoded\r\n"
    );
    assert!(refused_head(&own, &rebound, "mark=right").await.contains(" 403 "));
    for (body, status, why) in [
        (note(&"x".repeat(1 << 20)), "413", "at most 65536 bytes; shorten the note"),
        (note(&"x".repeat(4_001)), "400", "a note has 4001 characters, at most 4000 are allowed"),
        (note("%1b%5d8%3b%3bhttp"), "400", "control character"),
        (note("a%00b"), "400", "control character"),
        ("mark=great".to_owned(), "400", "unknown mark &quot;great&quot; (known: right, wrong, unsure)"),
        ("mark=right&rating=1".to_owned(), "400", "leave the rating out"),
        ("mark=&note=+".to_owned(), "400", "the annotation is empty"),
        ("mark=right&mark=wrong".to_owned(), "400", "invalid annotation"),
        ("mark=right&by=bob".to_owned(), "400", "invalid annotation"),
    ] {
        let answer = post(&to, &own, &body).await.unwrap();
        assert_eq!(answer.status(), status, "{}", answer.body);
        assert!(answer.body.contains(why), "{why}: {}", answer.body);
    }
    let answer = post(&looked.of("/sessions/99/0/annotate"), &own, "mark=right").await.unwrap();
    assert_eq!(answer.status(), "404");
    assert!(!looked.file().exists(), "nothing was written");

    let hostile = "=HYPERLINK(\"http://evil.example\")<script>alert(1)</script></textarea>\u{202e}";
    let encoded: String = hostile.bytes().map(|byte| format!("%{byte:02x}")).collect();
    let answer = post(&to, &own, &note(&encoded)).await.unwrap();
    assert_eq!((answer.status(), answer.header("location")), ("303", Some("/ui/runs/run/sessions/0/0#annotation")));
    assert_eq!(looked.lines()[0]["note"], hostile);
    let shown = looked.page(session).await;
    assert!(!shown.contains("<script>alert") && shown.matches("</textarea>").count() == 1, "{shown}");
    assert!(shown.contains("=HYPERLINK(&quot;http://evil.example&quot;)&lt;script&gt;") && shown.contains("⟨U+202E⟩"));
    // A page sends its forms with its own origin.
    let head = ask(&looked.of(session), "").await.unwrap().head;
    assert!(head.contains("referrer-policy: same-origin"), "{head}");

    // Nobody is named: everything is shown, and nothing taken.
    let (_nobody, ui) = view(looked.folder.path(), &[]).await.unwrap();
    let shown = ask(&format!("{ui}/runs/run{session}"), "").await.unwrap().body;
    assert!(shown.contains("Start the viewer with") && shown.contains("=HYPERLINK") && !shown.contains("<textarea"));
    let answer = annotate(&ui, session, "mark=right").await;
    assert!(answer.status() == "403" && answer.body.contains("--as NAME"), "{}", answer.body);
    let (status, _, problem) = command(&["view", "--as", "a\tb", looked.folder.path().to_str().unwrap()]).await;
    assert!(status != 0 && problem.contains("control character"), "{problem}");
}

/// The head of the answer to a request that is sent as it is to the server at `origin`.
async fn refused_head(origin: &str, head: &str, body: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(host(origin)).await.unwrap();
    stream.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.split("\r\n\r\n").next().unwrap().to_owned()
}

#[tokio::test]
async fn two_people_at_once_lose_nothing() {
    let looked = Looked::at("quickstart.yaml").await;
    let (_bob, of_bob) = view(looked.folder.path(), &["--as", "bob"]).await.unwrap();
    let page = looked.page("/items").await;
    let paths = sessions(&page, "class=\"mark");
    // A few at once of each: a listener has a limit for one address.
    let both = [looked.ui.as_str(), of_bob.as_str()].map(|ui| {
        let sent = stream::iter(&paths).map(move |path| annotate(ui, path, "mark=right&note=both+at+once"));
        sent.buffer_unordered(8).collect::<Vec<Answer>>()
    });
    let answers = futures::future::join_all(both).await;
    let answers: Vec<Answer> = answers.into_iter().flatten().collect();
    assert!(answers.iter().all(|answer| answer.status() == "303"));
    let lines = looked.lines();
    assert_eq!(lines.len(), paths.len() * 2);
    let people: BTreeSet<&str> = lines.iter().map(|line| line["by"].as_str().unwrap()).collect();
    assert_eq!(people, BTreeSet::from(["ann", "bob"]));
}

#[tokio::test]
async fn a_sample_is_gone_through_from_one_session_to_the_next() {
    let looked = Looked::at("quickstart.yaml").await;
    let query = "?sample=4&seed=7&model=sim%2Fnoisy-0.5";
    let list = format!("/items{query}");
    let page = looked.page(&list).await;
    assert!(page.contains("4 sessions of "), "{page}");
    let sample: BTreeSet<String> =
        sessions(&page, "class=\"mark").into_iter().filter(|path| !page.contains(&aside(path))).collect();
    assert_eq!(sample.len(), 4, "{sample:?}");
    assert_eq!(looked.page(&list).await, page, "the same for everybody");
    let mut seen = BTreeSet::new();
    let mut path = sample.first().unwrap().clone();
    loop {
        assert!(seen.insert(path.clone()) && sample.contains(&path), "{path} is not of {sample:?}");
        let shown = looked.page(&path).await;
        assert!(shown.contains(&format!("{} other session", 4 - seen.len())), "{path}: {shown}");
        let answer = looked.annotate(&path, "mark=right&note=&then=next").await;
        let next = answer.header("location").unwrap().trim_start_matches("/ui/runs/run").to_owned();
        if next.ends_with("#annotation") {
            // From the last of the list there is no next one, but those before it are left.
            let shown = looked.page(path.as_str()).await;
            let Some(previous) = sessions(&shown, "rel=\"prev\"").into_iter().find(|path| path.contains("sample=4"))
            else {
                break;
            };
            path = previous;
        } else {
            path = next;
        }
    }
    assert_eq!(seen, sample);
    // What is annotated stays in the sample, and the filter by annotations looks within it.
    let page = looked.page(&list).await;
    assert!(page.contains("4 sessions of ") && page.contains("right by ann"), "{page}");
    for (filter, count) in [("right", 4), ("wrong", 0), ("by_anyone", 4), ("not", 0), ("not_by_me", 0)] {
        let page = looked.page(&format!("{list}&annotated={filter}")).await;
        assert!(page.contains(&format!("{count} sessions of ")), "{filter}: {page}");
    }
    for wrong in ["?sample=0", "?sample=x", "?sample=10001", "?sample=5&seed=-1", "?annotated=maybe"] {
        assert_eq!(ask(&looked.of(&format!("/items{wrong}")), "").await.unwrap().status(), "400", "{wrong}");
    }
    // A site is for others, and tells nothing of who annotated what.
    let site = looked.folder.path().join("exported");
    let at = looked.directory();
    let (status, _, problem) =
        command(&["export", at.to_str().unwrap(), "--output", site.to_str().unwrap(), "--format", "site"]).await;
    assert_eq!(status, 0, "{problem}");
    assert!(!all_text(&site).contains("by ann") && !all_text(&site).contains("Annotat"));
}

/// The element of a session that is not selected.
fn aside(path: &str) -> String {
    format!("aside\" href=\"/ui/runs/run{}\"", path.replace('&', "&amp;"))
}

/// The text of all pages below `folder`.
fn all_text(folder: &Path) -> String {
    let mut text = String::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            text += &all_text(&path);
        } else if path.extension().is_some_and(|end| end == "html") {
            text += &std::fs::read_to_string(&path).unwrap();
        }
    }
    text
}

#[tokio::test]
async fn what_was_said_is_found_as_show_finds_it() {
    let looked = Looked::at("quickstart.yaml").await;
    let at = looked.directory();
    for words in ["node: (1)", "TASK", "nobody says this"] {
        let (status, listed, problem) = command(&["show", at.to_str().unwrap(), "--grep", words]).await;
        assert_eq!(status, 0, "{problem}");
        let first = |line: &str| {
            Some((
                line.split_whitespace().next()?.parse::<u32>().ok()?,
                line.split_whitespace().nth(1)?.parse::<u32>().ok()?,
            ))
        };
        let shown: BTreeSet<(u32, u32)> = listed.lines().filter_map(first).collect();
        let mut found = BTreeSet::new();
        let encoded: String = words.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let page = looked.page(&format!("/items?said={encoded}")).await;
        assert!(page.contains(" have it; looked into 1 to "), "{page}");
        for session in sessions(&page, "class=\"mark").into_iter().filter(|session| !page.contains(&aside(session))) {
            let mut parts = session.split('?').next().unwrap().split('/').skip(2).map(|part| part.parse().unwrap());
            found.insert((parts.next().unwrap(), parts.next().unwrap()));
        }
        assert_eq!(found, shown, "{words}");
    }
}

#[tokio::test]
async fn where_nothing_can_be_written_a_sentence_says_so_and_no_half_line_is_left() {
    let looked = Looked::at("quickstart.yaml").await;
    // Files of this viewer may have half a MiB; what is there leaves room for a part of a line.
    let line = json!({ "by": "bob", "benchmark": "worfbench", "setting": "s", "model": "e/m", "item": "i", "note": "x".repeat(3_900) }).to_string();
    let full = 1 << 19;
    let count = (full - 60) / (line.len() + 1);
    let mut text = format!("{line}\n").repeat(count);
    let rest = full - 60 - text.len();
    text += &" ".repeat(rest - 1);
    text.push('\n');
    std::fs::write(looked.file(), &text).unwrap();
    let mut command = program(Path::new("sh"));
    command.args(["-c", "ulimit -f 1024; trap '' XFSZ; exec \"$@\"", "sh"]).arg(binary().unwrap());
    command.args(["view", "--as", "cy"]).arg(looked.folder.path());
    let (_cy, ui) = started(command).await.unwrap();
    let answer = annotate(&ui, "/sessions/0/0", "mark=right").await;
    assert_eq!(answer.status(), "503", "{}", answer.body);
    assert!(answer.body.contains("the annotation was not saved: failed to write"), "{}", answer.body);
    assert_eq!(std::fs::read_to_string(looked.file()).unwrap(), text);

    // Something else has the name.
    std::fs::remove_file(looked.file()).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", looked.file()).unwrap();
    let answer = looked.annotate("/sessions/0/0", "mark=right").await;
    assert!(answer.status() == "503" && answer.body.contains("it is a link, or no regular file"), "{}", answer.body);
    let shown = looked.page("/sessions/0/0").await;
    assert!(shown.contains("Annotations are not shown: failed to read"), "{shown}");
}

#[tokio::test]
async fn with_script_a_form_is_saved_without_loading_the_page_again_and_by_keyboard() {
    const TEST: &str = "with_script_a_form_is_saved_without_loading_the_page_again_and_by_keyboard";
    let Some(mut browser) = Chromium::for_test(TEST, 390, 800).await.unwrap() else { return };
    let looked = Looked::at("quickstart.yaml").await;
    browser.open(&looked.of("/sessions/0/0")).await.unwrap();
    browser.evaluate("window.loadedOnce = true").await.unwrap();
    browser.evaluate("document.querySelector('input[value=wrong]').focus()").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.wait_until("document.getElementById('annotation-state').textContent.includes('empty')").await.unwrap();
    browser.evaluate("document.querySelector('input[value=wrong]').click()").await.unwrap();
    browser.press("Enter").await.unwrap();
    browser.wait_until("document.getElementById('annotation-state').textContent === 'saved'").await.unwrap();
    assert_eq!(browser.evaluate("window.loadedOnce").await.unwrap(), true);
    assert_eq!(browser.evaluate("document.querySelectorAll('.said tbody tr').length").await.unwrap(), 1);
    assert_eq!(looked.lines()[0]["mark"], "wrong");
    // The other button is a form that the browser sends itself, with the page's origin.
    browser.evaluate("document.querySelector('button[name=then]').click()").await.unwrap();
    browser
        .wait_until("location.pathname !== '/ui/runs/run/sessions/0/0' && document.readyState === 'complete'")
        .await
        .unwrap();
    assert!(browser.complaints.iter().all(|complaint| complaint.contains("400")), "{:?}", browser.complaints);
}
