//! Runs by name: `mine` is `runs/mine` where no directory of that name here holds a run.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use regatta_proto::{SweepId, did_you_mean};

use crate::args::ClientArgs;
use crate::client::Unreachable;
use crate::exit::BadConfiguration;

/// Folder that `regatta run` writes runs into.
pub(crate) const RUNS: &str = "runs";
/// Ledger of a run, from its directory on.
const LEDGER: &str = "store/ledger.sqlite";
/// Resolved spec of a run that has ended, from its directory on.
const LOCK: &str = "sweep.lock.yaml";

/// The directory that `what` names: itself, or the run of that name; `None` where there is neither.
pub(crate) fn find(what: &Path) -> Option<PathBuf> {
    find_beside(what, Path::new(RUNS))
}

/// The same, where runs are in the folder `runs`.
fn find_beside(what: &Path, runs: &Path) -> Option<PathBuf> {
    let below = what.is_relative().then(|| runs.join(what)).filter(|below| below.is_dir());
    // A benchmark of one's own may have the name of its sweep, as `regatta init` begins both. `./mine` and `mine/` are meant as they are written.
    let is_name = what.file_name() == Some(what.as_os_str());
    let is_other = || is_name && !is_run(what) && below.as_deref().is_some_and(is_run);
    if what.is_dir() && !is_other() {
        return Some(what.to_owned());
    }
    below
}

/// The same, or an error that names the run that may have been meant.
pub(crate) fn named(what: &Path) -> anyhow::Result<PathBuf> {
    find(what).ok_or_else(|| BadConfiguration(absence(what)).into())
}

/// The coordinator's sweep that `what` names, where it is no directory.
pub(crate) fn sweep_named(what: &str, client: &ClientArgs) -> anyhow::Result<SweepId> {
    what.parse().map_err(|error| {
        let sweep = client.coordinator.as_ref().map(|_| format!(", and it is no name of a sweep: {error}"));
        BadConfiguration(format!("{}{}", absence(Path::new(what)), sweep.unwrap_or_default())).into()
    })
}

/// The `error` of a coordinator that was asked for the sweep `what`, of which there is no directory. Where nobody has named a coordinator
/// and none is there, a directory was meant.
pub(crate) fn nor_a_sweep(what: &str, client: &ClientArgs, error: anyhow::Error) -> anyhow::Error {
    let absent = absence(Path::new(what));
    let is_nobody = error.downcast_ref::<Unreachable>().is_some_and(|unreachable| unreachable.is_nobody);
    if client.coordinator.is_some() || !is_nobody {
        return error.context(format!("{absent}; nor could a coordinator give it"));
    }
    let hint = match guess(Path::new(what)).is_empty() {
        true => "; for a sweep of a coordinator give its address with --coordinator or REGATTA_COORDINATOR",
        false => "",
    };
    BadConfiguration(format!("{absent}{hint}")).into()
}

/// The `error` of a coordinator that was asked about its sweep `what`. Where nobody has named a coordinator, none is there, and a run on this
/// machine has the name, that one was meant.
pub(crate) fn no_sweep(what: &SweepId, client: &ClientArgs, error: anyhow::Error) -> anyhow::Error {
    let is_nobody = error.downcast_ref::<Unreachable>().is_some_and(|unreachable| unreachable.is_nobody);
    match find(Path::new(what.as_str())) {
        Some(run) if is_nobody && client.coordinator.is_none() => BadConfiguration(on_this_machine(&run)).into(),
        Some(_) | None => error,
    }
}

/// Says how a run on this machine is looked at and steered, which no coordinator does.
fn on_this_machine(run: &Path) -> String {
    let at = run.display();
    format!(
        "{at} is a run on this machine, and no sweep of a coordinator: Ctrl-C where it runs interrupts it, `regatta resume {at}` goes on, and \
         `regatta doctor {at}` says how it stands; for a sweep of a coordinator give its address with --coordinator or REGATTA_COORDINATOR"
    )
}

/// The directory beside that of `run`, with its name and `end`. `.` and `..` have no name of their own, and stand for one that has.
pub(crate) fn beside(run: &Path, end: &str) -> PathBuf {
    let named = match run.file_name() {
        Some(_) => run.to_owned(),
        None => run.canonicalize().unwrap_or_else(|_| run.to_owned()),
    };
    let mut name = named.file_name().map_or_else(|| "run".into(), OsStr::to_owned);
    name.push(end);
    named.with_file_name(name)
}

/// Refuses a directory whose run has not ended, since its files are written at its end.
pub(crate) fn check_ended(run: &Path) -> anyhow::Result<()> {
    if run.join(LOCK).is_file() {
        return Ok(());
    }
    let at = run.display();
    let problem = match has_ledger(run) {
        true => format!(
            "the run in {at} has not ended, and its results are written at its end; `regatta view {at}` shows what it has so far, \
             `regatta doctor {at}` says what it waits for, and `regatta resume {at}` continues it when nothing is at work there"
        ),
        false => holds_no_run(run),
    };
    Err(BadConfiguration(problem).into())
}

