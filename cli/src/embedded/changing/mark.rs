//! Progress of the change of a spec, in a file beside the ledger.
//!
//! The copy of the old sweep is a sweep of the same ledger, and two of them must never go on beside each other. Until the mark says `copied`,
//! the old one counts, and a copy that was interrupted is removed; from then on the new one does, and the old one is set aside. Both may
//! be interrupted anywhere, and are done again by whoever opens the directory next. Nothing is paid for in between.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use regatta_backends::Ledger;
use regatta_files::own_folder;
use regatta_proto::{CostSum, SweepId, SweepState};
use serde::{Deserialize, Serialize};

use super::super::clock;
use super::super::link_tree::unlink_tree;

/// The file, in the folder of the stores.
const MARK: &str = "changing.json";
/// Folder of what sweeps have left behind whose spec was changed, in the run's directory.
const BEFORE: &str = "before";

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Stage {
    /// Sessions are being copied.
    Copying,
    /// All are copied.
    Copied,
}

/// Sessions of the old sweep, and the cost of all attempts at them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Part {
    /// Sessions with a result.
    pub(super) sessions: u64,
    pub(super) cost: CostSum,
}

/// The change of a spec. It stays with what the old sweep has left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Mark {
    pub(super) stage: Stage,
    pub(super) from: SweepId,
    pub(super) to: SweepId,
    /// Differences of the specs, one a line.
    pub(super) changes: Vec<String>,
    pub(super) kept: Part,
    pub(super) left_out: Part,
}

impl Mark {
    fn read(store: &Path) -> anyhow::Result<Option<Self>> {
        let path = store.join(MARK);
        let failed = || format!("failed to read {}", path.display());
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes).with_context(failed)?)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error).with_context(failed),
        }
    }

    pub(super) fn write(&self, store: &Path) -> anyhow::Result<()> {
        let path = store.join(MARK);
        regatta_files::write_durably(&path, serde_json::to_vec_pretty(self)?)
            .with_context(|| format!("failed to write {}", path.display()))
    }
}

/// Brings a change that was interrupted in `directory` to its end, or takes it back; does nothing where there is none.
///
/// # Errors
/// When the ledger or a file cannot be read or written.
pub(in super::super) async fn settle(directory: &Path, ledger: &Ledger) -> anyhow::Result<()> {
    let store = directory.join("store");
    let Some(mark) = Mark::read(&store)? else { return Ok(()) };
    let blobs = store.join("blobs");
    for kind in ["sweeps", "checkpoints"] {
        // Somebody else may have made the directory, and a link would lead out of it.
        own_folder(&blobs.join(kind))?;
    }
    let (old, new) = (ledger.sweep(&mark.from).await?, ledger.sweep(&mark.to).await?);
    if old.is_none() && new.is_none() {
        // The ledger was emptied, and files are all that is left of what was paid for.
        return Ok(());
    }
    // Of a ledger that has lost its latest entries, or was exchanged, the only sweep stays, whatever the mark says.
    let is_whole = new.is_some() && (mark.stage == Stage::Copied || old.is_none());
    if is_whole {
        remove_sweep(ledger, &mark.from).await?;
        remove_folder(&blobs.join("checkpoints").join(mark.from.as_str()))?;
        set_aside(directory, &mark)?;
    } else {
        remove_sweep(ledger, &mark.to).await?;
        for kind in ["sweeps", "checkpoints"] {
            remove_folder(&blobs.join(kind).join(mark.to.as_str()))?;
        }
    }
    // Entries that the log loses would bring a sweep back beside the other.
    ledger.checkpoint().await.context("failed to bring the ledger's log into its file")?;
    let path = store.join(MARK);
    std::fs::remove_file(&path).with_context(|| format!("failed to remove {}", path.display()))
}

/// Removes the rows of `sweep`; nothing of it runs, whatever its state says.
async fn remove_sweep(ledger: &Ledger, sweep: &SweepId) -> anyhow::Result<()> {
    if ledger.sweep(sweep).await?.is_none() {
        return Ok(());
    }
    // Only what has ended can be removed.
    for (from, to) in [(SweepState::Running, SweepState::Cancelled), (SweepState::Tabulating, SweepState::Incomplete)] {
        ledger.transition(sweep, &[from], to, clock().now()).await?;
    }
    let is_removed = ledger.drop_sweep(sweep).await?;
    anyhow::ensure!(
        is_removed,
        "failed to remove {sweep} from the ledger: another process changed its state; try again"
    );
    Ok(())
}

/// Moves what the old sweep has left behind out of the way of what the new one will.
fn set_aside(directory: &Path, mark: &Mark) -> anyhow::Result<()> {
    let aside = place(directory, &mark.from);
    let failed = || format!("failed to set the files of {} aside in {}", mark.from, aside.display());
    own_folder(&directory.join(BEFORE)).with_context(failed)?;
    let left = directory.join("store/blobs/sweeps").join(mark.from.as_str());
    let is_there = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    if is_there(&left) && is_there(&aside) {
        // A ledger that was made anew has given the id out again.
        let mut names = (1_u32..).map(|number| directory.join(BEFORE).join(format!("{}-{number}", mark.from)));
        if let Some(earlier) = names.find(|path| !is_there(path)) {
            std::fs::rename(&aside, earlier).with_context(failed)?;
        }
    }
    match std::fs::rename(&left, &aside) {
        // It had left nothing, or was moved before.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        moved => moved.with_context(failed)?,
    }
    own_folder(&aside).with_context(failed)?;
    unlink_tree(&aside, directory).with_context(failed)?;
    regatta_files::write_durably(&aside.join("changed.json"), serde_json::to_vec_pretty(mark)?).with_context(failed)
}

