//! Benchmarks end to end on their miniatures: the same bytes from one process and from a deployment, and the tables of their papers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::{Path, PathBuf};

use regatta_tests::regatta::{Process, finish, regatta, workspace};
use regatta_tests::{Deployment, unique_name};
use serde_json::Value;

/// A benchmark, and what its spec says beside its data.
struct Benchmark {
    name: &'static str,
    settings: &'static str,
    evaluators: &'static str,
    judge: &'static str,
    tables: &'static [&'static str],
    /// A case in which an oracle's sessions go on from its own earlier replies: setting, evaluator, what it reaches, and what there is to
    /// reach.
    oracle: (&'static str, &'static str, &'static str, &'static str),
}

const APPBENCH: Benchmark = Benchmark {
    name: "appbench",
    settings: "[hierarchical, flat, hierarchical/3-shot, flat/3-shot, tools]",
    evaluators: "[official, paper, exec]",
    judge: "",
    tables: &["Table 3", "Table 4", "Table 5", "Table 11", "Figure 5"],
    oracle: ("tools", "exec", "call_hit", "call_gold"),
};

const AUTOSLURP: Benchmark = Benchmark {
    name: "autoslurp",
    settings: "[camelai, langgraph, autogen, agentlite, autogen/cast=better-intent]",
    evaluators: "[official, paper, structured]",
    judge: "judge: sim/oracle, casts: { better-intent: { intent: sim/oracle } }, ",
    tables: &["Table 2", "Table 3", "Table 4", "Table 5", "Table 6", "Table 7"],
    oracle: ("autogen", "structured", "success", "lenient"),
};

const ORCHESTRATIONBENCH: Benchmark = Benchmark {
    name: "orchestrationbench",
    settings: "[stepwise, end-to-end]",
    evaluators: "[official, paper]",
    judge: "judge: sim/oracle, ",
    tables: &["every call with the gold history", "end to end"],
    oracle: ("end-to-end", "official", "reached", "steps"),
};

fn data(benchmark: &Benchmark) -> String {
    workspace().join("examples/data").join(benchmark.name).display().to_string()
}

async fn simulate(benchmark: &Benchmark) -> Process {
    let mut simulate = regatta().unwrap();
    let data = format!("{}={}", benchmark.name, data(benchmark));
    simulate.args(["simulate", "llm", "--listen", "127.0.0.1:0", "--data", &data]);
    Process::start_and_read(simulate).await.unwrap()
}

fn spec(folder: &Path, benchmark: &Benchmark, server: &Process) -> PathBuf {
    let Benchmark { name, settings, evaluators, judge, .. } = benchmark;
    let text = format!(
        "name: {}\nseed: 3\ntrials: 2\nbenchmarks:\n  {name}: {{ data: {}, {judge}settings: {settings}, evaluators: \
         {evaluators} }}\nendpoints:\n  sim: {{ kind: openai, base_url: '{}', api_key_env: none, identify_sessions: \
         true, limits: {{ concurrency: 16 }} }}\nmodels: [sim/oracle, sim/noisy-0.3]\n",
        unique_name(name),
        data(benchmark),
        server.first_line
    );
    let path = folder.join(format!("{name}.yaml"));
    std::fs::write(&path, text).unwrap();
    path
}

async fn embedded(folder: &Path, spec: &Path) -> PathBuf {
    let directory = folder.join("embedded");
    let mut command = regatta().unwrap();
    command.arg("run").arg(spec).arg("--output").arg(&directory);
    let output = finish(command).await.unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    directory
}

async fn is_the_same_everywhere(benchmark: &Benchmark) {
    let deployment = Deployment::new().await.unwrap();
    let server = simulate(benchmark).await;
    let spec = spec(deployment.folder.path(), benchmark, &server);
    let _roles = [
        deployment.start("coordinator").await.unwrap(),
        deployment.start("scorer").await.unwrap(),
        deployment.start("worker").await.unwrap(),
        deployment.start("worker").await.unwrap(),
    ];
    let id = deployment.submit(&spec).await.unwrap();
    let (code, directory) = deployment.finish(&id).await.unwrap();
    assert_eq!(code, Some(0));
    let alone = embedded(deployment.folder.path(), &spec).await;
    let read = |directory: &Path, name: &str| std::fs::read_to_string(directory.join(name)).unwrap();
    let results = read(&directory, "results.jsonl");
    assert_eq!(results, read(&alone, "results.jsonl"));
    let (mut reached, mut there) = (0.0, 0.0);
    for line in results.lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        assert_eq!(line["outcome"], "measured", "{line}");
        let (setting, evaluator, part, all) = benchmark.oracle;
        if line["setting"] == setting && line["model"] == "sim/oracle" {
            let value = |name: &str| line["scores"][evaluator][name].as_f64().unwrap();
            reached += value(part);
            there += value(all);
        }
    }
    // A scenario of the miniature does not follow its own plan, as some published ones do not.
    assert!(there > 0.0 && reached >= 0.9 * there, "{reached} of {there}");
    let report = read(&directory, "report.md");
    for table in benchmark.tables {
        assert!(report.contains(table), "{table} is missing in {report}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn appbench_gives_the_same_bytes_in_a_deployment_and_fills_its_tables() {
    is_the_same_everywhere(&APPBENCH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn autoslurp_gives_the_same_bytes_in_a_deployment_and_fills_its_tables() {
    is_the_same_everywhere(&AUTOSLURP).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn orchestrationbench_gives_the_same_bytes_in_a_deployment_and_fills_its_tables() {
    is_the_same_everywhere(&ORCHESTRATIONBENCH).await;
}
