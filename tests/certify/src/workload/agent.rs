//! The external agent of the workload: a program in Python that asks three times.

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::{CONCURRENCY, RunBy};

/// The program, which its command line carries: whoever it runs as may be unable to read our files.
const PROGRAM: &str = include_str!("agent.py");
/// Programs to look for, the first that runs is taken: one in somebody's home is nothing to a user without rights.
const PYTHONS: [&str; 2] = ["python3", "/usr/bin/python3"];
/// The user and the group nobody: agents do not run as root.
const NOBODY: u32 = 65_534;

/// The agent, and the Python by which it is started here.
#[derive(Debug)]
pub(crate) struct Agent {
    python: &'static str,
    is_root: bool,
}

impl Agent {
    /// The setting of Auto-SLURP that hands sessions to it.
    pub(crate) const SETTING: &str = "external/asking";

    /// `None` where there is no Python for whoever it would run as.
    pub(crate) fn find() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let runs = |python: &&str| {
            let mut command = Command::new(python);
            command.args(["-c", "import json, urllib.request"]).current_dir("/");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            if is_root {
                command.uid(NOBODY).gid(NOBODY);
            }
            command.status().is_ok_and(|status| status.success())
        };
        PYTHONS.into_iter().find(runs).map(|python| Self { python, is_root })
    }

    /// Section `agents` of a spec.
    pub(super) fn declaration(&self, by: RunBy) -> String {
        let program = match by {
            RunBy::Deployment => "registered: asking".to_owned(),
            RunBy::OneProcess => self.command(),
        };
        // As many as may call: one worker may get all sessions whose messages the broker hands out again.
        format!("agents:\n  asking: {{ {program}, startup_s: 60, deadline_s: 60, concurrency: {CONCURRENCY} }}\n")
    }

    /// Section `agents` of the policy of workers.
    pub(crate) fn registration(&self) -> String {
        let user = if self.is_root { format!(", user: '{NOBODY}'") } else { String::new() };
        format!("agents:\n  asking: {{ {}{user} }}\n", self.command())
    }

    fn command(&self) -> String {
        // A list in JSON is one in YAML.
        format!("command: {}, directory: /", serde_json::json!([self.python, "-c", PROGRAM]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn specs_of_deployments_choose_by_name_what_the_policy_starts_as_nobody() {
        let agent = Agent { python: "python3", is_root: true };
        assert!(agent.declaration(RunBy::Deployment).contains("{ registered: asking, startup_s"));
        assert!(agent.registration().ends_with("directory: /, user: '65534' }\n"));
        assert!(!agent.declaration(RunBy::OneProcess).contains("user: '"), "who runs it alone is who it runs as");
        assert!(agent.declaration(RunBy::OneProcess).contains(r#"command: ["python3","-c","#));
    }
}
