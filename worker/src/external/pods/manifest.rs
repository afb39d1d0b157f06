//! The objects of one session: its pod, and the secret with what the pod is told.

use std::collections::BTreeMap;

use regatta_processes::{LinkedProgram, become_arguments, install_arguments};
use regatta_proto::SessionKey;
use serde_json::{Value, json};

use super::labels::{Owner, annotations, labels};
use crate::external::container::HOME;
use crate::policy::{Image, PodRules, Program};

/// Name of the agent's container.
pub(super) const AGENT: &str = "agent";
/// Name of the container that installs the program which becomes the agent.
pub(super) const INSTALLER: &str = "regatta";
/// Folder of that program.
const PROGRAM: &str = "/regatta/program";
/// Folder of the secret.
const SESSION: &str = "/regatta/session";
/// Standard input of the agent, in the secret and in that folder.
const TASK: &str = "task.json";
/// Authorities of the bridge, likewise.
const AUTHORITIES: &str = "authorities.pem";
pub(super) const AUTHORITIES_FILE: &str = "/regatta/session/authorities.pem";
/// The end of this file (4 KiB) is in the state of an ended container.
const ERRORS: &str = "/dev/termination-log";
/// Most bytes of a secret that the API takes are 1 MiB, names included.
const SECRET_BYTES_MAX: usize = 1_000_000;
/// Disk of a node: the installed program, and what the container's log holds before it is rotated.
const DISK: (&str, &str) = ("256Mi", "1Gi");

/// A pod, as one session needs it.
pub(super) struct Pod<'p> {
    pub(super) name: &'p str,
    pub(super) program: &'p Program,
    pub(super) image: &'p Image,
    pub(super) rules: &'p PodRules,
    pub(super) owner: &'p Owner,
    pub(super) session: &'p SessionKey,
    /// Names of all variables; their values are in the secret.
    pub(super) variables: Vec<&'p str>,
    /// The program that is installed, by which the worker knows how it is started there.
    pub(super) own: &'p LinkedProgram,
    /// Seconds after which Kubernetes ends it, should nobody else do so.
    pub(super) seconds_max: u64,
}

/// The Secret's content: told to the agent and nobody else.
pub(super) struct Told<'t> {
    /// Standard input.
    pub(super) task: &'t str,
    pub(super) variables: &'t BTreeMap<String, String>,
    /// Authorities of the bridge (PEM).
    pub(super) authorities: Option<&'t str>,
}

