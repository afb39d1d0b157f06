//! The test executables that cargo built.

use std::fmt;
use std::path::{Path, PathBuf};

use regatta_tests::HarnessError;
use serde_json::Value;

/// One test executable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Executable {
    /// The package it belongs to.
    pub(crate) package: String,
    /// Name of the target: of the library or binary for unit tests, of the file or folder below `tests` for others.
    pub(crate) target: String,
    /// `true` for the unit tests of a library or binary.
    pub(crate) is_unit: bool,
    /// The file to run.
    pub(crate) path: PathBuf,
    /// The package's folder, in which cargo would run it.
    pub(crate) folder: PathBuf,
}

impl fmt::Display for Executable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_unit { write!(f, "{}", self.package) } else { write!(f, "{}::{}", self.package, self.target) }
    }
}

/// The executables among cargo's messages, a line of JSON each.
///
/// # Errors
/// When there are none, the build did not end well, or a message cannot be understood: a test that is not run must not pass.
pub(crate) fn all(messages: &str) -> Result<Vec<Executable>, HarnessError> {
    let mut executables = Vec::new();
    let mut is_built = false;
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).map_err(|error| refused(line, error.to_string()))?;
        is_built |= message["reason"] == "build-finished" && message["success"] == true;
        if message["reason"] == "compiler-artifact" && message["profile"]["test"] == true {
            let unknown = || refused(line, "it does not say what was built where".to_owned());
            executables.push(executable(&message).ok_or_else(unknown)?);
        }
    }
    if !is_built || executables.is_empty() {
        let problem = "they name no executable, or do not say that the build has finished";
        return Err(refused("all", problem.to_owned()));
    }
    Ok(executables)
}

fn refused(message: &str, problem: String) -> HarnessError {
    HarnessError::Refused { action: format!("read cargo's messages ({message})"), source: problem.into() }
}

fn executable(message: &Value) -> Option<Executable> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_path_buf();
    // `path+file:///folder#name@version`, or `…/name#version` where folder and package have the same name.
    let (place, id) = message["package_id"].as_str()?.rsplit_once('#')?;
    let package = id.split_once('@').map_or_else(|| place.rsplit('/').next(), |(name, _)| Some(name))?.to_owned();
    Some(Executable {
        package,
        target: text(&message["target"]["name"])?,
        is_unit: message["target"]["kind"] != serde_json::json!(["test"]),
        path: text(&message["executable"])?.into(),
        folder,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BUILT: &str = r#"{"reason":"build-finished","success":true}"#;

    #[test]
    fn executables_are_the_artifacts_that_are_tests() {
        let messages = [
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/proto#regatta-proto@0.1.0","manifest_path":"/w/proto/Cargo.toml","target":{"kind":["lib"],"name":"regatta_proto"},"profile":{"test":true},"executable":"/t/regatta_proto-1"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/proto#regatta-proto@0.1.0","manifest_path":"/w/proto/Cargo.toml","target":{"kind":["test"],"name":"wire"},"profile":{"test":true},"executable":"/t/wire-1"}"#,
            r#"{"reason":"compiler-artifact","package_id":"path+file:///w/cli#regatta-cli@0.1.0","manifest_path":"/w/cli/Cargo.toml","target":{"kind":["bin"],"name":"regatta"},"profile":{"test":false},"executable":"/t/regatta"}"#,
            BUILT,
        ];
        let names: Vec<String> = all(&messages.join("\n")).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["regatta-proto", "regatta-proto::wire"]);
    }

    #[test]
    fn a_build_that_broke_off_has_no_tests() {
        assert!(all("").is_err());
        assert!(all(BUILT).is_err());
        assert!(all(r#"{"reason":"build-finished","success":false}"#).is_err());
        let unknown = r#"{"reason":"compiler-artifact","profile":{"test":true},"target":{"kind":["lib"],"name":"a"}}"#;
        assert!(all(&format!("{unknown}\n{BUILT}")).is_err());
        assert!(all(&format!("no JSON\n{BUILT}")).is_err());
    }
}