/// Folder of what `sweep` has left behind, once its spec was changed.
pub(super) fn place(directory: &Path, sweep: &SweepId) -> PathBuf {
    directory.join(BEFORE).join(sweep.as_str())
}

fn remove_folder(folder: &Path) -> anyhow::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", folder.display()))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use jiff::Timestamp;
    use regatta_backends::{NewSweep, Quota};
    use regatta_proto::Digest;

    use super::*;

    /// A run's directory that holds two sweeps, and a file of each.
    async fn interrupted(stage: Stage) -> (tempfile::TempDir, Ledger) {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        std::fs::create_dir(&store).unwrap();
        let ledger = Ledger::sqlite(store.join("ledger.sqlite")).await.unwrap();
        for (number, name) in (0..).zip(["old", "new"]) {
            let sweep = NewSweep {
                id: name.parse().unwrap(),
                name: name.to_owned(),
                lock: Digest::of(name.as_bytes()),
                budget: None,
                created_at: Timestamp::from_second(number).unwrap(),
                cells: Vec::new(),
                shards: Vec::new(),
                owner: None,
                quota: Quota::default(),
                inputs: BTreeSet::new(),
            };
            ledger.create_sweep(sweep).await.unwrap();
            let left = store.join("blobs/sweeps").join(name).join("transcripts");
            std::fs::create_dir_all(&left).unwrap();
            std::fs::write(left.join(name), name).unwrap();
        }
        // What the old one has left is linked at the top.
        std::fs::create_dir(folder.path().join("transcripts")).unwrap();
        std::fs::write(folder.path().join("transcripts/old"), "old").unwrap();
        let [from, to] = ["old", "new"].map(|name| name.parse().unwrap());
        let (kept, left_out) = (Part::default(), Part::default());
        Mark { stage, from, to, changes: Vec::new(), kept, left_out }.write(&store).unwrap();
        (folder, ledger)
    }

    async fn held(ledger: &Ledger) -> Vec<String> {
        ledger.sweeps().await.unwrap().into_iter().map(|row| row.name).collect()
    }

    #[tokio::test]
    async fn a_copy_that_was_interrupted_is_removed_and_the_old_sweep_goes_on() {
        let (folder, ledger) = interrupted(Stage::Copying).await;
        for _ in 0..2 {
            settle(folder.path(), &ledger).await.unwrap();
            assert_eq!(held(&ledger).await, ["old"]);
        }
        let row = ledger.sweep(&"old".parse().unwrap()).await.unwrap().unwrap();
        assert_eq!(row.state, SweepState::Running);
        assert!(!folder.path().join("store/blobs/sweeps/new").exists());
        assert!(folder.path().join("transcripts/old").is_file());
    }

    #[tokio::test]
    async fn files_of_a_ledger_that_was_emptied_stay() {
        for stage in [Stage::Copying, Stage::Copied] {
            let (folder, ledger) = interrupted(stage).await;
            for name in ["old", "new"] {
                remove_sweep(&ledger, &name.parse().unwrap()).await.unwrap();
            }
            settle(folder.path(), &ledger).await.unwrap();
            for name in ["old", "new"] {
                let left = folder.path().join("store/blobs/sweeps").join(name).join("transcripts").join(name);
                assert!(left.is_file(), "{stage:?}: {name}");
            }
        }
    }

    #[tokio::test]
    async fn what_was_set_aside_before_under_the_same_id_stays() {
        let (folder, ledger) = interrupted(Stage::Copied).await;
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("before/old")).unwrap();
        std::fs::write(at("before/old/changed.json"), "earlier").unwrap();
        settle(folder.path(), &ledger).await.unwrap();
        assert_eq!(held(&ledger).await, ["new"]);
        assert!(at("before/old/transcripts/old").is_file());
        assert_eq!(std::fs::read_to_string(at("before/old-1/changed.json")).unwrap(), "earlier");
    }

    #[tokio::test]
    async fn once_all_is_copied_the_new_sweep_counts_wherever_the_rest_is_interrupted() {
        // Interrupted before anything, after the rows were removed, and after the files were moved.
        for done in 0..3 {
            let (folder, ledger) = interrupted(Stage::Copied).await;
            let at = |name: &str| folder.path().join(name);
            if done > 0 {
                remove_sweep(&ledger, &"old".parse().unwrap()).await.unwrap();
            }
            if done > 1 {
                std::fs::create_dir(at(BEFORE)).unwrap();
                std::fs::rename(at("store/blobs/sweeps/old"), at("before/old")).unwrap();
            }
            for _ in 0..2 {
                settle(folder.path(), &ledger).await.unwrap();
                assert_eq!(held(&ledger).await, ["new"]);
            }
            assert!(at("before/old/transcripts/old").is_file() && at("before/old/changed.json").is_file());
            assert!(at("store/blobs/sweeps/new/transcripts/new").is_file());
            assert!(!at("transcripts/old").exists() && !at("store/changing.json").exists());
            // A log that is lost brings nothing back.
            std::fs::copy(at("store/ledger.sqlite"), at("without-log.sqlite")).unwrap();
            assert_eq!(held(&Ledger::sqlite(at("without-log.sqlite")).await.unwrap()).await, ["new"]);
        }
    }
}
