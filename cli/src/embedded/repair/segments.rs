//! Segments of transcripts: each is in the run's store and, linked, in its directory. What one has lost the other may have.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::Context;
use bytes::Bytes;
use regatta_backends::Blobs;
use regatta_catalog::is_intact;
use regatta_proto::SweepId;

use super::workshop::Workshop;

/// Segments of a sweep that are not what they were; each is called as the ledger calls it.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Survey {
    /// Missing or damaged in the store, and whole in the run's directory.
    pub(super) restorable: Vec<String>,
    /// Damaged.
    pub(super) damaged: Vec<String>,
    /// Known to the ledger, and nowhere.
    pub(super) missing: Vec<String>,
}

/// Transcripts of one run.
pub(super) struct Segments<'a> {
    pub(super) directory: &'a Path,
    pub(super) sweep: &'a SweepId,
    /// Folder of `blobs`.
    pub(super) root: &'a Path,
    pub(super) blobs: &'a Blobs,
}

impl Segments<'_> {
    /// Reads all segments that are stored, or that the ledger knows.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(super) async fn survey(&self, known: &BTreeSet<String>) -> anyhow::Result<Survey> {
        let place = format!("sweeps/{}/", self.sweep);
        let stored = self.blobs.list(&format!("{place}transcripts/")).await?;
        let stored: BTreeSet<String> =
            stored.iter().map(|key| key.strip_prefix(&place).unwrap_or(key).to_owned()).collect();
        let linked = self.linked()?;
        let mut survey = Survey::default();
        for segment in stored.iter().chain(&linked).chain(known).collect::<BTreeSet<_>>() {
            let content = self.blobs.get(&self.key(segment)).await?;
            if content.as_ref().is_some_and(|content| is_intact(segment, content)) {
                continue;
            }
            let other = fs::read(self.directory.join(segment)).ok();
            let into = if other.is_some_and(|other| is_intact(segment, &other)) {
                &mut survey.restorable
            } else if content.is_some() || linked.contains(segment) {
                &mut survey.damaged
            } else {
                &mut survey.missing
            };
            into.push(segment.clone());
        }
        Ok(survey)
    }

    /// Puts the whole copies into the store, and sets damaged segments aside in both places, so that nothing is read from them. Without a
    /// place for what is set aside, the store is a copy, and the run's directory is left alone.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub(super) async fn mend(&self, survey: &Survey, workshop: Option<&Workshop>) -> anyhow::Result<()> {
        for segment in &survey.restorable {
            let path = self.directory.join(segment);
            let content = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
            self.blobs.put(&self.key(segment), Bytes::from(content)).await?;
        }
        for segment in &survey.damaged {
            match workshop {
                Some(workshop) => {
                    workshop.set_aside(&self.directory.join(segment))?;
                    workshop.set_aside(&self.root.join(self.key(segment)))?;
                }
                None => self.blobs.delete(&self.key(segment)).await?,
            }
        }
        Ok(())
    }

    fn key(&self, segment: &str) -> String {
        format!("sweeps/{}/{segment}", self.sweep)
    }

    /// Segments in the run's directory.
    fn linked(&self) -> anyhow::Result<BTreeSet<String>> {
        let folder = self.directory.join("transcripts");
        if !folder.is_dir() {
            return Ok(BTreeSet::new());
        }
        let failed = || format!("failed to list {}", folder.display());
        let mut linked = BTreeSet::new();
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let name = entry.with_context(failed)?.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".jsonl.zst") {
                linked.insert(format!("transcripts/{name}"));
            }
        }
        Ok(linked)
    }
}
