//! `regatta data verify`: a copy of a data set, compared with the official files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use regatta_proto::{BenchmarkName, Digest, FileSet, counted};

use super::sources::Sources;
use crate::args::{DataAt, DataVerifyArgs};
use crate::benchmarks::BENCHMARKS;
use crate::data::{built_in, read_files};
use crate::exit::BadConfiguration;
use crate::output;

/// A copy beside the official files, each by its path.
#[derive(Debug, Default)]
struct Comparison {
    /// Files that are as they were published, wherever they are.
    same: usize,
    missing: Vec<String>,
    /// Differences, each as the end of a sentence about the file.
    different: BTreeMap<String, String>,
    /// Files of the copy that are read, and of which no digest is known.
    unknown: Vec<String>,
}

pub(super) fn run(args: DataVerifyArgs) -> anyhow::Result<ExitCode> {
    let mut is_official = true;
    for (name, folder) in copies(args)? {
        let (benchmark, sources) = (built_in(&name)?, Sources::of(&name)?);
        if !folder.is_dir() {
            let problem = format!(
                "there is no directory {} with the data of {name}; get it with `regatta data fetch {name}`, or name its folder with \
                 --data {name}=DIR",
                folder.display()
            );
            return Err(BadConfiguration(problem).into());
        }
        let found = read_files(&folder, &|path| benchmark.wants(path))?;
        let comparison = compare(&sources, &found);
        output::line(&rendered(&name, &folder, &comparison));
        is_official &= comparison.is_official();
    }
    Ok(if is_official { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Folders to look into, with their benchmarks.
fn copies(args: DataVerifyArgs) -> anyhow::Result<Vec<(BenchmarkName, PathBuf)>> {
    let (mut all, mut copies) = (PathBuf::from("data"), Vec::new());
    for at in args.data {
        match at {
            DataAt::All(directory) => all = directory,
            DataAt::Of(name, directory) => copies.push((name, directory)),
        }
    }
    for name in args.benchmarks {
        if !copies.iter().any(|(of, _)| *of == name) {
            copies.push((name.clone(), all.join(name.as_str())));
        }
    }
    if copies.is_empty() {
        let known = BENCHMARKS.all().iter().map(|benchmark| benchmark.name());
        copies.extend(known.map(|name| (name.clone(), all.join(name.as_str()))).filter(|(_, folder)| folder.is_dir()));
    }
    if copies.is_empty() {
        let all = all.display();
        return Err(BadConfiguration(format!(
            "there is no folder of a benchmark in {all} ({}); get one with `regatta data fetch NAME --to {all}`, or name it with \
             --data NAME=DIR",
            BENCHMARKS.names()
        ))
        .into());
    }
    Ok(copies)
}

fn compare(sources: &Sources, found: &FileSet) -> Comparison {
    let mut comparison = Comparison::default();
    // Files that stand at no official path, by their contents: most loaders know a file by its name, in whatever folder.
    let mut others: BTreeMap<&str, Digest> = found.iter().map(|(path, content)| (path, Digest::of(content))).collect();
    for (_, file) in sources.files() {
        others.remove(file.path.as_str());
    }
    for (_, file) in sources.files() {
        if let Some(content) = found.get(&file.path) {
            match file.difference(content) {
                None => comparison.same += 1,
                Some(difference) => {
                    comparison.different.insert(file.path.clone(), difference);
                }
            }
            continue;
        }
        let elsewhere = others.iter().find(|(_, digest)| **digest == file.sha256).map(|(path, _)| *path);
        match elsewhere {
            Some(path) => {
                others.remove(path);
                comparison.same += 1;
            }
            None => comparison.missing.push(file.path.clone()),
        }
    }
    comparison.unknown = others.into_keys().map(str::to_owned).collect();
    comparison
}

impl Comparison {
    fn official_files(&self) -> usize {
        self.same + self.missing.len() + self.different.len()
    }

    fn is_official(&self) -> bool {
        self.missing.is_empty() && self.different.is_empty()
    }
}

fn rendered(name: &BenchmarkName, folder: &Path, comparison: &Comparison) -> String {
    let mut text = format!(
        "{name} in {}: {} of {} as published",
        folder.display(),
        comparison.same,
        counted(comparison.official_files() as u64, "official file", "official files")
    );
    for path in &comparison.missing {
        text += &format!("\n  missing    {path}");
    }
    for (path, difference) in &comparison.different {
        text += &format!("\n  different  {path} {difference}");
    }
    for path in &comparison.unknown {
        text += &format!("\n  unknown    {path} (read too; it has no official digest)");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::data::sources::{Repository, SourceFile};

    fn sources(files: &[(&str, &str)]) -> Sources {
        let file = |(path, content): &(&str, &str)| SourceFile {
            path: (*path).to_owned(),
            bytes: content.len() as u64,
            sha256: Digest::of(content.as_bytes()),
        };
        let repository = Repository {
            repository: "owner/name".to_owned(),
            commit: "c0ffee".to_owned(),
            licence: "MIT".to_owned(),
            files: files.iter().map(file).collect(),
        };
        Sources { repositories: vec![repository], by_hand: Vec::new() }
    }

    fn copy(files: &[(&str, &str)]) -> FileSet {
        let mut copy = FileSet::from_origin("here");
        for (path, content) in files {
            copy.insert(*path, content.as_bytes().to_vec());
        }
        copy
    }

    #[test]
    fn what_is_missing_different_or_unknown_is_named_and_a_file_may_be_in_another_folder() {
        let official = sources(&[("data/a", "one"), ("data/b", "two"), ("data/c", "three"), ("data/d", "four")]);
        let found = copy(&[("data/a", "one"), ("data/b", "2"), ("test/c", "three"), ("mine", "five")]);
        let comparison = compare(&official, &found);
        assert!(!comparison.is_official());
        let name = "worfbench".parse().unwrap();
        insta::assert_snapshot!(rendered(&name, Path::new("data/worfbench"), &comparison), @r"
        worfbench in data/worfbench: 2 of 4 official files as published
          missing    data/d
          different  data/b has 1 bytes, not 3
          unknown    mine (read too; it has no official digest)
        ");
    }

    #[test]
    fn a_copy_with_files_of_ones_own_beside_the_official_ones_is_official() {
        let comparison = compare(&sources(&[("data/a", "one")]), &copy(&[("data/a", "one"), ("apps.json", "[]")]));
        assert!(comparison.is_official());
        assert_eq!(comparison.unknown, ["apps.json"]);
    }

    #[test]
    fn a_benchmark_is_looked_for_in_its_folder_unless_another_is_named() {
        let args = |benchmarks: &[&str], data: Vec<DataAt>| DataVerifyArgs {
            benchmarks: benchmarks.iter().map(|name| name.parse().unwrap()).collect(),
            data,
        };
        let of = |name: &str, folder: &str| (name.parse::<BenchmarkName>().unwrap(), PathBuf::from(folder));
        let clone = DataAt::Of("worfbench".parse().unwrap(), "clone".into());
        assert_eq!(copies(args(&["flowbench"], Vec::new())).unwrap(), [of("flowbench", "data/flowbench")]);
        let both = copies(args(&["flowbench", "worfbench"], vec![clone, DataAt::All("all".into())])).unwrap();
        assert_eq!(both, [of("worfbench", "clone"), of("flowbench", "all/flowbench")]);
        let folder = tempfile::tempdir().unwrap();
        let error = copies(args(&[], vec![DataAt::All(folder.path().to_owned())])).unwrap_err();
        assert!(error.to_string().contains("regatta data fetch NAME --to"), "{error}");
    }
}
