//! A deployment under a sweep, as Prometheus sees it: every metric of rules and dashboards is scraped, and every query has an answer.
//!
//! Runs where Prometheus is installed; says so where it is not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use regatta_tests::regatta::{Process, free_address, get_json, get_text, regatta, skipped, workspace};
use regatta_tests::waiting::until;
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;
use tokio::process::Command;

/// Queries to which a healthy sweep gives no answer.
const UNANSWERED: [&str; 0] = [];

/// An endpoint that fails now and then and answers in streams, and a sweep with a budget that lasts for half an hour if nobody cancels it.
async fn sweep(folder: &Path) -> (Process, std::path::PathBuf) {
    let data = workspace().join("examples/data/worfbench");
    let mut simulate = regatta().unwrap();
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0"]);
    simulate.args(["--data", &format!("worfbench={}", data.display())]);
    simulate.args([
        "--simulation",
        "{latency: {median_ms: 400, spread: 1.5, first_token_ms: 50}, faults: {server_error: 0.1}}",
    ]);
    let server = Process::start_and_read(simulate).await.unwrap();
    let spec = folder.join("observed.yaml");
    let text = format!(
        "name: {}\nseed: 5\ntrials: 200\nbudget_usd: 100\nbenchmarks:\n  worfbench:\n    data: {}\n    settings: [two-shot, zero-shot]\n    \
         judge: sim/lexical\n    judge_price: {{ input_per_mtok: 0, output_per_mtok: 0 }}\nendpoints:\n  sim:\n    kind: openai\n    base_url: {}\n    \
         api_key_env: none\n    identify_sessions: true\n    stream: true\n    limits: {{ concurrency: 6 }}\nmodels:\n  \
         - {{ id: sim/oracle, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n  \
         - {{ id: sim/noisy-0.3, price: {{ input_per_mtok: 1, output_per_mtok: 2 }} }}\n",
        unique_name("observed"),
        data.display(),
        server.first_line
    );
    std::fs::write(&spec, text).unwrap();
    (server, spec)
}

/// A schedule that is paused, with one night that was asked for by hand: a trial of one of the sweep's settings.
async fn schedule(deployment: &Deployment, sweep: &Path) {
    let (name, folder) = (unique_name("nightly"), deployment.folder.path());
    let overrides = "{ trials: 1, benchmarks: { worfbench: { settings: [two-shot] } } }";
    let file = folder.join("schedule.yaml");
    let spec = sweep.file_name().unwrap().to_str().unwrap();
    let text = format!("name: {name}\ncron: 0 0 29 2 *\nspec: {spec}\noverrides: {overrides}\n");
    std::fs::write(&file, text).unwrap();
    for arguments in [["create", file.to_str().unwrap()], ["pause", name.as_str()], ["run", name.as_str()]] {
        let output = deployment.run(&[&["schedule"][..], &arguments[..]].concat()).await.unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

/// Prometheus with the chart's rules, scraping `targets`.
async fn prometheus(folder: &Path, targets: &[SocketAddr]) -> Option<(Process, SocketAddr)> {
    if std::process::Command::new("prometheus").arg("--version").output().is_err() {
        skipped("observed", "prometheus is missing; install Debian's package prometheus");
        return None;
    }
    let (address, config) = (free_address().await.unwrap(), folder.join("prometheus.yaml"));
    let targets: Vec<String> = targets.iter().map(|target| format!("'{target}'")).collect();
    let text = format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 1s }}\nrule_files: ['{}']\nscrape_configs:\n  - job_name: regatta\n    \
         static_configs: [{{ targets: [{}] }}]\n",
        workspace().join("helm/regatta/files/rules.yaml").display(),
        targets.join(", ")
    );
    std::fs::write(&config, text).unwrap();
    let mut command = Command::new("prometheus");
    command.arg(format!("--config.file={}", config.display()));
    command.arg(format!("--storage.tsdb.path={}", folder.join("prometheus").display()));
    command.arg(format!("--web.listen-address={address}"));
    command.stdout(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
    Some((Process::start_and_probe(command, address).await.unwrap(), address))
}

/// Series that `query` has at present.
async fn ask(prometheus: SocketAddr, query: &str) -> usize {
    let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let Ok(answer) = get_json(&format!("http://{prometheus}/api/v1/query?query={encoded}")).await else { return 0 };
    assert_eq!(answer["status"], "success", "{query}: {answer}");
    answer["data"]["result"].as_array().map_or(0, Vec::len)
}

