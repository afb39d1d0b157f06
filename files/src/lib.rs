//! Files and folders that are their owner's alone: what models said, what was paid, how it was scored.
//!
//! One rule for every file that a command writes, whoever chose its name: it is a new file of this user's (0600) in the same folder, which
//! takes the name once it is whole. What stood under the name, a link too, is replaced and not followed. Only what is no file is written
//! to as it is, because it cannot be replaced: a device or a pipe, and everything below `/dev` and `/proc` (`/dev/stdout`, `>(…)`), where
//! nobody else may write the folder. A file that grows by lines (`append_line`) keeps what it has, and is never a link.

mod appending;
mod folder;
mod locking;
mod reading;

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

pub use self::appending::{append_line, read_lines_within};
pub use self::folder::{FolderError, own_folder};
pub use self::locking::{is_locked, open_lock, try_lock};
pub use self::reading::read_within;

const FILE_MODE: u32 = 0o600;

/// From now on nobody else may read what this process makes, folders and files of libraries included.
pub fn keep_private() {
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
}

/// A file that is being written, and has its name only once it is whole. Dropped before, nothing is left of it.
#[derive(Debug)]
pub struct PrivateFile(Target);

#[derive(Debug)]
enum Target {
    New { file: BufWriter<NamedTempFile>, path: PathBuf },
    Stream(File),
}

impl PrivateFile {
    /// Begins the file at `path`.
    ///
    /// # Errors
    /// When nothing can be written into the folder, or `path` is a folder.
    pub fn create(path: &Path) -> io::Result<Self> {
        let folder = folder_of(path);
        if is_stream(path, folder) {
            return Ok(Self(Target::Stream(OpenOptions::new().write(true).open(path)?)));
        }
        if fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()) {
            return Err(io::Error::from(io::ErrorKind::IsADirectory));
        }
        let file = tempfile::Builder::new().prefix(".regatta-").tempfile_in(folder)?;
        Ok(Self(Target::New { file: BufWriter::new(file), path: path.to_owned() }))
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When the rest cannot be written, or the name belongs to something that this user may not replace.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Target::New { file, path } => {
                let file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
                file.persist(path)?;
                Ok(())
            }
            Target::Stream(mut file) => file.flush(),
        }
    }

    /// The same, and returns only once content and name would survive a loss of power.
    ///
    /// # Errors
    /// As [`Self::finish`]'s; and when the disk does not take it.
    pub fn finish_durably(mut self) -> io::Result<()> {
        let Target::New { file, path } = &mut self.0 else { return self.finish() };
        file.flush()?;
        file.get_ref().as_file().sync_all()?;
        let folder = File::open(folder_of(path))?;
        self.finish()?;
        folder.sync_all()
    }
}

impl Write for PrivateFile {
    fn write(&mut self, content: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Target::New { file, .. } => file.write(content),
            Target::Stream(file) => file.write(content),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Target::New { file, .. } => file.flush(),
            Target::Stream(file) => file.flush(),
        }
    }
}

impl Seek for PrivateFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match &mut self.0 {
            Target::New { file, .. } => file.seek(to),
            Target::Stream(file) => file.seek(to),
        }
    }
}

/// Writes `content` to the file at `path`, whole or not at all.
///
/// # Errors
/// As [`PrivateFile`]'s.
pub fn write(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = PrivateFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.finish()
}

/// The same, and returns only once the file would survive a loss of power.
///
/// # Errors
/// As [`PrivateFile::finish_durably`]'s.
pub fn write_durably(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    let mut file = PrivateFile::create(path)?;
    file.write_all(content.as_ref())?;
    file.finish_durably()
}

/// Copies the content of `from`, without its mode, to the file at `to`.
///
/// # Errors
/// When `from` cannot be read; and as [`PrivateFile`]'s.
pub fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut content = File::open(from)?;
    let mut file = PrivateFile::create(to)?;
    io::copy(&mut content, &mut file)?;
    file.finish()
}

/// The flag as rustix has it for this system; a link in the place of the file is an error then.
const fn no_follow() -> i32 {
    rustix::fs::OFlags::NOFOLLOW.bits().cast_signed()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// `true` for what cannot be replaced, and that nobody else can have put there.
fn is_stream(path: &Path, folder: &Path) -> bool {
    let is_of_system = || {
        let folder = fs::canonicalize(folder).unwrap_or_default();
        folder.starts_with("/dev") || folder.starts_with("/proc")
    };
    let is_no_file = || {
        let kind = fs::symlink_metadata(path).map(|found| found.file_type());
        kind.is_ok_and(|kind| kind.is_fifo() || kind.is_char_device() || kind.is_block_device())
    };
    folder::is_closed_to_others(folder) && (is_no_file() || is_of_system())
}

#[cfg(test)]
mod tests;
