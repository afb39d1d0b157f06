//! The data as it was published, and what is said of files that are not as they should be.

use regatta_benchmark_testing::{miniature, published};
use regatta_proto::{Digest, FileSet};
use serde_json::{Value, json};

use super::*;
use crate::{AppBench, vectors};

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
    let all = published(&AppBench)?;
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
    let Some(all) = published(&AppBench) else { return };
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

/// The miniature with one file replaced, or taken away.
fn altered(path: &str, content: Option<&str>) -> String {
    let all = miniature(&AppBench);
    let mut files = FileSet::from_origin("here");
    for (name, content) in all.iter().filter(|(name, _)| *name != path) {
        files.insert(name, content.clone());
    }
    if let Some(content) = content {
        files.insert(path, content.as_bytes().to_vec());
    }
    load(&files).map_or_else(|error| error.to_string(), |_| "loaded".to_owned())
}

/// An item of the form of the test files, with one field of its gold plan replaced, or taken away.
fn item_with(field: &str, value: Option<Value>) -> String {
    let mut output = json!({
        "used_app": ["Library"], "used_api": [{"findbook": {"title": "Emma"}}], "result_arguments": [["title"]],
        "api_results": ["title = findbook(#title='Emma')"], "middle_arguments": ["title"],
        "user_aware_arguments": {"title": "Emma"},
    });
    if let Some(output) = output.as_object_mut() {
        match value {
            Some(value) => output.insert(field.to_owned(), value),
            None => output.remove(field),
        };
    }
    json!([{"input": "Where is Emma?", "output": output}]).to_string()
}

#[test]
fn whatever_is_malformed_is_named_with_its_file_record_and_field() {
    let test = "test/test_ss.json";
    let with = |field: &str, value: Value| altered(test, Some(&item_with(field, Some(value))));
    let app = |apis: &str| format!(r#"[{{"name": "Library", "desc": "books", "apis": [{apis}]}}]"#);
    let api = r#"{"name": "findbook", "desc": "find", "is_transactional": IT, "required": [R], "optional": [], "returns": []}"#;
    let cases = [
        ("as it should be", altered(test, Some(&item_with("used_app", Some(json!(["Library"])))))),
        ("no array", altered(test, Some("{}"))),
        ("no JSON", altered(test, Some("[{]"))),
        ("no object", altered(test, Some("[3]"))),
        ("no input", altered(test, Some(r#"[{"output": {}}]"#))),
        ("no output", altered(test, Some(r#"[{"input": "x"}]"#))),
        ("no used_app", altered(test, Some(&item_with("used_app", None)))),
        ("an app that is no text", with("used_app", json!(["Library", 3]))),
        ("a call with two APIs", with("used_api", json!([{"a": {}, "b": {}}]))),
        ("a value that is no text", with("used_api", json!([{"findbook": {"title": 3}}]))),
        ("names in no array", with("result_arguments", json!(["title"]))),
        ("known arguments in no object", with("user_aware_arguments", json!([]))),
        ("apps in no array", altered("apps.json", Some("{}"))),
        ("no app", altered("apps.json", Some("[]"))),
        ("no effect said", altered("apps.json", Some(&app(&api.replace("IT", "null").replace('R', ""))))),
        ("an argument without name", altered("apps.json", Some(&app(&api.replace("IT", "true").replace('R', "{}"))))),
        ("raw apps in no object", altered("derived/apps_raw.json", Some("[]"))),
        ("an app that is listed but unknown", altered("derived/rendered.json", Some(r#"{"app_order": ["Nowhere"]}"#))),
        ("an unknown flag", altered("derived/plans.jsonl", Some(r#"{"item": "ss-000", "flags": ["odd"]}"#))),
        ("a fixture without call", altered("derived/fixtures.json", Some(r#"{"ss-000": [{"api": "findbook"}]}"#))),
        ("a template that is no text", {
            let mut files = FileSet::from_origin("here");
            files.insert("api_for_all_agent.txt", vec![0xff]);
            files.insert("test_ss.json", item_with("used_app", Some(json!(["Library"]))));
            files.insert("apps.json", app(&api.replace("IT", "true").replace('R', "")));
            load(&files).map_or_else(|error| error.to_string(), |_| "loaded".to_owned())
        }),
        ("two copies", altered("copy/test/test_ss.json", Some("[]"))),
    ];
    let said: String = cases.iter().map(|(case, said)| format!("{case}: {said}\n")).collect();
    insta::assert_snapshot!(said);
}

#[test]
fn what_is_missing_is_said_with_where_to_get_it() {
    let files = FileSet::from_origin("here");
    let nothing = load(&files).map_or_else(|error| error.to_string(), |_| "loaded".to_owned());
    insta::assert_snapshot!(format!("{nothing}\n{}", altered("apps.json", None)));
}

#[test]
fn the_miniature_has_five_items_of_each_split_and_what_follows_from_them() {
    let data = vectors::miniature();
    assert_eq!(Split::ALL.map(|split| data.of_split(split).count()), [5; 4]);
    assert_eq!(data.phone.apps().len(), 4);
    let borrowed = data.find("sm-000").unwrap();
    let [fixture] = &borrowed.fixtures[..] else { unreachable!("{:?}", borrowed.fixtures) };
    assert_eq!((fixture.call, &*fixture.slot, &*fixture.value), (0, "branch", "Old Town"));
    assert!(data.entries.iter().all(|entry| entry.flags.is_subset(&[Flag::RepeatedApi].into())));
    assert_eq!(data.entries.iter().filter(|entry| entry.flags.contains(&Flag::RepeatedApi)).count(), 2);
}

#[test]
fn training_items_are_read_where_there_are_some() {
    let mut files = FileSet::from_origin("here");
    let all = miniature(&AppBench);
    for (name, content) in all.iter() {
        files.insert(name, content.clone());
    }
    files.insert("train/train_ss.json", item_with("used_app", Some(json!(["Library"]))));
    let data = load(&files).unwrap();
    assert_eq!(data.training[&Split::Ss].iter().map(|entry| entry.id.as_str()).collect::<Vec<_>>(), ["train-ss-000"]);
    assert_eq!(data.entries.len(), 20);
}
