//! Reads the data set (docs/benchmarks/worfbench.md §2.3): `gold_traj/<task>/graph_eval.json` and `few_shot/<task>.json`. Nothing is
//! skipped, nothing is stripped.

use std::collections::{BTreeMap, BTreeSet, HashMap, hash_map::Entry};
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::{SourceLocation, kind_of};
use regatta_proto::{ChatMessage, ChatRole, FileSet, ItemId, ItemIndex};
use serde_json::Value;

use super::gold::check_gold;
use super::task::Task;

const GOLD_FOLDER: &str = "gold_traj";
const GOLD_FILE: &str = "graph_eval.json";
const SHOTS_FOLDER: &str = "few_shot";

/// Begins every user message, with and without examples.
pub(crate) const TURN: &str = "Now it's your turn.\n";

/// Roles of a record's conversation.
const ROLES: [ChatRole; 3] = [ChatRole::System, ChatRole::User, ChatRole::Assistant];
/// Roles of the few-shot messages: two examples.
const SHOT_ROLES: [ChatRole; 4] = [ChatRole::User, ChatRole::Assistant, ChatRole::User, ChatRole::Assistant];

/// One item of the data set.
#[derive(Debug, Clone)]
pub(crate) struct Record {
    pub(crate) id: ItemId,
    pub(crate) task: Task,
    /// The system message; one text for all records that share it.
    pub(crate) system: Arc<str>,
    /// The user message as it is sent: [`TURN`] and the record's own text.
    pub(crate) prompt: Arc<str>,
    /// The gold workflow, as written.
    pub(crate) gold: Arc<str>,
}

/// The loaded data set.
#[derive(Debug, Default)]
pub(crate) struct Data {
    /// Records in the order of their files: tasks by folder name, then as written.
    pub(crate) records: Vec<Record>,
    /// Positions by id.
    pub(crate) by_id: HashMap<ItemId, ItemIndex>,
    /// The four messages of two examples, by task.
    pub(crate) shots: BTreeMap<Task, Vec<ChatMessage>>,
}

impl Data {
    pub(crate) fn record(&self, item: ItemIndex) -> Option<&Record> {
        self.records.get(usize::try_from(item.0).ok()?)
    }

    /// Records with their positions.
    pub(crate) fn indexed(&self) -> impl Iterator<Item = (ItemIndex, &Record)> {
        (0_u32..).map(ItemIndex).zip(&self.records)
    }

    /// The tasks that occur.
    pub(crate) fn tasks(&self) -> BTreeSet<Task> {
        self.records.iter().map(|record| record.task).collect()
    }
}

/// True if a file belongs to the data set. Any JSON file in a task's folder does, so that a folder whose `graph_eval.json` has another name
/// is noticed instead of overlooked.
pub(crate) fn wants(path: &str) -> bool {
    let parts: Vec<&str> = path.split('/').collect();
    let in_place = match parts.as_slice() {
        [folder, _, _] => *folder == GOLD_FOLDER,
        [folder, _] => *folder == SHOTS_FOLDER,
        _ => false,
    };
    in_place && path.ends_with(".json") && !parts.iter().any(|part| part.starts_with('.'))
}

/// Reads the data set.
///
/// # Errors
/// With file, record and field.
pub(crate) fn load(files: &FileSet) -> Result<Data, DataError> {
    let mut data = Data::default();
    let mut systems = HashMap::new();
    let folders = task_folders(files)?;
    for (folder, task) in folders {
        let path = format!("{GOLD_FOLDER}/{folder}/{GOLD_FILE}");
        let Some(content) = files.get(&path) else {
            return Err(DataError::MissingFile {
                origin: files.origin().to_owned(),
                path,
                hint: format!("the folder {GOLD_FOLDER}/{folder} is there; add the file or remove the folder"),
            });
        };
        read_task(&SourceLocation::file(files.origin(), &path), content, task, &mut systems, &mut data)?;
    }
    for (path, content) in files.iter() {
        if let Some(name) = path.strip_prefix(SHOTS_FOLDER).and_then(|rest| rest.strip_prefix('/')) {
            let place = SourceLocation::file(files.origin(), path);
            let task = shot_task(&place, name.trim_end_matches(".json"))?;
            data.shots.insert(task, read_shots(&place, content)?);
        }
    }
    Ok(data)
}

