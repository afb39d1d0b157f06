//! Secrets where none belongs, in specs, schedules, command lines and addresses: each is refused, in words that leave it out.

use regatta_tests::unique_name;
use regatta_tests::waiting::until;

use crate::places::Place;
use crate::{MISPLACED, Marked, VARIABLES, spec};

/// Everything that is said of misplaced secrets.
pub(crate) async fn refusals(marked: &Marked, token: &str) -> Vec<Place> {
    let mut places = in_specs(marked, token).await;
    places.extend(in_schedules(marked, token).await);
    places.extend(keys_in_place_of_certificates(marked, token).await);
    places.extend(in_addresses(marked, token).await);
    places
}

async fn in_specs(marked: &Marked, token: &str) -> Vec<Place> {
    let (echo, secret) = (marked.echo, VARIABLES[0].0);
    let endpoint = |fields: String| {
        ("endpoints:\n", format!("endpoints:\n  bad: {{ kind: openai, {fields} }}\n"), "endpoints.bad.")
    };
    let at_echo = |fields: String| endpoint(format!("base_url: 'http://{echo}/v1', {fields}"));
    let agent = |fields: String, told| ("registered: looking", fields, told);
    let note = |text: String, told| ("limit: 1,", format!("limit: 1, note: '{text}',"), told);
    let cases = [
        at_echo(format!("api_key_env: '{MISPLACED}-/+'")),
        at_echo(format!("headers: {{ authorization: 'Bearer {MISPLACED}' }}")),
        at_echo(format!("headers: {{ x-litellm-api-key: {MISPLACED} }}")),
        at_echo(format!("headers_env: {{ x-key: '{MISPLACED}-/+' }}")),
        at_echo(format!("body: {{ api_key: {MISPLACED} }}")),
        endpoint(format!("base_url: 'http://user:{MISPLACED}@{echo}/v1'")),
        endpoint(format!("base_url: 'http://{echo}/v1?key={MISPLACED}'")),
        // A secret's variable is refused by its name, also where it is not set and a default stands for it.
        note(format!("${{{secret}}}"), secret),
        note(format!("${{{secret}_OF_NOBODY:-{MISPLACED}}}"), "may hold a secret"),
        note(format!("${{{MISPLACED}-/+}}"), "is not a variable name"),
        agent(format!("command: [sh], env: {{ HF_TOKEN: {MISPLACED} }}"), "agents.mine.env.HF_TOKEN"),
        agent(format!("command: [sh], env: {{ '{MISPLACED}-/+': x }}"), "agents.mine.env"),
        agent(format!("command: [sh], pass_env: ['{MISPLACED}-/+']"), "agents.mine.pass_env"),
        agent(format!("url: 'http://user:{MISPLACED}@{echo}/run'"), "agents.mine.url"),
        agent(format!("url: 'http://{echo}/run?api_key={MISPLACED}'"), "holds api_key"),
        agent(format!("url: 'http://{echo}/run?code={MISPLACED}'"), "holds code"),
    ];
    let mut places = Vec::new();
    for (old, new, told) in cases {
        let file = spec(marked.deployment.folder.path(), &unique_name("misplaced"), echo, "echo/plain-answer");
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.contains(old), "{text}");
        std::fs::write(&file, text.replace(old, &new)).unwrap();
        places.push(said(marked, token, &["submit", &file], told).await);
    }
    places
}

