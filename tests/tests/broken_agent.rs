//! An agent that cannot run: told as what it is, after a few starts, by a whole run.

use regatta_tests::regatta::{finish, regatta, workspace};

/// Exit code of a sweep in which something was not measured.
const INCOMPLETE: Option<i32> = Some(4);
/// Failures in a row, all alike, after which no further agent of a cell is started.
const STARTS: usize = 5;

#[tokio::test]
async fn an_agent_that_cannot_run_is_started_a_few_times_and_its_last_words_are_in_the_report() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, run, started) = (folder.path().join("s.yaml"), folder.path().join("run"), folder.path().join("started"));
    let script =
        format!("echo once >> {}; echo 'ModuleNotFoundError: No module named crew' >&2; exit 1", started.display());
    let text = format!(
        "name: broken-agent\nagents:\n  mine: {{ command: [sh, -c, \"{script}\"], concurrency: 1 }}\nbenchmarks:\n  \
         autoslurp: {{ data: {}, settings: [external/mine], judge: sim/oracle }}\nendpoints:\n  sim: {{ kind: simulated }}\n\
         models: [sim/oracle]\n",
        workspace().join("examples/data/autoslurp").display()
    );
    std::fs::write(&spec, text).unwrap();
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&run);
    let output = finish(command).await.unwrap();
    let [shown, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), INCOMPLETE, "{said}");

    let failed = shown.lines().find(|line| line.contains(" × agent_lost, ")).unwrap_or_default();
    assert!(failed.starts_with("failed: sim/oracle: ") && failed.contains("No module named crew"), "{shown}");
    assert!(said.contains("correct the agent") && said.contains("regatta resume"), "{said}");
    let report = std::fs::read_to_string(run.join("report.html")).unwrap();
    assert!(report.contains("No module named crew"), "the report has the end of standard error");

    let results = std::fs::read_to_string(run.join("results.jsonl")).unwrap();
    let sessions = results.lines().count();
    assert!(sessions > STARTS, "{sessions}");
    assert_eq!(results.matches("\"cause\":\"agent_lost\"").count(), sessions, "none is scored as wrong");
    let starts = std::fs::read_to_string(&started).unwrap().lines().count();
    assert!((1..=STARTS).contains(&starts), "{starts} starts for {sessions} sessions");
}

#[tokio::test]
async fn what_an_agent_says_commands_no_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let (spec, run) = (folder.path().join("s.yaml"), folder.path().join("run"));
    let script = r#"printf "\033]0;owned\007no module\n" >&2; exit 1"#;
    let text = format!(
        "name: commanding-agent\nagents:\n  mine: {{ command: [sh, -c, '{script}'], concurrency: 1 }}\nbenchmarks:\n  \
         autoslurp: {{ data: {}, settings: [external/mine], limit: 'first:1', judge: sim/oracle }}\nendpoints:\n  \
         sim: {{ kind: simulated }}\nmodels: [sim/oracle]\n",
        workspace().join("examples/data/autoslurp").display()
    );
    std::fs::write(&spec, text).unwrap();
    let mut command = regatta().unwrap();
    command.arg("run").arg(&spec).arg("--output").arg(&run);
    let output = finish(command).await.unwrap();
    let [shown, said] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    assert_eq!(output.status.code(), INCOMPLETE, "{said}");
    assert!(said.contains("\\u001b]0;owned\\u0007no module"), "the log has its words: {said}");
    for text in [shown, said] {
        assert!(!text.contains(|c: char| c.is_control() && c != '\n' && c != '\t'), "{text:?}");
    }
}
