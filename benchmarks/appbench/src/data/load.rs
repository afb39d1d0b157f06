//! Reads the whole data set.

use std::collections::BTreeMap;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::FileSet;

use super::Data;
use super::derive::derive;
use super::files::{Kind, Template};
use super::read_apps::{File, read_phone};
use super::read_derived::{read_fixtures, read_flags};
use super::read_items::read_items;
use super::split::Split;

/// Reads the data set. At least one test file must be there, and the descriptions of the apps.
///
/// # Errors
/// With file, record and field of whatever is malformed; with what is missing and where to get it.
pub(crate) fn load(set: &FileSet) -> Result<Data, DataError> {
    let files = files_of(set)?;
    let file = |kind: Kind| -> Option<File<'_>> {
        files.get(&kind).map(|(path, content)| (SourceLocation::file(set.origin(), path), *content))
    };
    let (mut entries, mut training) = (Vec::new(), BTreeMap::new());
    for split in Split::ALL {
        if let Some((place, content)) = file(Kind::Test(split)) {
            entries.extend(read_items(&place, content, "", split)?);
        }
        if let Some((place, content)) = file(Kind::Training(split)) {
            training.insert(split, read_items(&place, content, "train-", split)?);
        }
    }
    if entries.is_empty() {
        return Err(missing(
            set,
            "test/test_ss.json",
            "at least one of test_ss.json, test_sm.json, test_ms.json, \
             test_mm.json with an item is needed; they are in the folder data/test of the official repository",
        ));
    }
    let phone = read_phone(file(Kind::AppsRaw), file(Kind::Apps), file(Kind::Rendered))?.ok_or_else(|| {
        missing(
            set,
            "apps.json",
            "the test files do not say what the apps are: the official repository has that in its Python \
             classes (code/apps); give it as apps.json or derived/apps_raw.json",
        )
    })?;
    for entry in entries.iter_mut().chain(training.values_mut().flatten()) {
        derive(entry, &phone);
    }
    if let Some((place, content)) = file(Kind::Plans) {
        let mut flags = read_flags(&place, content)?;
        for entry in &mut entries {
            if let Some(flags) = flags.remove(entry.id.as_str()) {
                entry.flags = flags;
            }
        }
    }
    if let Some((place, content)) = file(Kind::Fixtures) {
        let mut fixtures = read_fixtures(&place, content)?;
        for entry in &mut entries {
            entry.fixtures = fixtures.remove(entry.id.as_str()).unwrap_or_default();
        }
    }
    let mut templates = BTreeMap::new();
    for template in Template::ALL {
        if let Some((place, content)) = file(Kind::Template(template)) {
            let text = std::str::from_utf8(content).map_err(|error| place.problem(format!("is not UTF-8: {error}")))?;
            templates.insert(template, Arc::from(text));
        }
    }
    Ok(Data::new(phone, entries, training, templates))
}

/// The files of the data set by what they are.
fn files_of(set: &FileSet) -> Result<BTreeMap<Kind, (&str, &[u8])>, DataError> {
    let mut files = BTreeMap::new();
    for (path, content) in set.iter() {
        let Some(kind) = Kind::of(path) else { continue };
        if let Some((other, _)) = files.insert(kind, (path, &content[..])) {
            let problem =
                format!("{other} is the same file of another copy; give a directory with one copy of the data");
            return Err(SourceLocation::file(set.origin(), path).problem(problem));
        }
    }
    Ok(files)
}

fn missing(set: &FileSet, path: &str, hint: &str) -> DataError {
    DataError::MissingFile { origin: set.origin().to_owned(), path: path.to_owned(), hint: hint.to_owned() }
}