/// Changes that schedules make to their specs, which the coordinator looks at, and not the client.
async fn in_schedules(marked: &Marked, token: &str) -> Vec<Place> {
    let (echo, folder) = (marked.echo, marked.deployment.folder.path());
    let spec = spec(folder, "changed", echo, "echo/plain-answer");
    let schedule = folder.join("changed-schedule.yaml");
    let endpoint = |fields: String| format!("endpoints: {{ echo: {{ {fields} }} }}");
    let agent = |url: String| format!("agents: {{ mine: {{ registered: null, url: '{url}' }} }}");
    let cases = [
        (endpoint(format!("headers: {{ authorization: {MISPLACED} }}")), "headers.authorization"),
        (endpoint(format!("headers: {{ x-litellm-api-key: {MISPLACED} }}")), "headers.x-litellm-api-key"),
        (endpoint(format!("base_url: 'http://user:{MISPLACED}@{echo}/v1'")), "endpoints.echo.base_url"),
        (agent(format!("http://user:{MISPLACED}@{echo}/run")), "agents.mine.url"),
        (agent(format!("http://{echo}/run?api_key={MISPLACED}")), "agents.mine.url"),
    ];
    let mut places = Vec::new();
    for (overrides, told) in cases {
        let text = format!("name: changed\ncron: '0 0 29 2 *'\nspec: {spec}\noverrides: {{ {overrides} }}\n");
        std::fs::write(&schedule, text).unwrap();
        places.push(said(marked, token, &["schedule", "create", &schedule.display().to_string()], told).await);
    }
    places
}

/// The file of a private key where a certificate or an authority belongs.
async fn keys_in_place_of_certificates(marked: &Marked, token: &str) -> Vec<Place> {
    let certificate = marked.identity.certificate.display().to_string();
    let key = marked.identity.key.display().to_string();
    let swapped = ["status", "--client-cert", key.as_str(), "--client-key", certificate.as_str()];
    let server = marked.server.key.display().to_string();
    let served =
        ["coordinator", "--listen", "127.0.0.1:0", "--tls-key", server.as_str(), "--tls-cert", server.as_str()];
    vec![
        said(marked, token, &["status", "--ca", &key], "holds no certificate").await,
        said(marked, token, &swapped, "failed to read a private key").await,
        said(marked, token, &served, "holds no certificate").await,
    ]
}

/// Passwords in addresses of services that have another place for them, and one that is not escaped where it belongs.
async fn in_addresses(marked: &Marked, token: &str) -> Vec<Place> {
    let coordinator = format!("http://user:{MISPLACED}@{}", marked.deployment.api());
    let bucket = format!("http://user:{MISPLACED}@{}", marked.echo);
    let database = format!("postgres://user:half@{MISPLACED}@127.0.0.1:9/regatta");
    vec![
        said(marked, token, &["status", "--coordinator", &coordinator], "REGATTA_TOKEN").await,
        said(marked, token, &["scorer", "--listen", "127.0.0.1:0", "--s3-endpoint", &bucket], "AWS_SECRET_ACCESS_KEY")
            .await,
        said(marked, token, &["migrate", "--database-url", &database], "write %40").await,
    ]
}

/// A sweep whose endpoint has the address of a variable of the workers, with a password in it: they do not serve it, and say why.
pub(crate) async fn in_an_address_of_the_workers(marked: &Marked, token: &str) -> Vec<Place> {
    let file = spec(marked.deployment.folder.path(), &unique_name("addressed"), marked.echo, "openai/plain-answer");
    let (sweep, submitted) = marked.say(token, &["submit", &file]).await;
    assert!(!sweep.is_empty(), "{}", submitted.text);
    let log = marked.log("worker", "err");
    let refused = until("the worker's refusal of the address", async || {
        let written = std::fs::read(&log).unwrap();
        let is_there = String::from_utf8_lossy(&written).contains("base_url of endpoint openai holds credentials");
        if is_there { Ok(()) } else { Err("no such line".to_owned()) }
    });
    refused.await.unwrap();
    let (_, cancelled) = marked.say(token, &["cancel", &sweep]).await;
    vec![submitted, cancelled]
}

/// Output of a command that is refused with `told`.
async fn said(marked: &Marked, token: &str, arguments: &[&str], told: &str) -> Place {
    let (_, said) = marked.say(token, arguments).await;
    assert!(said.text.contains(told), "{told} is not in what {} says: {}", said.name, said.text);
    said
}
