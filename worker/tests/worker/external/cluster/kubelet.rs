//! Runs the containers of a pod as processes of this machine, with the pod's places elsewhere.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::Shared;

/// Part of an ended container's message that is kept.
const MESSAGE_MAX: usize = 4096;

pub(super) async fn run(shared: Arc<Shared>, name: String, secret: Value, last: Option<Value>) {
    let folder = tempfile::tempdir().unwrap();
    let place = |text: &str| elsewhere(text, folder.path());
    let (pod, killed) = {
        let state = shared.state.lock().unwrap();
        let running = &state.pods[&name];
        (running.pod.clone(), running.killed.clone())
    };
    std::fs::create_dir(folder.path().join("session")).unwrap();
    let data = secret["stringData"].as_object().unwrap();
    for (key, value) in data {
        std::fs::write(folder.path().join("session").join(key), value.as_str().unwrap()).unwrap();
    }
    let installer = &pod["spec"]["initContainers"][0];
    let arguments = texts(&installer["args"]).into_iter().map(|word| place(&word));
    assert!(Command::new(&shared.relay).args(arguments).status().await.unwrap().success());
    let agent = &pod["spec"]["containers"][0];
    let words: Vec<String> = texts(&agent["command"]).iter().map(|word| place(&word.replace("$$", "$"))).collect();
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).env_clear().env("PATH", "/usr/bin:/bin");
    for variable in agent["env"].as_array().unwrap() {
        let value = &data[variable["valueFrom"]["secretKeyRef"]["key"].as_str().unwrap()];
        command.env(variable["name"].as_str().unwrap(), place(value.as_str().unwrap()));
    }
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
    tell(&shared, &name, json!({"phase": "Running"}), json!({"running": {}}));
    let mut stdout = child.stdout.take().unwrap();
    let mut chunk = vec![0; 4096];
    let listen = async {
        while let Ok(read @ 1..) = stdout.read(&mut chunk).await {
            let state = shared.state.lock().unwrap();
            let Some(running) = state.pods.get(&name) else { return };
            running.writer.send_modify(|(written, _)| written.extend_from_slice(&chunk[..read]));
        }
    };
    tokio::select! {
        () = listen => {}
        () = killed.cancelled() => return,
    }
    let status = child.wait().await.unwrap();
    let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap());
    let errors = std::fs::read(folder.path().join("errors")).unwrap_or_default();
    let message = String::from_utf8_lossy(&errors[errors.len().saturating_sub(MESSAGE_MAX)..]).into_owned();
    let reason = if code == 0 { "Completed" } else { "Error" };
    let terminated = json!({"terminated": {"exitCode": code, "reason": reason, "message": message}});
    let phase = if code == 0 { "Succeeded" } else { "Failed" };
    tell(&shared, &name, last.unwrap_or_else(|| json!({"phase": phase})), terminated);
    let state = shared.state.lock().unwrap();
    if let Some(running) = state.pods.get(&name) {
        running.writer.send_modify(|(_, has_ended)| *has_ended = true);
    }
}

/// Sets the status of a pod, with the state of its agent where `status` names none.
fn tell(shared: &Shared, name: &str, mut status: Value, agent: Value) {
    let mut state = shared.state.lock().unwrap();
    let Some(running) = state.pods.get_mut(name) else { return };
    if status["containerStatuses"].is_null() {
        status["containerStatuses"] = json!([{"name": "agent", "state": agent}]);
    }
    running.pod["status"] = status;
}

/// `text` with the places of a pod in `folder`.
fn elsewhere(text: &str, folder: &Path) -> String {
    let folder = folder.display().to_string();
    text.replace("/regatta/program", &format!("{folder}/program"))
        .replace("/regatta/session", &format!("{folder}/session"))
        .replace("/dev/termination-log", &format!("{folder}/errors"))
}

fn texts(list: &Value) -> Vec<String> {
    list.as_array().unwrap().iter().map(|word| word.as_str().unwrap().to_owned()).collect()
}