/// `true` for the directory of a run, ended or not. One that was fetched from a coordinator has no ledger.
pub(crate) fn has_ledger(run: &Path) -> bool {
    run.join(LEDGER).is_file()
}

/// `true` for the directory of a run, here or fetched from a coordinator.
fn is_run(directory: &Path) -> bool {
    has_ledger(directory) || directory.join(LOCK).is_file()
}

/// Says that the directory `run` is of something else.
pub(crate) fn holds_no_run(run: &Path) -> String {
    format!("{} holds no run: there is no {}", run.display(), run.join(LEDGER).display())
}

/// Says that there is no such run, and which one may have been meant.
pub(crate) fn absence(what: &Path) -> String {
    let below = if what.is_relative() { format!(", and none in {RUNS}/") } else { String::new() };
    format!("there is no directory {}{below}{}", what.display(), guess(what))
}

/// The run that may have been meant by `what`, as the end of a message.
fn guess(what: &Path) -> String {
    let name = what.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = what.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new(RUNS));
    let known = names(folder);
    did_you_mean(&name, known.iter().map(String::as_str))
}

/// Names of the directories in `folder`, in order; none where it cannot be read, since this is only about a proposal.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let directories = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = directories.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_that_of_a_run_where_there_is_no_directory_of_the_name() {
        let folder = tempfile::tempdir().unwrap();
        let runs = folder.path().join("runs");
        std::fs::create_dir_all(runs.join("mine2/store")).unwrap();
        assert_eq!(find_beside(Path::new("mine2"), &runs), Some(runs.join("mine2")));
        assert_eq!(find_beside(Path::new("mine3"), &runs), None);
        // Tests run in the folder of their crate, which has sources.
        std::fs::create_dir(runs.join("src")).unwrap();
        assert_eq!(find_beside(Path::new("src"), &runs), Some(PathBuf::from("src")), "a directory goes before");
        std::fs::create_dir(runs.join("src/store")).unwrap();
        std::fs::write(runs.join("src/store/ledger.sqlite"), "").unwrap();
        assert_eq!(find_beside(Path::new("src"), &runs), Some(runs.join("src")), "unless that one alone holds a run");
        for written in ["./src", "src/"] {
            assert_eq!(
                find_beside(Path::new(written), &runs),
                Some(PathBuf::from(written)),
                "a path is meant as it is written"
            );
        }
        let elsewhere = folder.path().join("mine2");
        assert_eq!(find_beside(&elsewhere, &runs), None, "a whole path is meant as it is written");
    }

    #[test]
    fn what_is_made_of_a_run_lies_beside_it_however_the_run_is_named() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("mine/store")).unwrap();
        let whole = folder.path().canonicalize().unwrap();
        assert_eq!(beside(Path::new("runs/mine"), "-rescored"), Path::new("runs/mine-rescored"));
        assert_eq!(beside(Path::new("runs/mine/."), "-rescored"), Path::new("runs/mine-rescored"));
        assert_eq!(beside(&folder.path().join("mine/store/.."), "-rescored"), whole.join("mine-rescored"));
        // Tests run in the folder of their crate.
        let here = std::env::current_dir().unwrap().canonicalize().unwrap();
        let name = here.file_name().unwrap().to_string_lossy().into_owned();
        assert_eq!(beside(Path::new("."), "-audited"), here.with_file_name(format!("{name}-audited")));
        assert_eq!(beside(Path::new("/"), "-rescored"), Path::new("/run-rescored"));
    }

    #[test]
    fn a_run_on_this_machine_is_steered_where_it_runs() {
        insta::assert_snapshot!(on_this_machine(Path::new("runs/mine")), @"runs/mine is a run on this machine, and no sweep of a coordinator: Ctrl-C where it runs interrupts it, `regatta resume runs/mine` goes on, and `regatta doctor runs/mine` says how it stands; for a sweep of a coordinator give its address with --coordinator or REGATTA_COORDINATOR");
    }

    #[test]
    fn a_run_that_is_not_there_is_told_with_the_one_that_may_have_been_meant() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["baseline", "tonight"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        let at = |name: &str| folder.path().join(name);
        assert_eq!(find(&at("tonight")), Some(at("tonight")));
        assert_eq!(find(&at("tonigth")), None);
        let message = named(&at("tonigth")).unwrap_err().to_string();
        assert_eq!(message, format!("there is no directory {}; did you mean \"tonight\"?", at("tonigth").display()));
        assert!(!absence(&at("x")).contains("did you mean"));
    }
}
