//! Permissions to start programs: every program on a person's own machine, those of the policy file in a deployment.

use std::collections::BTreeMap;

use regatta_processes::{Account, Limits};
use regatta_proto::{Digest, FileSet};
use serde::Deserialize;

/// The section `coded` of a policy file.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CodedRules {
    /// Benchmarks whose programs may run, by a name that is for people alone.
    benchmarks: BTreeMap<String, AllowedBenchmark>,
    /// Interpreters whose programs may run, by the first word of a benchmark's `program`.
    interpreters: BTreeMap<String, AllowedInterpreter>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowedBenchmark {
    /// Digest of the data set: definition, program and data.
    digest: Digest,
    /// User that the program runs as; the role's default without it.
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    limits: Limits,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct AllowedInterpreter {
    /// Command that replaces the first word of `program`; that word itself when empty.
    #[serde(default)]
    command: Vec<String>,
    #[serde(default)]
    user: Option<String>,
    #[serde(default)]
    limits: Limits,
}

/// Programs that this process may start, with user and limits.
#[derive(Debug, Clone)]
pub struct Permissions {
    /// `None` permits every program.
    rules: Option<CodedRules>,
    /// User of programs whose rule does not name one.
    user: Option<String>,
    is_root: bool,
}

/// A permitted program with everything that starting it needs.
#[derive(Debug, Clone)]
pub struct Start {
    pub(crate) command: Vec<String>,
    pub(crate) account: Option<Account>,
    pub(crate) limits: Limits,
    pub(crate) path: String,
    /// The program is put into its own process namespace, where the system allows that.
    pub(crate) is_isolated: bool,
}

impl Permissions {
    /// For a person's own machine: permits every program.
    #[must_use]
    pub const fn trusting() -> Self {
        Self { rules: None, user: None, is_root: false }
    }

    /// For commands that only read recorded runs: permits no program.
    #[must_use]
    pub const fn none() -> Self {
        let rules = CodedRules { benchmarks: BTreeMap::new(), interpreters: BTreeMap::new() };
        Self { rules: Some(rules), user: None, is_root: false }
    }

    /// For a deployed role: permits the programs that `rules` name, run as `user` unless a rule names another.
    #[must_use]
    pub fn deployed(rules: CodedRules, user: Option<String>) -> Self {
        let is_root = rustix::process::geteuid().is_root();
        Self { rules: Some(rules), user, is_root }
    }

    /// Decides if the program `command` of the data set `files` may start, and how.
    ///
    /// # Errors
    /// If it may not; the text says how to permit it.
    pub fn start(&self, command: &[String], files: &FileSet) -> Result<Start, String> {
        let Some(first) = command.first().filter(|word| !word.is_empty()) else {
            return Err("is empty; begin it with a program, as [python3, benchmark.py]".to_owned());
        };
        // Programs are looked up in the `PATH` of this process.
        let path = std::env::var("PATH").unwrap_or_default();
        let Some(rules) = &self.rules else {
            let (command, limits) = (command.to_vec(), Limits::default());
            return Ok(Start { command, account: None, limits, path, is_isolated: false });
        };
        let digest = files.snapshot().digest();
        let by_digest = rules.benchmarks.iter().find(|(_, allowed)| allowed.digest == digest);
        let (name, user, limits, command) = match (by_digest, rules.interpreters.get(first)) {
            (Some((name, allowed)), _) => (name.as_str(), &allowed.user, allowed.limits, command.to_vec()),
            (None, Some(allowed)) => {
                let own = std::slice::from_ref(first);
                let words = if allowed.command.is_empty() { own } else { &allowed.command };
                (first.as_str(), &allowed.user, allowed.limits, [words, &command[1..]].concat())
            }
            (None, None) => {
                return Err(format!(
                    "is not run here: have the operator of this role allow it under `coded` of its policy file (--policy), as benchmarks: \
                     {{ NAME: {{ digest: {digest} }} }}, or its interpreter as interpreters: {{ {first}: {{}} }}"
                ));
            }
        };
        let account = user.as_ref().or(self.user.as_ref()).map(|user| Account::of(user)).transpose()?;
        if self.is_root && account.is_none_or(Account::is_root) {
            return Err(format!(
                "is not run as root: name a `user` for {name} under `coded` of the policy file, or start this role as another user"
            ));
        }
        Ok(Start { command, account, limits, path, is_isolated: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> FileSet {
        let mut files = FileSet::from_origin("test");
        files.insert("benchmark.yaml", "v: 1".to_owned());
        files
    }

    fn words(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    fn deployed(rules: &str, is_root: bool) -> Permissions {
        let rules = serde_yaml_ng::from_str(rules).unwrap();
        Permissions { is_root, ..Permissions::deployed(rules, None) }
    }

    #[test]
    fn a_persons_own_machine_runs_every_program_and_a_deployment_none_that_nobody_allowed() {
        let command = words(&["python3", "benchmark.py"]);
        assert_eq!(Permissions::trusting().start(&command, &files()).unwrap().command, command);
        let refused = deployed("{}", false).start(&command, &files()).unwrap_err();
        assert!(refused.contains("coded") && refused.contains("interpreters: { python3: {} }"), "{refused}");
        let digest = files().snapshot().digest();
        assert!(refused.contains(&digest.to_string()), "{refused}");
        assert!(Permissions::trusting().start(&[], &files()).is_err());
    }

    #[test]
    fn a_benchmark_is_allowed_by_its_digest_or_by_its_interpreter() {
        let command = words(&["python3", "benchmark.py"]);
        let by_digest = format!("benchmarks: {{ mine: {{ digest: {} }} }}", files().snapshot().digest());
        assert_eq!(deployed(&by_digest, false).start(&command, &files()).unwrap().command, command);
        let mut changed = files();
        changed.insert("benchmark.py", "other".to_owned());
        assert!(deployed(&by_digest, false).start(&command, &changed).is_err());
        let by_interpreter =
            "interpreters: { python3: { command: [/usr/bin/python3, -s], limits: { memory_mb: 99 } } }";
        let start = deployed(by_interpreter, false).start(&command, &changed).unwrap();
        assert_eq!(start.command, words(&["/usr/bin/python3", "-s", "benchmark.py"]));
        assert_eq!(start.limits.memory_mb, 99);
        assert!(deployed(by_interpreter, false).start(&words(&["node", "benchmark.js"]), &changed).is_err());
    }

    #[test]
    fn programs_of_a_deployment_do_not_run_as_root() {
        let command = words(&["python3", "benchmark.py"]);
        let refused = deployed("interpreters: { python3: {} }", true).start(&command, &files()).unwrap_err();
        assert!(refused.contains("root"), "{refused}");
        let start = deployed("interpreters: { python3: { user: '1234' } }", true).start(&command, &files()).unwrap();
        assert_eq!(start.account.map(|account| account.uid), Some(1234));
    }
}
