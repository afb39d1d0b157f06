//! Space of a run that is taken while there is some: what was paid for is kept in it when the stores cannot be written any more, because
//! the disk is full, files may not grow, or the directory was made read-only. The run's next start records it.
//!
//! The file is as long as it will ever be from the start, and stays open. It begins with a header, which is written last:
//!
//! | bytes | |
//! |---|---|
//! | 8 | [`MAGIC`], or zeros while nothing is kept |
//! | 8 | length of what follows the header, little-endian |
//! | 32 | its digest |
//!
//! After it come reports, each as on the wire and after its length in four bytes, little-endian.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use regatta_proto::{Digest, Report, SessionOutcome, wire};

const MAGIC: [u8; 8] = *b"REGATTA1";
const HEADER: usize = 8 + 8 + 32;
/// Sizes to try, in bytes: the largest that there is space for.
const SIZES: [usize; 4] = [16 << 20, 4 << 20, 1 << 20, 256 << 10];

/// A run's reserve.
#[derive(Debug)]
pub(crate) struct Reserve {
    path: PathBuf,
    file: File,
    bytes: usize,
}

/// Numbers of reports that were to be kept, by what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// As they are.
    pub(crate) whole: usize,
    /// Without their transcripts: what they cost is kept, and their sessions run again.
    pub(crate) reduced: usize,
    /// Not at all.
    pub(crate) lost: usize,
}

impl Reserve {
    /// Opens the reserve at `path`, or makes one; with the reports that an earlier run left in it.
    ///
    /// # Errors
    /// When there is no space for one, or what it holds is damaged.
    pub(crate) fn open(path: &Path) -> anyhow::Result<(Self, Vec<Report>)> {
        let failed = || format!("failed to open the reserve {}", path.display());
        let mut file =
            File::options().read(true).write(true).create(true).truncate(false).open(path).with_context(failed)?;
        let present = usize::try_from(file.metadata().with_context(failed)?.len()).unwrap_or(usize::MAX);
        let reports = read(&mut file, present).with_context(failed)?;
        let is_enough = SIZES.contains(&present);
        let bytes = if is_enough || !reports.is_empty() {
            present
        } else {
            allocate(&mut file).with_context(|| {
                format!(
                    "failed to set aside {} KB in {}: free some space first",
                    SIZES[SIZES.len() - 1] >> 10,
                    path.display()
                )
            })?
        };
        Ok((Self { path: path.to_owned(), file, bytes }, reports))
    }

    /// Reads the reserve at `path`, if there is one, and changes nothing.
    ///
    /// # Errors
    /// When it cannot be read, or what it holds is damaged.
    pub(crate) fn check(path: &Path) -> anyhow::Result<()> {
        let mut file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            opened => opened?,
        };
        let present = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        read(&mut file, present)?;
        Ok(())
    }

    /// Keeps `reports`, in place of what was kept before.
    ///
    /// # Errors
    /// When not even this file can be written.
    pub(crate) fn keep(&mut self, reports: &[Report]) -> io::Result<Kept> {
        let (mut content, mut kept) = (Vec::new(), Kept::default());
        let room = self.bytes - HEADER;
        // What is small goes first, so that of what is large as little as possible is left out.
        let mut encoded: Vec<_> = reports.iter().map(|report| (report, report.encode_compact())).collect();
        encoded.sort_by_key(|(_, bytes)| bytes.as_ref().map_or(usize::MAX, |bytes| bytes.len()));
        for (report, bytes) in encoded {
            let fits = |bytes: &[u8]| content.len() + 4 + bytes.len() <= room;
            let whole = bytes.ok().filter(|bytes| fits(bytes));
            let reduced =
                whole.is_none().then(|| wire::encode(&reduced(report)).ok().filter(|bytes| fits(bytes))).flatten();
            let count = match (&whole, &reduced) {
                (Some(_), _) => &mut kept.whole,
                (None, Some(_)) => &mut kept.reduced,
                (None, None) => &mut kept.lost,
            };
            *count += 1;
            if let Some(bytes) = whole.or(reduced) {
                content.extend(u32::try_from(bytes.len()).map_err(io::Error::other)?.to_le_bytes());
                content.extend(&bytes);
            }
        }
        self.write_at(HEADER, &content)?;
        self.file.sync_data()?;
        let mut header = MAGIC.to_vec();
        header.extend((content.len() as u64).to_le_bytes());
        header.extend(Digest::of(&content).bytes());
        self.write_at(0, &header)?;
        self.file.sync_data()?;
        Ok(kept)
    }

    /// Forgets what was kept: it is recorded.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        self.write_at(0, &[0; HEADER])?;
        self.file.sync_data()
    }

    /// Gives the space back.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub(crate) fn remove(self) -> io::Result<()> {
        std::fs::remove_file(&self.path)
    }

    fn write_at(&mut self, position: usize, bytes: &[u8]) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(position as u64))?;
        self.file.write_all(bytes)
    }
}

/// Writes zeros, because a file that is merely as long has no space of its own yet. Returns how many.
fn allocate(file: &mut File) -> io::Result<usize> {
    let mut last = None;
    for bytes in SIZES {
        file.set_len(0)?;
        file.seek(SeekFrom::Start(0))?;
        match file.write_all(&vec![0; bytes]).and_then(|()| file.sync_data()) {
            Ok(()) => return Ok(bytes),
            Err(error) => last = Some(error),
        }
    }
    file.set_len(0)?;
    Err(last.unwrap_or_else(|| io::Error::other("no size is tried")))
}

