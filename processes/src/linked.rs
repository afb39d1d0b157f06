//! A program with everything that it is linked to, so that it runs in images that have nothing of it.

use std::path::{Path, PathBuf};

/// Name of the program in the folder that it is put into, and of the folder of its libraries.
const PROGRAM: &str = "regatta";
const LIBRARIES: &str = "lib";

/// Files of a program.
#[derive(Debug, Clone)]
pub struct LinkedProgram {
    program: PathBuf,
    /// Files and the names by which they are asked for: libraries, the loader among them. None where the program is linked to nothing.
    libraries: Vec<(PathBuf, String)>,
}

impl LinkedProgram {
    /// A program whose libraries are known, each with its name.
    #[must_use]
    pub const fn of(program: PathBuf, libraries: Vec<(PathBuf, String)>) -> Self {
        Self { program, libraries }
    }

    /// `program`, or this process's own, with the libraries that this process has loaded.
    ///
    /// # Errors
    /// In words, where the system does not tell what is loaded.
    pub fn find(program: Option<PathBuf>) -> Result<Self, String> {
        let maps = std::fs::read_to_string("/proc/self/maps")
            .map_err(|error| format!("agents in containers need Linux: failed to read /proc/self/maps: {error}"))?;
        let own = std::env::current_exe().map_err(|error| format!("failed to find this program: {error}"))?;
        let files = loaded(&maps, &own).into_iter().filter(|file| file.is_file());
        let libraries = files.flat_map(|file| names_of(&file).map(move |name| (file.clone(), name)));
        Ok(Self { program: program.unwrap_or_else(|| own.clone()), libraries: libraries.collect() })
    }

    /// Files, and their places in a folder.
    pub fn files(&self) -> impl Iterator<Item = (&Path, String)> {
        let program = (self.program.as_path(), PROGRAM.to_owned());
        let libraries = self.libraries.iter().map(|(file, name)| (file.as_path(), format!("{LIBRARIES}/{name}")));
        [program].into_iter().chain(libraries)
    }

    /// The words that start it in `folder`, whatever else is there: by its own loader.
    #[must_use]
    pub fn words(&self, folder: &str) -> Vec<String> {
        let program = format!("{folder}/{PROGRAM}");
        match self.libraries.iter().find(|(_, name)| name.starts_with("ld-")) {
            Some((_, loader)) => {
                let libraries = format!("{folder}/{LIBRARIES}");
                vec![format!("{libraries}/{loader}"), "--library-path".to_owned(), libraries, program]
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
        let program = LinkedProgram::of("/opt/regatta".into(), Vec::new());
        assert_eq!(program.words("/regatta"), ["/regatta/regatta"]);
        assert_eq!(program.files().count(), 1);
    }
}
