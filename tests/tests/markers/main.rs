//! A deployment with a marker in every place where a person can put a secret: none is found in anything that it writes, says, sends or
//! shows, however an endpoint repeats what it was sent.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod echo;
mod marker;
mod misplaced;
mod places;
mod shown;

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use echo::{ENCODINGS, WAYS};
use marker::Marker;
use places::{Place, Tap, files, objects, pages, rows};
use regatta_tests::regatta::{Process, finish, free_address, get_text, workspace};
use regatta_tests::waiting::until;
use regatta_tests::{Authority, Deployment, Identity, unique_name};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Secrets of people, beside the credentials of the stores: name of the variable, value. Keys hold what encodings write in another way.
const VARIABLES: [(&str, &str); 6] = [
    ("MARKED_KEY", "key7f20c9d1e4b8a/0+\"1\\=key5e91c0d7b2a4f"),
    ("MARKED_STREAM_KEY", "stream3c8e5d0f1ab/0+\"1\\=stream9b4a7c2e0d1"),
    ("MARKED_HEADER", "header1d9b6e3f0c2/0+\"1\\=header8c5f2a7e4b0"),
    ("MARKED_JUDGE_KEY", "judge6a3d0e9c7f1b/0+\"1\\=judge2f8b5c1e7d0a"),
    ("MARKED_HOOK_SECRET", "hook0e7c4b1d8f5a2/hook3b9d6f2c8e1a5"),
    ("MARKED_VARIABLE", "passed5b8f1e4c7a0d3/passed9e2c6b0f4d8a1"),
];
/// In the path of a receiver's address, as receivers of chats have it.
const IN_ADDRESS: &str = "address2e7d1c6b0f9a4address8b3f5d";
/// Set for an agent by a worker's policy.
const OF_AGENT: &str = "agent4c0f9b6e3d2a8/agent7d1e5b9c3f0a6";
/// A credential that nobody made.
const GUESSED: &str = "guess8a1d5e0c7b3f9guess2c6e9d4b1";
/// In the query of the address of an issuer's keys.
const OF_ISSUER: &str = "issuer5d2e8c1f0b7a9issuer4e0b6d3c8";
/// Password of the proxy of all processes.
const OF_PROXY: &str = "proxy9c3b7e1d5f0a2proxy6b8d0e4c7f";
/// Header of the collector of traces.
const OF_COLLECTOR: &str = "collector8e1b6d3f0c9a5collector2d7b4e9c1f6";
/// Password in the address of a provider, as a variable of all processes has it.
const OF_PROVIDER: &str = "provider3e9a1d7c0f5b8provider6f2c4d8e1a0";
/// Written into files where the name of a variable belongs, or nothing at all.
const MISPLACED: &str = "misplaced1f7b4d0e9c5misplaced8d2a6c0e";

/// An agent that looks at what it can see, writes it to `seen`, and asks its model once.
const AGENT: &str = r#"
{ cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ; } 2>/dev/null | tr '\0' '\n' >> seen
curl --silent --max-time 60 --header 'content-type: application/json' --header "authorization: Bearer $OPENAI_API_KEY" \
    --data "{\"model\": \"$REGATTA_MODEL\", \"messages\": [{\"role\": \"user\", \"content\": \"hello\"}]}" "$OPENAI_BASE_URL/chat/completions"
"#;