/// All queries of the dashboards, and all series that the rules record, by where they stand.
fn queries() -> BTreeMap<String, String> {
    let mut queries = BTreeMap::new();
    for entry in std::fs::read_dir(workspace().join("helm/regatta/dashboards")).unwrap() {
        let path = entry.unwrap().path();
        let dashboard: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            for target in panel["targets"].as_array().unwrap() {
                let name = path.file_stem().unwrap().to_string_lossy();
                let place = format!("{name}: {}: {}", panel["title"], target["refId"]);
                let query = target["expr"].as_str().unwrap().replace("$__rate_interval", "30s");
                let query =
                    ["$namespace", "$endpoint", "$sweep"].iter().fold(query, |query, name| query.replace(name, ".*"));
                assert!(!query.contains('$'), "{place}: {query}");
                queries.insert(place, query);
            }
        }
    }
    let rules = std::fs::read_to_string(workspace().join("helm/regatta/files/rules.yaml")).unwrap();
    for record in rules.lines().filter_map(|line| line.trim().strip_prefix("- record: ")) {
        queries.insert(format!("rule: {record}"), record.to_owned());
    }
    // No dashboard shows what this alert looks at.
    let missed = r#"regatta_coordinator_schedule_ticks_total{result=~"missed|refused"}"#;
    queries.insert("alert: RegattaScheduleMissed".to_owned(), missed.to_owned());
    queries
}

/// Names of the metrics that a role shows.
async fn shown(address: SocketAddr) -> BTreeSet<String> {
    let text = get_text(&format!("http://{address}/metrics")).await.unwrap();
    text.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next().map(str::to_owned)).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_query_of_rules_and_dashboards_has_an_answer_while_a_sweep_runs() {
    let deployment = Deployment::new().await.unwrap();
    let folder = deployment.folder.path();
    let addresses =
        [deployment.api(), free_address().await.unwrap(), free_address().await.unwrap(), free_address().await.unwrap()];
    let Some((_prometheus, prometheus)) = prometheus(folder, &addresses).await else { return };
    let (_server, spec) = sweep(folder).await;
    let mut roles = Vec::new();
    for (role, address) in ["coordinator", "coordinator", "worker", "scorer"].into_iter().zip(addresses) {
        roles.push(deployment.start_at(role, address).await.unwrap());
    }
    let id = deployment.submit(&spec).await.unwrap();
    schedule(&deployment, &spec).await;

    let mut open = queries();
    assert!(open.len() > 50, "{}", open.len());
    open.retain(|place, _| !UNANSWERED.contains(&place.as_str()));
    // Some are there while the sweep runs only.
    let mut all = BTreeSet::new();
    let answered = until("an answer to every query", async || {
        for address in addresses {
            all.append(&mut shown(address).await);
        }
        let mut answered = Vec::new();
        for (place, query) in &open {
            if ask(prometheus, query).await > 0 {
                answered.push(place.clone());
            }
        }
        open.retain(|place, _| !answered.contains(place));
        let status = deployment.status(&id).await.unwrap();
        assert_eq!(status["state"], "running", "no answer while the sweep ran: {open:#?}");
        if open.is_empty() { Ok(()) } else { Err(format!("no answer to {open:#?}")) }
    });
    answered.await.unwrap();
    assert_eq!(ask(prometheus, "ALERTS{alertstate=\"firing\"}").await, 0);
    assert!(deployment.run(&["cancel", &id]).await.unwrap().status.success());
    assert_eq!(deployment.run(&["watch", &id]).await.unwrap().status.code(), Some(4));
    // And some once it has ended.
    for address in addresses {
        all.append(&mut shown(address).await);
    }

    let table = std::fs::read_to_string(workspace().join("docs/metrics.md")).unwrap();
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `regatta_")?.split('`').next());
    let documented: BTreeSet<String> = rows.map(|name| format!("regatta_{name}")).collect();
    let undocumented: Vec<_> =
        all.iter().filter(|name| name.starts_with("regatta_") && !documented.contains(*name)).collect();
    assert!(undocumented.is_empty(), "{undocumented:?}");
    let missing: Vec<_> = documented.difference(&all).collect();
    assert!(missing.is_empty(), "documented and not shown: {missing:?}");
}
