//! Reservations that outlive their process: what every account has granted, in a small file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use regatta_proto::{AccountId, Money};
use serde::{Deserialize, Serialize};

/// Most bytes of the file: some thousand accounts.
const BYTES_MAX: u64 = 1024 * 1024;

/// Grants of each account: spent, possibly spent, and allowed to be sent together. Written before a grant is told, so that a process that
/// dies has spent no more than the file says.
#[derive(Debug)]
pub(super) struct KeptGrants {
    path: PathBuf,
    written: Mutex<BTreeMap<AccountId, Money>>,
}

/// One account in the file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    account: AccountId,
    granted_nanodollars: Money,
}

impl KeptGrants {
    /// Reads the file at `path`; where there is none, nothing was granted.
    ///
    /// # Errors
    /// When it cannot be read, or is damaged.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let lines: Vec<Line> = match File::open(path) {
            Ok(file) if file.metadata()?.len() > BYTES_MAX => return Err(damaged("it is too large")),
            Ok(file) => serde_json::from_reader(io::BufReader::new(file)).map_err(damaged)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let written = lines.into_iter().map(|line| (line.account, line.granted_nanodollars)).collect();
        Ok(Self { path: path.to_owned(), written: Mutex::new(written) })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Sum of the grants of `account`, those of past processes included.
    pub(super) fn granted(&self, account: &AccountId) -> Money {
        self.known(account).unwrap_or(Money::ZERO)
    }

    /// Amount granted to `account`; `None` if nothing was ever granted.
    pub(super) fn known(&self, account: &AccountId) -> Option<Money> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner).get(account).copied()
    }

    /// Makes durable that `granted` of `account` may be spent. Writes nothing when that is no news.
    ///
    /// # Errors
    /// When it cannot be written; then the grant must not be told.
    pub(super) fn keep(&self, account: &AccountId, granted: Money) -> io::Result<()> {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.get(account) == Some(&granted) {
            return Ok(());
        }
        let mut next = written.clone();
        next.insert(account.clone(), granted);
        self.write(&next)?;
        *written = next;
        Ok(())
    }

    fn write(&self, granted: &BTreeMap<AccountId, Money>) -> io::Result<()> {
        let lines =
            granted.iter().map(|(account, granted)| Line { account: account.clone(), granted_nanodollars: *granted });
        regatta_files::write_durably(&self.path, serde_json::to_vec(&lines.collect::<Vec<_>>())?)
    }
}

fn damaged(reason: impl std::fmt::Display) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("it is damaged: {reason}"))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn account(sweep: &str) -> AccountId {
        AccountId { sweep: sweep.parse().unwrap(), model: None }
    }

    #[test]
    fn what_was_granted_is_known_to_the_next_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.json");
        let kept = KeptGrants::open(&path).unwrap();
        assert_eq!(kept.granted(&account("s")), Money::ZERO);
        kept.keep(&account("s"), Money(70)).unwrap();
        kept.keep(&account("t"), Money(5)).unwrap();
        kept.keep(&account("s"), Money(40)).unwrap();
        let next = KeptGrants::open(&path).unwrap();
        assert_eq!((next.granted(&account("s")), next.granted(&account("t"))), (Money(40), Money(5)));
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("accounts.json");
        for text in ["", "[{", "{}", r#"[{"account":{"sweep":"s","model":null},"granted_nanodollars":-1}]"#] {
            fs::write(&path, text).unwrap();
            assert!(KeptGrants::open(&path).is_err(), "{text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
    }

    #[test]
    fn grants_are_their_owners_alone_and_written_through_no_link() {
        let folder = tempfile::tempdir().unwrap();
        let (path, elsewhere) = (folder.path().join("accounts.json"), folder.path().join("elsewhere"));
        symlink(&elsewhere, &path).unwrap();
        let kept = KeptGrants::open(&path).unwrap();
        for granted in [Money(70), Money(40)] {
            kept.keep(&account("s"), granted).unwrap();
            let found = fs::symlink_metadata(&path).unwrap();
            assert!(found.is_file() && !elsewhere.exists());
            assert_eq!(found.permissions().mode() & 0o777, 0o600);
            // Whatever was made on the way has the name now.
            assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
            fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }

    #[test]
    fn a_grant_that_cannot_be_written_is_not_given() {
        let folder = tempfile::tempdir().unwrap();
        let kept = KeptGrants::open(&folder.path().join("gone").join("accounts.json")).unwrap();
        assert!(kept.keep(&account("s"), Money(70)).is_err());
        assert_eq!(kept.granted(&account("s")), Money::ZERO);
    }
}
