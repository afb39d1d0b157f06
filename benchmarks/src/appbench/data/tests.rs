//! The data as it was published, and what is said of files that are not as they should be.

use regatta_proto::{Digest, FileSet};

use super::*;
use crate::appbench::vectors;

#[test]
fn the_published_data_has_801_items_and_15_apps() {
    let Some(data) = vectors::data() else { return };
    assert_eq!(Split::ALL.map(|split| data.of_split(split).count()), [200, 200, 201, 200]);
    assert_eq!(data.phone.apps().len(), 15);
    assert_eq!(data.phone.apps().iter().map(|app| app.apis.len()).sum::<usize>(), 33);
    assert_eq!(data.find("ms-200").map(|entry| entry.split), Some(Split::Ms));
    assert_eq!(data.entries.iter().map(|entry| entry.fixtures.len()).sum::<usize>(), 624);
    assert_eq!(data.templates.len(), 3);
    let app = data.phone.first_owner("findmovies").map(|(app, _)| &*app.name);
    assert_eq!(app, Some("Media"));
}

/// The official files and the descriptions, and nothing that somebody derived from them.
fn without_derived() -> Option<Data> {
    let all = vectors::files(&vectors::shared()?.join("data"));
    let mut files = FileSet::from_origin("data");
    for (path, content) in all.iter().filter(|(path, _)| !path.starts_with("derived/")) {
        files.insert(path, content.clone());
    }
    Some(load(&files).unwrap_or_else(|error| unreachable!("{error}")))
}

#[test]
fn flags_that_are_computed_are_those_of_the_derived_files() {
    let (Some(data), Some(computed)) = (vectors::data(), without_derived()) else { return };
    for (entry, computed) in data.entries.iter().zip(&computed.entries) {
        let mut known = entry.flags.clone();
        known.remove(&Flag::InputIsNotAnInstruction);
        assert_eq!(known, computed.flags, "{}", entry.id);
        assert_eq!(entry.duplicate_of, computed.duplicate_of);
    }
}

#[test]
fn fixtures_that_are_computed_are_those_of_the_derived_files() {
    let (Some(data), Some(computed)) = (vectors::data(), without_derived()) else { return };
    let sorted = |entry: &Entry| {
        let mut fixtures = entry.fixtures.clone();
        fixtures.sort_by(|a, b| (a.call, &a.slot).cmp(&(b.call, &b.slot)));
        fixtures
    };
    for (entry, computed) in data.entries.iter().zip(&computed.entries) {
        assert_eq!(sorted(entry), sorted(computed), "{}", entry.id);
    }
}

#[test]
fn texts_of_apps_that_are_made_here_are_the_official_ones() {
    let Some(root) = vectors::shared() else { return };
    let all = vectors::files(&root.join("data"));
    let mut files = FileSet::from_origin("data");
    for (path, content) in all.iter().filter(|(path, _)| *path != "derived/rendered.json") {
        files.insert(path, content.clone());
    }
    let made = load(&files).unwrap_or_else(|error| unreachable!("{error}"));
    let Some(data) = vectors::data() else { return };
    assert_eq!(made.phone, data.phone);
    let blocks: String = data.phone.apps().iter().map(|app| &*app.block).collect();
    assert_eq!(blocks.chars().count(), 34_271);
    let digest = |text: &str| Digest::of(text.as_bytes()).to_string();
    assert!(digest(&blocks).contains("f3de10b2e3ead96c1123b36e28d7c7763a1ea411cf0a7628ab0dfb71da5ee2ab"));
    let list = digest(&data.phone.flat_apps_desc);
    assert!(list.contains("bed33d56c11aa2d97888e8d687d66625ce585d6fcc2991d28d116893321c9359"));
}

#[test]
fn only_one_app_needs_the_raw_descriptions_for_its_official_text() {
    let (Some(data), Some(made)) = (vectors::data(), without_derived()) else { return };
    let differ =
        data.phone.apps().iter().zip(made.phone.apps()).filter(|(official, made)| official.block != made.block);
    // The official dictionary of one of its APIs has other fields first.
    assert_eq!(differ.map(|(app, _)| &*app.name).collect::<Vec<_>>(), ["Media"]);
}