fn read(file: &mut File, length: usize) -> anyhow::Result<Vec<Report>> {
    const DAMAGED: &str = "what it holds is damaged; remove it to go on without, then the sessions in it run again";
    let mut header = [0; HEADER];
    if length < HEADER {
        return Ok(Vec::new());
    }
    file.read_exact(&mut header)?;
    let (magic, rest) = header.split_at(8);
    if magic == [0; 8] {
        return Ok(Vec::new());
    }
    anyhow::ensure!(magic == MAGIC, DAMAGED);
    let (bytes, digest) = rest.split_at(8);
    let bytes = usize::try_from(u64::from_le_bytes(bytes.try_into()?))?;
    anyhow::ensure!(bytes <= length - HEADER, DAMAGED);
    let mut content = vec![0; bytes];
    file.read_exact(&mut content)?;
    anyhow::ensure!(Digest::of(&content).bytes() == digest, DAMAGED);
    let (mut reports, mut rest) = (Vec::new(), content.as_slice());
    while let Some((size, after)) = rest.split_first_chunk::<4>() {
        let (report, after) = after.split_at_checked(u32::from_le_bytes(*size) as usize).context(DAMAGED)?;
        reports.push(wire::decode(report)?);
        rest = after;
    }
    Ok(reports)
}

/// Reduces a session's end to its cost, without what was said in it.
fn reduced(report: &Report) -> Report {
    match report {
        Report::Session(outcome) => {
            let SessionOutcome { key, attempt, transcript, .. } = &**outcome;
            let totals = transcript.totals_of(attempt.number);
            Report::HandedOver { key: key.clone(), attempt: attempt.clone(), totals, taken_over: false }
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;
    use regatta_proto::{Attempt, CellIndex, Event, ItemIndex, Outcome, Reply, SessionKey, Transcript};

    use super::*;

    fn ended(item: u32, text: &str) -> Report {
        let at = Timestamp::UNIX_EPOCH;
        let attempt = Attempt {
            id: format!("w-{item}").parse().unwrap(),
            number: 1,
            worker: "w".parse().unwrap(),
            started_at: at,
            ended_at: at,
        };
        Report::Session(Box::new(SessionOutcome {
            key: SessionKey { sweep: "s".parse().unwrap(), cell: CellIndex(0), item: ItemIndex(item) },
            lock: Digest::of(b"lock"),
            attempt,
            outcome: Outcome::Measured,
            transcript: Transcript { events: vec![Event::Recorded(Reply::said(text))] },
        }))
    }

    #[test]
    fn what_is_kept_is_found_by_the_next_start_until_it_is_cleared() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let (mut reserve, nothing) = Reserve::open(&path).unwrap();
        assert_eq!(nothing, []);
        let reports = [ended(1, "one"), ended(2, "two")];
        assert_eq!(reserve.keep(&reports).unwrap(), Kept { whole: 2, ..Kept::default() });
        let (mut reserve, found) = Reserve::open(&path).unwrap();
        assert_eq!(found, reports);
        reserve.clear().unwrap();
        let (reserve, nothing) = Reserve::open(&path).unwrap();
        assert_eq!(nothing, []);
        reserve.remove().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn its_space_is_taken_at_the_start_and_keeping_takes_no_more() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let (mut reserve, _) = Reserve::open(&path).unwrap();
        let before = std::fs::metadata(&path).unwrap();
        assert!(before.blocks() * 512 >= 16 << 20);
        reserve.keep(&[ended(1, &"long ".repeat(10_000))]).unwrap();
        let after = std::fs::metadata(&path).unwrap();
        assert_eq!((after.len(), after.blocks()), (before.len(), before.blocks()));
    }

    #[test]
    fn of_what_does_not_fit_at_least_the_cost_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let (mut reserve, _) = Reserve::open(&path).unwrap();
        reserve.bytes = HEADER + 1200;
        // Digests do not compress.
        let large: String = (0..100_u32).map(|number| Digest::of(&number.to_le_bytes()).to_string()).collect();
        let kept = reserve.keep(&[ended(1, &large), ended(2, "short")]).unwrap();
        assert_eq!(kept, Kept { whole: 1, reduced: 1, lost: 0 });
        let (_, found) = Reserve::open(&path).unwrap();
        assert!(
            matches!(&found[..], [Report::Session(_), Report::HandedOver { key, .. }] if key.item == ItemIndex(1)),
            "{found:?}"
        );
    }

    #[test]
    fn damage_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reserve");
        let (mut reserve, _) = Reserve::open(&path).unwrap();
        reserve.keep(&[ended(1, "one")]).unwrap();
        reserve.write_at(HEADER + 9, b"?").unwrap();
        let error = format!("{:#}", Reserve::open(&path).unwrap_err());
        assert!(
            error.ends_with("what it holds is damaged; remove it to go on without, then the sessions in it run again"),
            "{error}"
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn no_content_of_the_file_makes_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..400), is_marked: bool) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("reserve");
            let marked = if is_marked { MAGIC.to_vec() } else { Vec::new() };
            std::fs::write(&path, [marked, bytes].concat()).unwrap();
            let _ = Reserve::open(&path);
        }
    }
}
