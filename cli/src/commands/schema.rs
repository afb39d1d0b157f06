//! `regatta schema`: the JSON Schema of a spec, for editors.

use std::process::ExitCode;

use crate::output;

/// The published schema; a test of `proto` holds it to the type that specs are read into.
const SCHEMA: &str = include_str!("../../../proto/schemas/sweep-spec.schema.json");

pub(crate) fn run() -> ExitCode {
    output::line(SCHEMA.trim_end());
    ExitCode::SUCCESS
}