impl Pod<'_> {
    pub(super) fn manifest(&self) -> Value {
        let Self { program, image, rules, session, .. } = self;
        let mut spec = json!({
            "restartPolicy": "Never",
            "activeDeadlineSeconds": self.seconds_max,
            "terminationGracePeriodSeconds": 1,
            "automountServiceAccountToken": false,
            "enableServiceLinks": false,
            // So that signals arrive and no ended process is left: the agent is not the first process.
            "shareProcessNamespace": true,
            "securityContext": {
                "runAsNonRoot": true,
                "runAsUser": image.user.0,
                "runAsGroup": image.user.1,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "initContainers": [self.installer()],
            "containers": [self.agent()],
            "volumes": [
                {"name": "program", "emptyDir": {"sizeLimit": DISK.1}},
                {"name": "session", "secret": {"secretName": self.name}},
                // In memory, as in other containers: what is full there is an error to the agent, and the node's disk is left alone.
                {"name": "home", "emptyDir": {"medium": "Memory", "sizeLimit": format!("{}Mi", program.limits.file_mb)}},
            ],
        });
        let mut set = |name: &str, value: Value| spec[name] = value;
        if !rules.pull_secrets.is_empty() {
            set("imagePullSecrets", rules.pull_secrets.iter().map(|name| json!({"name": name})).collect());
        }
        if !rules.node_selector.is_empty() {
            set("nodeSelector", json!(rules.node_selector));
        }
        if !rules.tolerations.is_empty() {
            set("tolerations", json!(rules.tolerations));
        }
        if let Some(class) = &rules.runtime_class {
            set("runtimeClassName", json!(class));
        }
        if let Some(class) = &rules.priority_class {
            set("priorityClassName", json!(class));
        }
        let metadata = json!({
            "name": self.name,
            "labels": labels(rules, self.owner, image, session),
            "annotations": annotations(session),
        });
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
    }

    fn installer(&self) -> Value {
        json!({
            "name": INSTALLER,
            "image": self.rules.program_image,
            "args": install_arguments(PROGRAM),
            "securityContext": restricted(),
            "resources": {
                "requests": {"cpu": "50m", "memory": "64Mi"},
                "limits": {"memory": "256Mi", "ephemeral-storage": DISK.1},
            },
            "volumeMounts": [{"name": "program", "mountPath": PROGRAM}],
        })
    }

    fn agent(&self) -> Value {
        let Self { program, image, rules, .. } = self;
        let command = self.own.words(PROGRAM).into_iter();
        let task = format!("{SESSION}/{TASK}");
        let command = command.chain(become_arguments(&task, ERRORS, program.limits.files, &program.command));
        let variable =
            |name: &&str| json!({"name": name, "valueFrom": {"secretKeyRef": {"name": self.name, "key": name}}});
        let memory_mb = program.limits.memory_mb;
        let mut limits = json!({"memory": format!("{memory_mb}Mi"), "ephemeral-storage": DISK.1});
        let mut cpu_millis = rules.requests.cpu_millis;
        if let Some(cpus) = program.limits.cpus {
            limits["cpu"] = json!(cpus.to_string());
            cpu_millis = cpu_millis.min(cpus.thousandths());
        }
        let requests = json!({
            "cpu": format!("{cpu_millis}m"),
            "memory": format!("{}Mi", rules.requests.memory_mb.min(memory_mb)),
            "ephemeral-storage": DISK.0,
        });
        let mut container = json!({
            "name": AGENT,
            "image": image.name,
            "command": command.map(|word| literal(&word)).collect::<Vec<_>>(),
            "env": self.variables.iter().map(variable).collect::<Vec<_>>(),
            "securityContext": restricted(),
            "resources": {"requests": requests, "limits": limits},
            "terminationMessagePath": ERRORS,
            "terminationMessagePolicy": "File",
            "volumeMounts": [
                {"name": "program", "mountPath": PROGRAM, "readOnly": true},
                {"name": "session", "mountPath": SESSION, "readOnly": true},
                {"name": "home", "mountPath": HOME},
            ],
        });
        if let Some(directory) = &program.directory {
            container["workingDir"] = json!(directory);
        }
        container
    }
}

/// The secret of the pod `name`, which goes when the pod with this `uid` does.
pub(super) fn secret(name: &str, uid: &str, told: &Told<'_>) -> Result<Value, String> {
    let mut data = told.variables.clone();
    data.insert(TASK.to_owned(), told.task.to_owned());
    data.extend(told.authorities.map(|known| (AUTHORITIES.to_owned(), known.to_owned())));
    let bytes: usize = data.iter().map(|(name, text)| name.len() + text.len()).sum();
    if bytes > SECRET_BYTES_MAX {
        return Err(format!(
            "the task has {} bytes and all that the agent is told {bytes}, but a secret of Kubernetes holds {SECRET_BYTES_MAX}; run this \
             benchmark's agents as services (`url`) or as commands",
            told.task.len()
        ));
    }
    let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": name, "uid": uid});
    Ok(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "ownerReferences": [owner]},
        "type": "Opaque",
        "immutable": true,
        "stringData": data,
    }))
}

fn restricted() -> Value {
    json!({
        "allowPrivilegeEscalation": false,
        "readOnlyRootFilesystem": true,
        "capabilities": {"drop": ["ALL"]},
    })
}

/// A word of a command that Kubernetes hands on as it is: `$(NAME)` would be a variable, and `$$` is one `$`.
fn literal(word: &str) -> String {
    word.replace('$', "$$")
}

#[cfg(test)]
mod tests;