fn task_folders(files: &FileSet) -> Result<BTreeMap<&str, Task>, DataError> {
    let mut folders = BTreeMap::new();
    for (path, _) in files.iter() {
        let mut parts = path.split('/');
        let (Some(GOLD_FOLDER), Some(folder), Some(_)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let task = Task::named(folder).ok_or_else(|| {
            let problem = format!("{folder:?} is no task; known: {}", names(Task::ALL));
            SourceLocation::file(files.origin(), path).error("folder", problem)
        })?;
        folders.insert(folder, task);
    }
    if folders.is_empty() {
        return Err(DataError::MissingFile {
            origin: files.origin().to_owned(),
            path: format!("{GOLD_FOLDER}/<task>/{GOLD_FILE}"),
            hint: format!("name the directory that holds the folder {GOLD_FOLDER}; tasks: {}", names(Task::ALL)),
        });
    }
    Ok(folders)
}

fn read_task(
    file: &SourceLocation<'_>,
    content: &[u8],
    task: Task,
    systems: &mut HashMap<String, Arc<str>>,
    data: &mut Data,
) -> Result<(), DataError> {
    let records = array(file, content)?;
    if records.is_empty() {
        return Err(file.problem("the array holds no record; add records or remove the folder"));
    }
    for (position, value) in records.iter().enumerate() {
        let record = read_record(file, position, value, task, systems)?;
        let index = ItemIndex(u32::try_from(data.records.len()).map_err(|_| file.problem("too many records"))?);
        match data.by_id.entry(record.id.clone()) {
            Entry::Vacant(free) => free.insert(index),
            Entry::Occupied(_) => {
                let problem = "is the id of an earlier record too; every id may occur once";
                return Err(file.record(position, record.id.as_str()).error("id", problem));
            }
        };
        data.records.push(record);
    }
    Ok(())
}

fn read_record(
    file: &SourceLocation<'_>,
    position: usize,
    value: &Value,
    task: Task,
    systems: &mut HashMap<String, Arc<str>>,
) -> Result<Record, DataError> {
    let place = file.record(position, value.get("id").and_then(Value::as_str).unwrap_or("no id"));
    let id = ItemId::new(place.text(value, "id")?).map_err(|error| place.error("id", error))?;
    if let Some(source) = value.get("source")
        && source.as_str() != Some(task.name())
    {
        return Err(place.error("source", format!("is {source}, but the record lies in the folder of {}", task.name())));
    }
    let conversation = place.array(value, "conversations")?;
    let [system, user, gold] = messages(&place, "conversations", conversation, ROLES)?;
    check_gold(gold).map_err(|error| place.error("conversations[2].content", error))?;
    let shared = systems.entry(system.to_owned()).or_insert_with(|| system.into());
    Ok(Record { id, task, system: Arc::clone(shared), prompt: format!("{TURN}{user}").into(), gold: gold.into() })
}

fn shot_task(file: &SourceLocation<'_>, name: &str) -> Result<Task, DataError> {
    match Task::named(name) {
        Some(task) if task.has_examples() => Ok(task),
        Some(_) => Err(file.problem(format!("{name} is held out and always runs without examples; remove the file"))),
        None => {
            let known = names(Task::ALL.into_iter().filter(|task| task.has_examples()));
            Err(file.problem(format!("{name:?} is no task with examples; known: {known}")))
        }
    }
}

fn read_shots(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<ChatMessage>, DataError> {
    let list = array(file, content)?;
    let texts = messages(file, "messages", &list, SHOT_ROLES)?;
    Ok(SHOT_ROLES.into_iter().zip(texts).map(|(role, text)| ChatMessage::new(role, text)).collect())
}

fn array(file: &SourceLocation<'_>, content: &[u8]) -> Result<Vec<Value>, DataError> {
    match serde_json::from_slice(content).map_err(|error| file.json(&error))? {
        Value::Array(values) => Ok(values),
        other => Err(file.problem(format!("must be a JSON array, is {}", kind_of(&other)))),
    }
}

/// The contents of messages that must have exactly these roles.
fn messages<'v, const N: usize>(
    place: &SourceLocation<'_>,
    field: &str,
    list: &'v [Value],
    roles: [ChatRole; N],
) -> Result<[&'v str; N], DataError> {
    if list.len() != N {
        return Err(place.error(field, format!("must hold {N} messages ({}), holds {}", role_names(roles), list.len())));
    }
    let mut contents = [""; N];
    for (position, (message, role)) in list.iter().zip(roles).enumerate() {
        let at = |name: &str| format!("{field}[{position}].{name}");
        let found = place.text_at(message.get("role"), &at("role"))?;
        if found != role_name(role) {
            return Err(place.error(&at("role"), format!("must be {:?}, is {found:?}", role_name(role))));
        }
        let content = place.text_at(message.get("content"), &at("content"))?;
        if content.is_empty() {
            return Err(place.error(&at("content"), "is empty"));
        }
        contents[position] = content;
    }
    Ok(contents)
}

const fn role_name(role: ChatRole) -> &'static str {
    match role {
        ChatRole::System => "system",
        ChatRole::User => "user",
        ChatRole::Assistant => "assistant",
        ChatRole::Tool => "tool",
    }
}

fn role_names<const N: usize>(roles: [ChatRole; N]) -> String {
    roles.map(role_name).join(", ")
}

/// Names of tasks for a message.
pub(crate) fn names(tasks: impl IntoIterator<Item = Task>) -> String {
    tasks.into_iter().map(Task::name).collect::<Vec<_>>().join(", ")
}
