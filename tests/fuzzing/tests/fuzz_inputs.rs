//! Every seed, and every input that a fuzzer found, obeys the laws of its target.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use regatta_fuzzing::TARGETS;

/// Runs the inputs of the target `name`; fails with the name of the file that breaks a law.
fn replay(name: &str) {
    let target = TARGETS.iter().find(|target| target.name == name).unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let seeds = inputs(&root.join("seeds").join(name));
    assert!(!seeds.is_empty(), "the target {name} has no seeds");
    for path in seeds.into_iter().chain(inputs(&root.join("found").join(name))) {
        let data = std::fs::read(&path).unwrap();
        let ended = std::panic::catch_unwind(|| (target.run)(&data));
        assert!(ended.is_ok(), "{} broke a law; the panic above says which", path.display());
    }
}

/// Files of a folder by name; none where there is no folder.
fn inputs(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

#[test]
fn answers_of_models_in_every_benchmark() {
    replay("answers");
}

#[test]
fn documents_of_people_and_of_other_processes() {
    replay("documents");
}

#[test]
fn files_of_people() {
    replay("files");
}

#[test]
fn answers_of_providers_and_requests_of_clients() {
    replay("providers");
}

#[test]
fn what_pythons_libraries_read() {
    replay("python");
}

#[test]
fn requests_of_clients_and_of_agents() {
    replay("requests");
}

#[test]
fn transcripts_of_other_processes() {
    replay("transcripts");
}

#[test]
fn every_target_is_replayed_and_has_an_entry_point() {
    let entry_points = inputs(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/fuzz_targets"));
    let names: Vec<_> = entry_points.iter().filter_map(|path| path.file_stem()?.to_str()).collect();
    assert_eq!(names, TARGETS.map(|target| target.name));
}