fn spec(folder: &Path, name: &str, echo: SocketAddr, models: &str) -> String {
    let data = |name: &str| workspace().join("examples/data").join(name).display().to_string();
    let text = format!(
        "name: {name}\nseed: 5\nagents: {{ mine: {{ registered: looking, startup_s: 60, deadline_s: 60 }} }}\nbenchmarks:\n  \
         worfbench: {{ data: {}, settings: [two-shot], limit: 1, judge: judge/plain-answer }}\n  \
         autoslurp: {{ data: {}, settings: [external/mine], limit: 1, judge: judge/plain-answer }}\nendpoints:\n  \
         echo: {{ kind: openai, base_url: 'http://{echo}/v1', api_key_env: MARKED_KEY, headers_env: {{ x-litellm-api-key: MARKED_HEADER }} }}\n  \
         stream: {{ kind: openai, base_url: 'http://{echo}/v1', api_key_env: MARKED_STREAM_KEY, stream: true }}\n  \
         judge: {{ kind: openai, base_url: 'http://{echo}/v1', api_key_env: MARKED_JUDGE_KEY }}\nmodels: [{models}]\n",
        data("worfbench"),
        data("autoslurp"),
    );
    let file = folder.join(format!("{name}.yaml"));
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

fn policy_of_worker(folder: &Path, echo: SocketAddr) -> String {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
    let place = folder.join("agent");
    std::fs::create_dir(&place).unwrap();
    // The agent writes there as somebody else, where the worker is root.
    std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::set_permissions(&place, std::fs::Permissions::from_mode(0o777)).unwrap();
    let user = if place.metadata().unwrap().uid() == 0 { "user: nobody, " } else { "" };
    let origins = format!("{{ origins: ['http://{echo}'] }}");
    let mut text = "egress: { private: [127.0.0.0/8] }\nkeys:\n".to_owned();
    for (name, _) in &VARIABLES[..4] {
        writeln!(text, "  {name}: {origins}").unwrap();
    }
    let agent = serde_json::to_string(AGENT).unwrap();
    writeln!(
        text,
        "agents:\n  looking: {{ command: [sh, -c, {agent}], directory: {}, {user}env: {{ MARKED: '{OF_AGENT}' }}, pass_env: [MARKED_VARIABLE] }}",
        place.display()
    )
    .unwrap();
    let file = folder.join("worker.yaml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

/// The deployment, its roles, and what they log.
struct Marked {
    deployment: Deployment,
    /// Address of the endpoint, receiver, issuer and collector, which repeats what it is sent.
    echo: SocketAddr,
    /// Authority of the certificates of servers and clients.
    authority: Authority,
    /// Certificate and key of all processes, which they show to servers.
    identity: Identity,
    /// Certificate and key of a coordinator, which it shows to clients.
    server: Identity,
    tap: Tap,
    metrics: Vec<(&'static str, SocketAddr)>,
    roles: Vec<Process>,
}

impl Marked {
    async fn start(echo: SocketAddr) -> Self {
        let deployment = Deployment::new().await.unwrap();
        let tap = Tap::before(deployment.amqp_url()).await;
        let folder = deployment.folder.path().to_owned();
        let of_coordinator = folder.join("coordinator.yaml");
        let hook = format!(
            "webhooks: {{ ci: {{ url: 'http://{echo}/{IN_ADDRESS}', secret_env: MARKED_HOOK_SECRET }} }}\n\
             oidc: [{{ issuer: 'http://{echo}', jwks_uri: 'http://{echo}/keys?key={OF_ISSUER}', audience: regatta, everybody: [read] }}]\n\
             owners: {{ alice: {{ sessions: 1000 }} }}\n"
        );
        std::fs::write(&of_coordinator, hook).unwrap();
        let policies = [
            ("coordinator", Some(of_coordinator.display().to_string())),
            ("worker", Some(policy_of_worker(&folder, echo))),
            ("scorer", None),
        ];
        let authority = Authority::new(&folder, "authority").unwrap();
        let (identity, server) = (authority.issue("marked.example").unwrap(), authority.issue("localhost").unwrap());
        let (metrics, roles) = (Vec::new(), Vec::new());
        let mut marked = Self { deployment, echo, authority, identity, server, tap, metrics, roles };
        for (role, policy) in policies {
            let metrics = free_address().await.unwrap();
            let mut command = marked.command(role);
            if role == "coordinator" {
                let api = marked.deployment.api().to_string();
                command.args(["--listen", &api, "--metrics-listen", &metrics.to_string()]);
            } else {
                command.args(["--listen", &metrics.to_string()]);
            }
            if let Some(policy) = policy {
                command.args(["--policy", &policy]);
            }
            if role == "worker" {
                command.args(["--drain-s", "1"]);
            }
            let log = |kind: &str| std::fs::File::create(marked.log(role, kind)).unwrap();
            command.stdout(log("out")).stderr(log("err"));
            let process = Process::start_until_ready(command, metrics).await.unwrap();
            marked.roles.push(process);
            marked.metrics.push((role, metrics));
        }
        marked
    }

    fn log(&self, role: &str, kind: &str) -> std::path::PathBuf {
        self.deployment.folder.path().join(format!("{role}.{kind}.log"))
    }

    /// A command with all secrets, over the tapped broker, that logs everything.
    fn command(&self, verb: &str) -> tokio::process::Command {
        let mut command = self.deployment.command(verb).unwrap();
        command.env("AMQP_URL", &self.tap.url).envs(VARIABLES).args(["--log", "trace"]);
        // Nothing of these tests goes through it, but what opens connections reads it.
        command.env("HTTPS_PROXY", format!("http://proxy:{OF_PROXY}@127.0.0.1:9"));
        command.env("NO_PROXY", "localhost");
        command.env("OTEL_EXPORTER_OTLP_ENDPOINT", format!("http://{}", self.echo));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", format!("x-collector-key={OF_COLLECTOR}"));
        command.env("OPENAI_BASE_URL", format!("http://user:{OF_PROVIDER}@127.0.0.1:9/v1"));
        for (certificate, key) in [
            ("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE", "OTEL_EXPORTER_OTLP_CLIENT_KEY"),
            ("REGATTA_CLIENT_CERT", "REGATTA_CLIENT_KEY"),
        ] {
            command.env(certificate, &self.identity.certificate).env(key, &self.identity.key);
        }
        command
    }

    /// Output and errors of a client's command.
    async fn say(&self, token: &str, arguments: &[&str]) -> (String, Place) {
        let (verb, rest) = arguments.split_first().unwrap();
        let mut command = self.command(verb);
        command.args(rest).env("REGATTA_TOKEN", token);
        let output = finish(command).await.unwrap();
        let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        (said, Place::of(format!("`regatta {}`", arguments.join(" ")), &[output.stdout, output.stderr].concat()))
    }

    /// A request with a query and a header as they stand.
    async fn answer(&self, query: &str, header: &str) -> Place {
        let mut stream = TcpStream::connect(self.deployment.api()).await.unwrap();
        let host = self.deployment.api();
        let head = format!("GET /v1/sweeps{query} HTTP/1.0\r\nhost: {host}\r\n{header}\r\n\r\n");
        stream.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        Place::of("the answer to a stranger", &answer)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_secret_is_in_anything_that_a_deployment_writes_says_sends_or_shows() {
    let (echo, spans) = echo::start().await;
    let marked = Marked::start(echo).await;
    let (deployment, folder) = (&marked.deployment, marked.deployment.folder.path());
    let operator = Deployment::TOKEN;
    let mut places = Vec::new();

    let create = ["token", "create", "--owner", "alice", "--scopes", "read,submit"];
    let (token, _) = marked.say(operator, &create).await;
    let secret = token.rsplit('_').next().unwrap().to_owned();
    assert!(token.starts_with("rgt_"), "{token}");

    let models = ENCODINGS.iter().flat_map(|encoding| WAYS.iter().map(move |way| format!("echo/{encoding}-{way}")));
    let streamed = ENCODINGS.iter().map(|encoding| format!("stream/{encoding}-answer"));
    let models: Vec<String> = models.chain(streamed).collect();
    let file = spec(folder, &unique_name("marked"), echo, &models.join(", "));
    let (sweep, said) = marked.say(&token, &["submit", &file]).await;
    assert!(!sweep.is_empty(), "{}", said.text);
    places.push(said);
    places.push(marked.say(&token, &["watch", &sweep]).await.1);

    let nightly = spec(folder, "nightly", echo, "echo/plain-answer");
    let schedule = folder.join("schedule.yaml");
    let text =
        format!("name: nightly\ncron: '0 0 29 2 *'\nspec: {nightly}\nnotify: {{ events: [ended], webhooks: [ci] }}\n");
    std::fs::write(&schedule, text).unwrap();
    places.push(marked.say(operator, &["schedule", "create", &schedule.display().to_string()]).await.1);
    places.push(marked.say(operator, &["schedule", "run", "nightly"]).await.1);
    let log_of_coordinator = marked.log("coordinator", "err");
    let told = until("the webhook's answer in the coordinator's log", async || {
        let log = std::fs::read_to_string(&log_of_coordinator).unwrap();
        let (history, _) = marked.say(operator, &["schedule", "history", "nightly"]).await;
        assert!(!history.contains("refused"), "{history}");
        if log.contains("it answered 400") { Ok(()) } else { Err(history) }
    });
    told.await.unwrap();
    places.push(marked.say(operator, &["schedule", "history", "nightly", "--json"]).await.1);

    for header in [
        "authorization: Bearer ",
        "authorization: Basic ",
        "authorization: Bearer eyJhbGciOiJub25lIn0.",
        "cookie: regatta_view=",
    ] {
        places.push(marked.answer("", &format!("{header}{GUESSED}")).await);
    }
    places.push(marked.answer(&format!("?token={GUESSED}"), "accept: */*").await);
    // Its issuer's keys are asked for, and not to be had.
    let encoded = |part: String| URL_SAFE_NO_PAD.encode(part);
    let (head, claims) = (r#"{"alg":"ES256","kid":"one"}"#.to_owned(), format!(r#"{{"iss":"http://{echo}"}}"#));
    let signed = format!("authorization: Bearer {}.{}.{GUESSED}", encoded(head), encoded(claims));
    let answer = marked.answer("", &signed).await;
    assert!(answer.text.contains("cannot be had"), "{}", answer.text);
    places.push(answer);
    places.extend(misplaced::refusals(&marked, &token).await);
    places.extend(pages(deployment, operator).await);
    places.extend(misplaced::in_an_address_of_the_workers(&marked, &token).await);
    places.extend(shown::over_tls(&marked, &sweep).await);
    for arguments in [
        &["status"][..],
        &["status", &sweep, "--json"],
        &["doctor"],
        &["audit", "--json"],
        &["token", "list", "--json"],
        &["schedule", "show", "nightly"],
        &["gc", "--days", "0"],
    ] {
        places.push(marked.say(operator, arguments).await.1);
    }
    let exported = folder.join("exported");
    let output = exported.display().to_string();
    places.push(marked.say(&token, &["export", &sweep, "--transcripts", "--output", &output]).await.1);
    let formats = folder.join("formats").display().to_string();
    places.push(
        marked.say(&token, &["export", &output, "--format", "eval,parquet,csv,otlp", "--output", &formats]).await.1,
    );
    for (role, address) in &marked.metrics {
        let shown = get_text(&format!("http://{address}/metrics")).await.unwrap();
        assert!(shown.contains("regatta_"), "{role}: {shown}");
        places.push(Place::of(format!("metrics of the {role}"), shown.as_bytes()));
    }
    places.extend(rows(deployment).await);
    places.extend(objects(deployment).await);
    places.extend(files(&exported));
    places.extend(files(Path::new(&formats)));
    let seen = Place::of("what an agent sees", &std::fs::read(folder.join("agent/seen")).unwrap());
    let heard = marked.tap.heard();
    for role in marked.roles {
        role.terminate().await.unwrap();
    }
    for (role, _) in &marked.metrics {
        for kind in ["out", "err"] {
            let path = folder.join(format!("{role}.{kind}.log"));
            places.push(Place::of(format!("log of the {role}"), &std::fs::read(path).unwrap()));
        }
    }
    // Roles send their last spans when they leave.
    places.push(Place::of("spans of traces", &spans.lock().unwrap()));

    // Each place was looked at, and holds what it should: a search of nothing finds nothing.
    let said = |place: &str, what: &str| {
        let found = places.iter().any(|known| known.name.starts_with(place) && known.text.contains(what));
        assert!(found, "{place} has no {what}");
    };
    said("table cells", "echo/plain");
    said("object", "You sent");
    said("page /ui/runs/", "[key]");
    said("file", "You sent");
    said("log of the worker", "echo");
    said("log of the worker", "the collector of traces did not take spans");
    said("spans of traces", "invoke_agent worfbench");
    said("spans of traces", "plain-answer");
    assert!(heard.text.contains("You sent") && seen.text.contains("REGATTA_MODEL"), "{}", seen.text);

    let mut markers: Vec<Marker> = VARIABLES.iter().map(|(name, secret)| Marker::new(name, secret)).collect();
    markers.extend(deployment.credentials().iter().map(|(name, secret)| Marker::new(name, secret)));
    markers.extend([
        Marker::new("a token of an owner", &secret),
        Marker::new("the operator's token", operator),
        Marker::new("the collector's header", OF_COLLECTOR),
        Marker::new("a receiver's address", IN_ADDRESS),
        Marker::new("a variable of an agent", OF_AGENT),
        Marker::new("a guessed credential", GUESSED),
        Marker::new("the address of an issuer's keys", OF_ISSUER),
        Marker::new("a proxy's password", OF_PROXY),
        Marker::new("the password in a provider's address", OF_PROVIDER),
        Marker::of_key("a client's private key", &std::fs::read_to_string(&marked.identity.key).unwrap()),
        Marker::of_key("a server's private key", &std::fs::read_to_string(&marked.server.key).unwrap()),
        Marker::new("a misplaced secret", MISPLACED),
    ]);
    let mut found = String::new();
    for marker in &markers {
        let mut look = |place: &Place| {
            if let Some((encoding, around)) = marker.shown_in(&place.text) {
                writeln!(found, "{} is in {} ({encoding}): {around:?}", marker.name, place.name).unwrap();
            }
        };
        places.iter().for_each(&mut look);
        // A client logs in at the broker; an agent sees what its policy gives it.
        if marker.name != "broker's password" {
            look(&heard);
        }
        if !["MARKED_VARIABLE", "a variable of an agent"].contains(&&*marker.name) {
            look(&seen);
        }
    }
    assert!(found.is_empty(), "{found}");
}
