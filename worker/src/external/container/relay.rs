//! The program that is the relay in containers, with everything that it is linked to.

use std::path::{Path, PathBuf};

/// Folder of its files in a container.
const FOLDER: &str = "/regatta";

/// Files of the relay.
pub(super) struct Relay {
    program: PathBuf,
    /// Files and their names in a container: libraries, the loader among them. None where the program is linked to nothing.
    libraries: Vec<(PathBuf, String)>,
}

impl Relay {
    /// `program`, or this process's own, with the libraries that this process has loaded.
    pub(super) fn find(program: Option<PathBuf>) -> Result<Self, String> {
        let maps = std::fs::read_to_string("/proc/self/maps")
            .map_err(|error| format!("agents in containers need Linux: failed to read /proc/self/maps: {error}"))?;
        let own = std::env::current_exe().map_err(|error| format!("failed to find this program: {error}"))?;
        let files = loaded(&maps, &own).into_iter().filter(|file| file.is_file());
        let libraries = files.flat_map(|file| names_of(&file).map(move |name| (file.clone(), name)));
        let found = Self { program: program.unwrap_or_else(|| own.clone()), libraries: libraries.collect() };
        let unmountable =
            found.mounts().map(|(from, _)| from).find(|from| from.to_str().is_none_or(|path| path.contains(',')));
        if let Some(from) = unmountable {
            return Err(format!("{} cannot be mounted into a container: its name has a comma", from.display()));
        }
        Ok(found)
    }

    /// Files, and where they are in a container.
    pub(super) fn mounts(&self) -> impl Iterator<Item = (&Path, String)> {
        let program = (self.program.as_path(), format!("{FOLDER}/regatta"));
        let libraries = self.libraries.iter().map(|(file, name)| (file.as_path(), format!("{FOLDER}/lib/{name}")));
        [program].into_iter().chain(libraries)
    }

    /// The words that start it in a container, whatever is in the image: by its own loader.
    pub(super) fn words(&self) -> Vec<String> {
        let program = format!("{FOLDER}/regatta");
        match self.libraries.iter().find(|(_, name)| name.starts_with("ld-")) {
            Some((_, loader)) => {
                let folder = format!("{FOLDER}/lib");
                vec![format!("{folder}/{loader}"), "--library-path".to_owned(), folder, program]
            }
            None => vec![program],
        }
    }
}

/// Files with code that a process has loaded, without its program.
fn loaded(maps: &str, program: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = maps
        .lines()
        .filter(|line| line.split(' ').nth(1).is_some_and(|rights| rights.contains('x')))
        .filter_map(|line| line.find('/').map(|at| PathBuf::from(&line[at..])))
        .filter(|file| file != program)
        .collect();
    files.sort();
    files.dedup();
    files
}

/// The names by which a library is asked for: its own, and those of links beside it.
fn names_of(file: &Path) -> impl Iterator<Item = String> + use<> {
    let mut names: Vec<String> = file.file_name().map(|name| name.to_string_lossy().into_owned()).into_iter().collect();
    let beside = file.parent().and_then(|folder| std::fs::read_dir(folder).ok());
    for entry in beside.into_iter().flatten().flatten() {
        let leads_here = std::fs::read_link(entry.path()).is_ok_and(|to| to.file_name() == file.file_name());
        if leads_here {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    names.dedup();
    names.into_iter()
}

#[cfg(test)]
impl Relay {
    /// One that is linked to a library and a loader.
    pub(super) fn sample() -> Self {
        let library = |name: &str| (PathBuf::from(format!("/lib/{name}")), name.to_owned());
        let libraries = ["ld-linux-x86-64.so.2", "libc.so.6"].map(library).to_vec();
        Self { program: "/usr/bin/regatta".into(), libraries }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_process_has_loaded_is_read_from_its_map() {
        let maps = "\
5500-5600 r--p 00000000 fe:00 12 /opt/regatta
5600-5700 r-xp 00100000 fe:00 12 /opt/regatta
7f00-7f10 r-xp 00026000 fe:00 13                         /lib/libc.so.6
7f20-7f30 r--p 00000000 fe:00 14                         /usr/share/locale
7f40-7f50 r-xp 00001000 fe:00 15                         /lib/ld-linux-x86-64.so.2
7ffd-7ffe r-xp 00000000 00:00 0                          [vdso]
";
        let files = loaded(maps, Path::new("/opt/regatta"));
        assert_eq!(files, ["/lib/ld-linux-x86-64.so.2", "/lib/libc.so.6"].map(PathBuf::from));
    }

    #[test]
    fn a_program_that_is_linked_to_nothing_needs_no_loader() {
        let relay = Relay { program: "/opt/regatta".into(), libraries: Vec::new() };
        assert_eq!(relay.words(), ["/regatta/regatta"]);
        assert_eq!(relay.mounts().count(), 1);
    }
}
