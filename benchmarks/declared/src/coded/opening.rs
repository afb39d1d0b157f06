//! From a definition and its files to a program that has loaded.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::thread::available_parallelism;
use std::time::Duration;

use regatta_benchmarks::DataError;
use regatta_coded::{Failure, Load, Loaded, Permissions, Pool, PoolLimits, SettingOf};
use regatta_proto::{FileSet, Role};

use crate::definition::{Coded, Limits, Source};
use crate::setting::Choice;

/// Fewest and most processes of a program that its definition says nothing about.
const PROCESSES: (usize, usize) = (2, 8);
/// Most processes that a definition may ask for.
const PROCESSES_MAX: usize = 64;
/// Most seconds of a call, so that a session does not outlast its worker's time for it.
const CALL_S_MAX: u32 = 600;
/// Most memory of a process, and largest answer, in MiB.
const MEMORY_MB_MAX: u32 = 64 << 10;
const ANSWER_MB_MAX: u32 = 1024;

/// Starts the program of `definition` and has it load.
///
/// # Errors
/// When it may not run here, cannot be started, or does not load; with what it wrote to standard error.
pub(super) fn open(
    source: &Source,
    definition: &Coded,
    grid: &[Choice],
    permissions: &Permissions,
    files: &FileSet,
) -> Result<(Pool, Loaded), DataError> {
    check_files(source, definition, files)?;
    let limits = limits(source, definition.limits)?;
    let start = permissions.start(&definition.program, files).map_err(|problem| source.problem("program", problem))?;
    let data: BTreeMap<String, String> =
        definition.data.iter().map(|(split, path)| (split.to_string(), path.clone())).collect();
    let load = Load { data, settings: grid.iter().map(setting_of).collect() };
    Pool::open(start, limits, files, load).map_err(|failure| failed(source, &failure))
}

/// A setting as the program sees it.
pub(super) fn setting_of(choice: &Choice) -> SettingOf {
    SettingOf { name: choice.setting.to_string(), values: choice.values.clone() }
}

/// A program that does not load.
fn failed(source: &Source, failure: &Failure) -> DataError {
    source.problem("program", failure.in_full())
}

fn check_files(source: &Source, definition: &Coded, files: &FileSet) -> Result<(), DataError> {
    let named = definition.data.iter().map(|(split, path)| (format!("data.{split}"), path));
    let further = definition.files.iter().enumerate().map(|(at, path)| (format!("files[{at}]"), path));
    match named.chain(further).find(|(_, path)| files.get(path).is_none()) {
        Some((field, path)) => Err(source.problem(&field, format!("{path} is not in the benchmark's folder"))),
        None => Ok(()),
    }
}

fn limits(source: &Source, limits: Limits) -> Result<PoolLimits, DataError> {
    let Limits { load_s, call_s, memory_mb, answer_mb, replies: _, processes } = limits;
    let most = [
        ("load_s", load_s, CALL_S_MAX),
        ("call_s", call_s, CALL_S_MAX),
        ("memory_mb", memory_mb, MEMORY_MB_MAX),
        ("answer_mb", answer_mb, ANSWER_MB_MAX),
        ("replies", limits.replies, REPLIES_MAX),
    ];
    if let Some((name, value, most)) = most.into_iter().find(|(_, value, most)| !(1..=*most).contains(value)) {
        return Err(source.problem(&format!("limits.{name}"), format!("is {value}; write 1 to {most}")));
    }
    let usual = || available_parallelism().map_or(PROCESSES.0, NonZeroUsize::get).clamp(PROCESSES.0, PROCESSES.1);
    let processes = processes.map_or_else(usual, |count| usize::try_from(count).unwrap_or(usize::MAX));
    let processes = NonZeroUsize::new(processes).filter(|count| (PROCESSES.0..=PROCESSES_MAX).contains(&count.get()));
    let Some(processes) = processes else {
        let problem = format!("must be {} to {PROCESSES_MAX}: calls are repeated in another process", PROCESSES.0);
        return Err(source.problem("limits.processes", problem));
    };
    Ok(PoolLimits {
        load: Duration::from_secs(load_s.into()),
        call: Duration::from_secs(call_s.into()),
        memory_mb,
        answer_bytes: usize::try_from(answer_mb).unwrap_or(usize::MAX) << 20,
        processes,
    })
}

/// Most replies of a session.
const REPLIES_MAX: u32 = 10_000;

/// The roles of a session, the agent first.
///
/// # Errors
/// When one is unknown, is always there, or is named twice.
pub(super) fn roles(source: &Source, definition: &Coded) -> Result<Vec<Role>, DataError> {
    let mut roles = vec![Role::Agent];
    for (at, name) in definition.roles.iter().enumerate() {
        let role = name.parse().ok().filter(|role| matches!(role, Role::User | Role::Environment));
        match role.filter(|role| !roles.contains(role)) {
            Some(role) => roles.push(role),
            None => {
                let problem =
                    format!("{name:?} must be `user` or `environment`, each at most once; the agent is always there");
                return Err(source.problem(&format!("roles[{at}]"), problem));
            }
        }
    }
    Ok(roles)
}
