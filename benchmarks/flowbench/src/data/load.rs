//! Loading of the whole data set.

use std::borrow::Cow;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, lines};
use regatta_proto::{FileSet, ItemId};
use serde_json::Value;

use super::Data;
use super::archive::{Room, unpack};
use super::entry::{Content, Entry, Origin};
use super::files::Kind;
use super::groups::Groups;
use super::read_official::OfficialReader;
use super::read_samples::read_samples;
use super::read_scenarios::Registry;
use super::read_sessions::{ReadSession, read_session};
use crate::prompts::OfficialPrompts;
use crate::setting::Level;

/// Files of the data set with their kinds, in the order of their paths, archives unpacked.
struct Files<'f> {
    origin: &'f str,
    files: Vec<(Kind, Cow<'f, str>, Cow<'f, [u8]>)>,
    /// Bytes of the files that were in archives.
    unpacked_bytes: u64,
}

impl<'f> Files<'f> {
    fn of(set: &'f FileSet) -> Result<Self, DataError> {
        let named = || set.iter().filter_map(|(path, content)| Some((Kind::of(path)?, path, content)));
        let canonical = named().any(|(kind, ..)| kind == Kind::Sessions);
        let (mut files, mut room) = (Vec::new(), Room::of_a_data_set());
        for (kind, path, content) in named() {
            match kind {
                // Canonical sessions contain everything that their official form does, so the latter is not read.
                Kind::Archive | Kind::TurnRecords | Kind::SessionRecords if canonical => {}
                Kind::Archive => {
                    let place = SourceLocation::file(set.origin(), path);
                    let unpacked = unpack(&place, path, content, &mut room)?.into_iter();
                    files.extend(
                        unpacked
                            .filter_map(|(path, bytes)| Some((Kind::of(&path)?, Cow::from(path), Cow::from(bytes)))),
                    );
                }
                _ => files.push((kind, Cow::from(path), Cow::from(&content[..]))),
            }
        }
        Ok(Self { origin: set.origin(), files, unpacked_bytes: room.taken() })
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = (SourceLocation<'_>, &str, &[u8])> {
        let files = self.files.iter().filter(move |(found, ..)| *found == kind);
        files.map(|(_, path, content)| (SourceLocation::file(self.origin, path), &**path, &**content))
    }
}

/// Reads the data set. Order of the items: turns, then sessions, each with single before cross and otherwise as in
/// the files; then samples.
///
/// # Errors
/// With file, line and field of the first malformed value.
pub(crate) fn load(set: &FileSet) -> Result<Data, DataError> {
    let files = Files::of(set)?;
    let registry = read_registry(&files)?;
    let mut groups = Groups::default();
    let mut entries = Vec::new();
    for kind in [Kind::Sessions, Kind::PaperSession] {
        for (file, _, content) in files.of_kind(kind) {
            for (place, value) in session_values(kind, &file, content)? {
                let read = read_session(&place, &value, &registry)?;
                entries.extend(entries_of(&place, kind, read, &registry, &mut groups)?);
            }
        }
    }
    let mut official = OfficialReader::new(&registry, &mut groups);
    for (kind, level) in [(Kind::TurnRecords, Level::Turn), (Kind::SessionRecords, Level::Session)] {
        for (_, path, content) in files.of_kind(kind) {
            official.read(level, files.origin, path, content)?;
        }
    }
    entries.extend(official.into_entries());
    for (file, _, content) in files.of_kind(Kind::Samples) {
        entries.extend(read_samples(&file, content, &registry, &mut groups)?);
    }
    if entries.is_empty() {
        return Err(nothing(set));
    }
    entries.sort_by_key(|entry| (entry.origin, entry.level(), entry.group.scope));
    Ok(Data { unpacked_bytes: files.unpacked_bytes, ..Data::new(entries, read_official_prompts(&files)?) })
}

/// Reads the official prompts of simulators and judges from the user's copy of the official repository, if it is
/// beside the data.
fn read_official_prompts(files: &Files<'_>) -> Result<Option<OfficialPrompts>, DataError> {
    let mut known: Option<OfficialPrompts> = None;
    for (file, _, content) in files.of_kind(Kind::OfficialPrompts) {
        let read = OfficialPrompts::read(&file, content)?;
        if known.as_ref().is_some_and(|first| *first != read) {
            return Err(file.problem(
                "tells simulators or judges something else than the other utils/eval_utils.py; keep one of them",
            ));
        }
        known = Some(read);
    }
    Ok(known)
}

fn nothing(set: &FileSet) -> DataError {
    DataError::MissingFile {
        origin: set.origin().to_owned(),
        path: "turn_data/ or turn_data.zip, session_data/ or session_data.zip".to_owned(),
        hint: "name the directory that holds them; or sessions_single.jsonl and sessions_cross.jsonl beside \
               data/workflow_final.jsonl"
            .to_owned(),
    }
}

fn read_registry(files: &Files<'_>) -> Result<Registry, DataError> {
    let mut registry = Registry::default();
    for (file, _, content) in files.of_kind(Kind::Scenarios) {
        registry.read_scenarios(&file, content)?;
    }
    if registry.scenarios().is_empty() {
        let mut known: Option<(&str, &[u8])> = None;
        for (file, path, content) in files.of_kind(Kind::Knowledge) {
            // The file is in both archives.
            match known {
                None => registry.read_knowledge(&file, content)?,
                Some((_, first)) if first == content => {}
                Some((first, _)) => return Err(file.problem(format!("differs from {first}; keep one of them"))),
            }
            known = Some((path, content));
        }
    }
    for (file, _, content) in files.of_kind(Kind::Datetimes) {
        registry.read_datetimes(&file, content)?;
    }
    for (file, _, content) in files.of_kind(Kind::RoleDescriptions) {
        registry.read_backgrounds(&file, content)?;
    }
    let needs = [Kind::Sessions, Kind::PaperSession, Kind::Samples];
    if registry.scenarios().is_empty() && needs.into_iter().any(|kind| files.of_kind(kind).next().is_some()) {
        return Err(DataError::MissingFile {
            origin: files.origin.to_owned(),
            path: "data/workflow_final.jsonl".to_owned(),
            hint: "sessions and samples name its scenarios".to_owned(),
        });
    }
    Ok(registry)
}

/// Returns one session for each line, or the one of a whole file.
fn session_values<'p>(
    kind: Kind,
    file: &SourceLocation<'p>,
    content: &'p [u8],
) -> Result<Vec<(SourceLocation<'p>, Value)>, DataError> {
    if kind == Kind::PaperSession {
        let value = serde_json::from_slice(content).map_err(|error| file.json(&error))?;
        return Ok(vec![(file.clone(), value)]);
    }
    lines(file, content).collect()
}

/// Makes the items of a session: its turns, and the session itself.
fn entries_of(
    place: &SourceLocation<'_>,
    kind: Kind,
    read: ReadSession,
    registry: &Registry,
    groups: &mut Groups,
) -> Result<Vec<Entry>, DataError> {
    let ReadSession { session, synthetic, scope, file } = read;
    let (origin, file) = if kind == Kind::PaperSession {
        (Origin::Paper, file.to_string())
    } else {
        (Origin::Main, format!("{}__{file}", scope.name()))
    };
    let Some(scenario) = session.scenarios.first() else { return Ok(Vec::new()) };
    let group = groups.of(registry, &file, scope, scenario);
    let session = Arc::new(session);
    let entry = |id: ItemId, content| Entry { id, group: Arc::clone(&group), origin, synthetic, content };
    let mut entries = Vec::new();
    for (turn, (position, _)) in session.agent_turns().enumerate() {
        let id = groups.id(place, "session_id", &format!("{}_agent_turn-{}", session.id, turn + 1))?;
        entries.push(entry(id, Content::SessionTurn(Arc::clone(&session), position)));
    }
    let id = groups.id(place, "session_id", &session.id)?;
    entries.push(entry(id, Content::Session(Arc::clone(&session))));
    Ok(entries)
}
