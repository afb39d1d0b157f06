//! Configuration that cannot work is told before anything is paid for, all of it at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use regatta_tests::http::{self, Request};
use regatta_tests::referee::Referee;
use regatta_tests::regatta::{finish, regatta, workspace};
use tokio::io::{AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Exit code of a bad configuration.
const REFUSED: Option<i32> = Some(78);
/// Exit code of a sweep in which something was not measured.
const INCOMPLETE: Option<i32> = Some(4);
const VARIABLE: &str = "CHOOSY_KEY";

/// An endpoint that takes the key `right` alone, for calls as for its list of models.
struct Choosy {
    address: String,
    /// Requests for its list of models, and calls.
    counts: Arc<[AtomicUsize; 2]>,
}

impl Choosy {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}/v1", listener.local_addr().unwrap());
        let counts: Arc<[AtomicUsize; 2]> = Arc::default();
        let counting = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, Arc::clone(&counting)));
            }
        });
        Self { address, counts }
    }

    fn listed(&self) -> usize {
        self.counts[0].load(Ordering::SeqCst)
    }

    fn called(&self) -> usize {
        self.counts[1].load(Ordering::SeqCst)
    }
}

/// Answers the requests of a connection until its client closes it.
async fn answer(stream: TcpStream, counts: Arc<[AtomicUsize; 2]>) -> std::io::Result<()> {
    const LIST: &str = r#"{"object":"list","data":[{"id":"model-one"}]}"#;
    const REFUSAL: &str = r#"{"error":{"message":"Incorrect API key provided.","code":"invalid_api_key"}}"#;
    let mut stream = BufReader::new(stream);
    while let Some(request) = Request::read(&mut stream).await? {
        let is_call = request.head.starts_with("POST ");
        counts[usize::from(is_call)].fetch_add(1, Ordering::SeqCst);
        let is_right = request.header("authorization") == Some("Bearer right");
        let (status, body) = if is_right && !is_call { ("200 OK", LIST) } else { ("401 Unauthorized", REFUSAL) };
        stream.write_all(&http::answer(status, "application/json", body)).await?;
    }
    Ok(())
}

/// A spec with a broken encoder, a key that is refused and an agent that is not there, beside an endpoint that answers.
fn broken_spec(folder: &Path, referee: &Referee, choosy: &Choosy) -> PathBuf {
    let data = |name: &str| workspace().join("examples/data").join(name).display().to_string();
    let encoder = folder.join("encoder");
    std::fs::create_dir(&encoder).unwrap();
    let more = format!(
        "  choosy: {{ kind: openai, base_url: '{}', api_key_env: {VARIABLE} }}\n  minilm: {{ kind: encoder, path: {} }}\nmodels:\n  \
         - choosy/model-one\n",
        choosy.address,
        encoder.display()
    );
    let text = format!(
        "name: broken\nagents: {{ mine: {{ command: [no-such-agent, --fast] }} }}\nbenchmarks:\n  \
         worfbench: {{ data: {}, settings: [two-shot], limit: 1, judge: minilm/all }}\n  \
         autoslurp: {{ data: {}, settings: [external/mine], limit: 1, judge: main/m }}\n{}",
        data("worfbench"),
        data("autoslurp"),
        referee.endpoint().replace("models:\n", &more)
    );
    let file = folder.join("broken.yaml");
    std::fs::write(&file, text).unwrap();
    file
}

/// A spec of one session at the endpoint.
fn choosy_spec(folder: &Path, choosy: &Choosy, model: &str) -> PathBuf {
    let text = format!(
        "name: choosy\nbenchmarks:\n  worfbench: {{ data: {}, settings: [two-shot], limit: 1, judge: sim/lexical }}\nendpoints:\n  \
         sim: {{ kind: simulated }}\n  choosy: {{ kind: openai, base_url: '{}', api_key_env: {VARIABLE} }}\nmodels: [choosy/{model}]\n",
        workspace().join("examples/data/worfbench").display(),
        choosy.address
    );
    let file = folder.join("choosy.yaml");
    std::fs::write(&file, text).unwrap();
    file
}

/// Output of the binary with `arguments`, a spec or a directory, and a key; and its standard error as text.
async fn ended(arguments: &[&str], spec: &Path, key: &str) -> (Output, String) {
    let mut command = regatta().unwrap();
    command.args(arguments).arg(spec).env(VARIABLE, key);
    let output = finish(command).await.unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (output, said)
}

