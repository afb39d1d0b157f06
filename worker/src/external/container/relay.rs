//! The program that is the relay in containers, as it is mounted into them.

use std::path::{Path, PathBuf};

use regatta_processes::LinkedProgram;

/// Folder of its files in a container.
const FOLDER: &str = "/regatta";

/// Files of the relay.
pub(super) struct Relay(LinkedProgram);

impl Relay {
    /// `program`, or this process's own, with the libraries that this process has loaded.
    pub(super) fn find(program: Option<PathBuf>) -> Result<Self, String> {
        let found = Self(LinkedProgram::find(program)?);
        let unmountable =
            found.mounts().map(|(from, _)| from).find(|from| from.to_str().is_none_or(|path| path.contains(',')));
        if let Some(from) = unmountable {
            return Err(format!("{} cannot be mounted into a container: its name has a comma", from.display()));
        }
        Ok(found)
    }

    /// Files, and where they are in a container.
    pub(super) fn mounts(&self) -> impl Iterator<Item = (&Path, String)> {
        self.0.files().map(|(file, name)| (file, format!("{FOLDER}/{name}")))
    }

    /// The words that start it in a container, whatever is in the image: by its own loader.
    pub(super) fn words(&self) -> Vec<String> {
        self.0.words(FOLDER)
    }
}

#[cfg(test)]
impl Relay {
    /// One that is linked to a library and a loader.
    pub(super) fn sample() -> Self {
        let library = |name: &str| (PathBuf::from(format!("/lib/{name}")), name.to_owned());
        let libraries = ["ld-linux-x86-64.so.2", "libc.so.6"].map(library).to_vec();
        Self(LinkedProgram::of("/usr/bin/regatta".into(), libraries))
    }
}
