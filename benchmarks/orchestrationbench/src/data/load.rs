//! Loading of the whole data set.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::{FileSet, ItemId};
use regatta_pycompat::yaml::Value;

use super::card::{Agents, Card};
use super::files::{Kind, number_first};
use super::language::Language;
use super::read_card::read_card;
use super::read_scenario::read_scenario;
use super::scenario::Scenario;
use super::yaml_file::{BYTES_MAX, load_yaml, text_at};
use super::{Data, Prompts};

/// Files for which a thread is worth its start.
const FILES_A_THREAD: usize = 32;

/// Reads the data set.
///
/// # Errors
/// With file, step and field of the first malformed value; or if there is no scenario, or no agent for a scenario's
/// language.
pub(crate) fn load(set: &FileSet) -> Result<Data, DataError> {
    if let Some((path, content)) =
        set.iter().find(|(path, content)| Kind::of(path).is_some() && content.len() > BYTES_MAX)
    {
        let problem = format!("has {} bytes; at most {BYTES_MAX} are read", content.len());
        return Err(SourceLocation::file(set.origin(), path).problem(problem));
    }
    let english = Agents::new(read_cards(set, Language::En)?);
    let korean = Agents::new(read_cards(set, Language::Ko)?);
    let prompts = read_prompts(set)?;
    let mut scenarios = Vec::new();
    for (language, agents) in [(Language::En, &english), (Language::Ko, &korean)] {
        let read = read_scenarios(set, language, agents)?;
        if !read.is_empty() && agents.cards().is_empty() {
            return Err(DataError::MissingFile {
                origin: set.origin().to_owned(),
                path: format!("{}/multiagent_cards/*.json", language.name()),
                hint: "the scenarios of this language need its agents".to_owned(),
            });
        }
        scenarios.extend(read);
    }
    if scenarios.is_empty() {
        return Err(DataError::MissingFile {
            origin: set.origin().to_owned(),
            path: "EN/scenario_data/*.yaml, KO/scenario_data/*.yaml".to_owned(),
            hint: "name the repository's root or its folder data/".to_owned(),
        });
    }
    Ok(Data { scenarios, prompts, english, korean })
}

fn read_scenarios(set: &FileSet, language: Language, agents: &Agents) -> Result<Vec<Arc<Scenario>>, DataError> {
    let mut files: Vec<_> = set
        .iter()
        .filter_map(|(path, content)| match Kind::of(path)? {
            Kind::Scenario(found, id) if found == language => Some((id, path, content)),
            _ => None,
        })
        .collect();
    files.sort_by_key(|(id, path, _)| (number_first(id), *path));
    let read = in_threads(&files, |(id, path, content)| {
        read_scenario(&SourceLocation::file(set.origin(), path), content, language, id, agents)
    });
    let mut known = HashMap::new();
    let mut scenarios = Vec::with_capacity(files.len());
    for ((id, path, _), scenario) in files.into_iter().zip(read) {
        let file = SourceLocation::file(set.origin(), path);
        // Checked with the longest step and trial that will be appended.
        ItemId::new(format!("{}/{id}/0000/0000", language.name())).map_err(|error| file.problem(error))?;
        if let Some(other) = known.insert(id, path) {
            return Err(file.problem(format!("is the same scenario as {other}; keep one copy of the repository")));
        }
        scenarios.push(Arc::new(scenario?));
    }
    Ok(scenarios)
}

/// Applies `read` to each of `files` and returns the results in their order. YAML takes a millisecond a file, and none needs another, so that all
/// processors read.
fn in_threads<F: Sync, T: Send>(files: &[F], read: impl Fn(&F) -> T + Sync) -> Vec<T> {
    let (read, threads) = (&read, std::thread::available_parallelism().map_or(1, std::num::NonZero::get));
    let part = files.len().div_ceil(threads).max(FILES_A_THREAD);
    if files.len() <= part {
        return files.iter().map(read).collect();
    }
    std::thread::scope(|scope| {
        let parts = files.chunks(part).map(|part| scope.spawn(move || part.iter().map(read).collect::<Vec<T>>()));
        let parts: Vec<_> = parts.collect();
        parts
            .into_iter()
            .flat_map(|part| part.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

fn read_cards(set: &FileSet, language: Language) -> Result<Vec<Card>, DataError> {
    let mut known = HashMap::new();
    let mut cards = Vec::new();
    for (path, content) in set.iter().filter(|(path, _)| Kind::of(path) == Some(Kind::Card(language))) {
        let file = SourceLocation::file(set.origin(), path);
        let card = read_card(&file, content)?;
        if let Some(other) = known.insert(Arc::clone(&card.agent_id), path) {
            let problem = format!("{} is the agent of {other} too; keep one of them", card.agent_id);
            return Err(file.error("agent_card.agent_id", problem));
        }
        cards.push(card);
    }
    Ok(cards)
}

fn read_prompts(set: &FileSet) -> Result<Prompts, DataError> {
    let mut prompts = Prompts::default();
    for (path, content) in set.iter() {
        let file = SourceLocation::file(set.origin(), path);
        match Kind::of(path) {
            Some(Kind::AgentPrompts) => {
                let document = load_yaml(&file, content)?;
                prompts.planning = Some(prompt(&file, &document, "general")?);
                prompts.decision = Some(prompt(&file, &document, "select_tools")?);
            }
            Some(Kind::JudgePrompts) => {
                let document = load_yaml(&file, content)?;
                prompts.judge = Some(prompt(&file, &document, "arguments_evaluation")?);
            }
            _ => {}
        }
    }
    Ok(prompts)
}

fn prompt(file: &SourceLocation<'_>, document: &Value, name: &str) -> Result<Arc<str>, DataError> {
    let found = document.get("prompts").and_then(|prompts| prompts.get(name)?.get("prompt"));
    text_at(file, found, &format!("prompts.{name}.prompt")).map(Into::into)
}
