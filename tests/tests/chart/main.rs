//! The Helm chart: every value set renders, what comes of it is valid and keeps the rules of a careful cluster, rules fire when they should,
//! and nothing names a command, a variable or a metric that does not exist.
//!
//! Runs where a renderer, a Python and Prometheus's tools can be had; says so where they cannot.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agents;
mod clusters;
mod objects;
mod placement;
mod pods;
mod program;
mod rendering;
mod rules;
mod values;

use std::process::Command;

use regatta_tests::regatta::workspace;

use crate::rendering::{python, succeeds};

#[test]
fn what_is_written_by_scripts_is_up_to_date() {
    let Some(python) = python("chart") else { return };
    for script in ["helm/tools/readme.py", "helm/tools/schema.py", "helm/tools/dashboards.py"] {
        succeeds(Command::new(&python).arg(workspace().join(script)).arg("--check"));
    }
}