fn at(folder: &Path, name: &str) -> String {
    folder.join(name).to_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_broken_encoder_a_refused_key_and_a_missing_agent_are_told_together_before_any_call() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = broken_spec(folder.path(), &referee, &choosy);
    let (output, said) = ended(&["run", "--output", &at(folder.path(), "run")], &spec, "wrong").await;
    assert_eq!(output.status.code(), REFUSED, "{said}");
    for part in [
        "3 problems found before anything was paid for:",
        "endpoints.minilm.path: ",
        "config.json",
        "endpoints.choosy.api_key_env: the endpoint refuses the key (HTTP 401: Incorrect API key provided.); put a valid one into CHOOSY_KEY",
        "agents.mine.command: failed to start no-such-agent: there is no such program in PATH",
        "--no-preflight",
    ] {
        assert!(said.contains(part), "{part:?} is missing in:\n{said}");
    }
    assert_eq!((referee.calls(), choosy.called(), choosy.listed()), (0, 0, 1));
}

#[tokio::test]
async fn a_directory_that_was_refused_takes_the_corrected_spec() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let broken = broken_spec(folder.path(), &referee, &choosy);
    let directory = at(folder.path(), "run");
    let (refused, said) = ended(&["run", "--output", &directory], &broken, "wrong").await;
    assert_eq!(refused.status.code(), REFUSED, "{said}");
    let good = referee.spec(folder.path(), "good", 4, "").unwrap();
    let (output, said) = ended(&["run", "--output", &directory], &good, "wrong").await;
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("preflight"), "{said}");
    assert_eq!((referee.calls(), choosy.called()), (4, 0));
}

#[tokio::test]
async fn a_run_that_was_refused_leaves_nothing_behind_that_was_not_there() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let broken = broken_spec(folder.path(), &referee, &choosy);
    std::fs::create_dir(folder.path().join("mine")).unwrap();
    std::fs::write(folder.path().join("mine/notes"), "mine").unwrap();
    for name in ["some/runs/new", "mine"] {
        let (output, said) = ended(&["run", "--output", &at(folder.path(), name)], &broken, "wrong").await;
        assert_eq!(output.status.code(), REFUSED, "{said}");
    }
    assert!(!folder.path().join("some").exists());
    let left: Vec<_> =
        std::fs::read_dir(folder.path().join("mine")).unwrap().map(|of| of.unwrap().file_name()).collect();
    assert_eq!(left, [std::ffi::OsString::from("notes")]);
}

#[tokio::test]
async fn a_check_sends_nothing_unless_it_is_told_to_try_endpoints() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let referee = Referee::start(u64::MAX, Duration::ZERO).await.unwrap();
    let spec = broken_spec(folder.path(), &referee, &choosy);
    let (output, said) = ended(&["check"], &spec, "wrong").await;
    assert_eq!(output.status.code(), REFUSED, "{said}");
    assert!(said.contains("endpoints.minilm.path: ") && said.contains("agents.mine.command: "), "{said}");
    assert!(!said.contains("endpoints.choosy"), "{said}");
    assert_eq!(choosy.listed(), 0);
    let (output, said) = ended(&["check", "--try-endpoints"], &spec, "wrong").await;
    assert_eq!(output.status.code(), REFUSED, "{said}");
    assert!(said.contains("endpoints.choosy.api_key_env: "), "{said}");
    assert_eq!((choosy.listed(), choosy.called(), referee.calls()), (1, 0, 0));
}

#[tokio::test]
async fn without_a_preflight_the_run_begins_and_its_resume_is_looked_at_again() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let (spec, directory) = (choosy_spec(folder.path(), &choosy, "model-one"), at(folder.path(), "run"));
    let (output, said) = ended(&["run", "--no-preflight", "--output", &directory], &spec, "wrong").await;
    assert_eq!(output.status.code(), INCOMPLETE, "{said}");
    assert!(choosy.listed() == 0 && choosy.called() > 0, "{said}");
    let called = choosy.called();
    let (output, said) = ended(&["resume"], Path::new(&directory), "wrong").await;
    assert_eq!(output.status.code(), REFUSED, "{said}");
    assert!(said.contains("endpoints.choosy.api_key_env: "), "{said}");
    assert_eq!((choosy.listed(), choosy.called()), (1, called));
    let (output, said) = ended(&["resume", "--no-preflight"], Path::new(&directory), "wrong").await;
    assert_eq!(output.status.code(), INCOMPLETE, "{said}");
    assert!(choosy.called() > called, "{said}");
}

#[tokio::test]
async fn a_model_that_is_not_listed_is_a_warning_with_the_one_that_is_like_it() {
    let (folder, choosy) = (tempfile::tempdir().unwrap(), Choosy::start().await);
    let spec = choosy_spec(folder.path(), &choosy, "model-onn");
    let (output, said) = ended(&["check", "--try-endpoints"], &spec, "right").await;
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("preflight: models[0]: choosy lists no model model-onn"), "{said}");
    assert!(said.contains("did you mean \"model-one\"?"), "{said}");
}
