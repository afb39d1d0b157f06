//! Objects as files in a folder, written so that a crash leaves the old or the new file.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use futures::{StreamExt as _, stream};
use jiff::Timestamp;

use super::{BlobError, DatedObject, LISTED_KEYS_MAX, OBJECT_BYTES_MAX, ObjectStream};

/// Folder in which files are written before they are renamed. No key leads here, because parts of keys do not begin with '.'.
const UNFINISHED: &str = ".unfinished";
/// Size of the pieces in which a file is read, in bytes.
const PIECE_BYTES: u64 = 64 << 10;

/// Files below one folder.
#[derive(Debug, Clone)]
pub struct DirectoryBlobs {
    root: Arc<Path>,
    /// Counter in the names of unfinished files.
    written: Arc<AtomicU64>,
}

impl DirectoryBlobs {
    pub(super) fn new(root: PathBuf) -> Result<Self, BlobError> {
        let unfinished = root.join(UNFINISHED);
        fs::create_dir_all(&unfinished).map_err(failed("make the folder", &unfinished))?;
        Ok(Self { root: root.into(), written: Arc::default() })
    }

    pub(super) fn place(&self, key: &str) -> String {
        self.root.join(key).display().to_string()
    }

    pub(super) async fn put(&self, key: &str, bytes: Bytes) -> Result<(), BlobError> {
        let (path, store) = (self.root.join(key), self.clone());
        blocking("write", path, move |path| store.write(path, &bytes)).await
    }

    /// Stores the file at `from`.
    pub(super) async fn put_file(&self, key: &str, from: &Path) -> Result<(), BlobError> {
        let (path, store, from) = (self.root.join(key), self.clone(), from.to_owned());
        blocking("write", path, move |path| {
            let mut content = File::open(&from).map_err(failed("read", &from))?;
            store.write_from(path, &mut content)
        })
        .await
    }

    pub(super) async fn get(&self, key: &str) -> Result<Option<Bytes>, BlobError> {
        blocking("read", self.root.join(key), read).await
    }

    pub(super) async fn open(&self, key: &str) -> Result<Option<ObjectStream>, BlobError> {
        let path = self.root.join(key);
        let opened = blocking("read", path.clone(), |path| open(path).map_err(failed("read", path))).await?;
        let Some((file, bytes)) = opened else { return Ok(None) };
        let pieces = stream::try_unfold(file, move |mut file| {
            blocking("read", path.clone(), move |path| {
                let mut piece = Vec::new();
                (&mut file).take(PIECE_BYTES).read_to_end(&mut piece).map_err(failed("read", path))?;
                Ok((!piece.is_empty()).then(|| (Bytes::from(piece), file)))
            })
        });
        Ok(Some(ObjectStream { bytes, pieces: pieces.boxed() }))
    }

    /// Deletes the file, but no folders, because another process may be writing into them.
    pub(super) async fn delete(&self, key: &str) -> Result<(), BlobError> {
        blocking("delete", self.root.join(key), |path| {
            found(fs::remove_file(path)).map(drop).map_err(failed("delete", path))
        })
        .await
    }

    pub(super) async fn size(&self, key: &str) -> Result<Option<u64>, BlobError> {
        blocking("look at", self.root.join(key), |path| {
            Ok(found(fs::metadata(path))
                .map_err(failed("look at", path))?
                .filter(fs::Metadata::is_file)
                .map(|file| file.len()))
        })
        .await
    }

    pub(super) async fn list(&self, prefix: &str) -> Result<Vec<String>, BlobError> {
        let (root, prefix) = (Arc::clone(&self.root), prefix.to_owned());
        // Only the folder that is common to all such keys is walked.
        let folder = prefix.rfind('/').map_or("", |slash| &prefix[..slash]).to_owned();
        blocking("list", self.root.join(&folder), move |path| {
            let mut keys = Vec::new();
            let mut folders = vec![(path.to_owned(), folder)];
            while let Some((path, folder)) = folders.pop() {
                for (name, is_folder) in entries(&path).map_err(failed("list", &path))? {
                    let key = if folder.is_empty() { name.clone() } else { format!("{folder}/{name}") };
                    if is_folder {
                        folders.push((path.join(name), key));
                    } else if key.starts_with(&prefix) {
                        keys.push(key);
                    }
                    if keys.len() > LISTED_KEYS_MAX {
                        return Err(BlobError::TooMany {
                            place: root.join(&prefix).display().to_string(),
                            limit: LISTED_KEYS_MAX,
                        });
                    }
                }
            }
            keys.sort_unstable();
            Ok(keys)
        })
        .await
    }

    pub(super) async fn list_dated(&self, prefix: &str) -> Result<Vec<DatedObject>, BlobError> {
        let keys = self.list(prefix).await?;
        let root = Arc::clone(&self.root);
        blocking("look at", self.root.join(prefix), move |_| {
            let mut objects = Vec::with_capacity(keys.len());
            for key in keys {
                let path = root.join(&key);
                // Another process may have deleted it since.
                let Some(file) = found(fs::metadata(&path)).map_err(failed("look at", &path))? else { continue };
                let written_at = file.modified().ok().and_then(|time| Timestamp::try_from(time).ok());
                objects.push(DatedObject { key, bytes: file.len(), written_at });
            }
            Ok(objects)
        })
        .await
    }

    fn write(&self, path: &Path, mut bytes: &[u8]) -> Result<(), BlobError> {
        self.write_from(path, &mut bytes)
    }

    fn write_from(&self, path: &Path, content: &mut dyn Read) -> Result<(), BlobError> {
        let folder = path.parent().unwrap_or(&self.root);
        fs::create_dir_all(folder).map_err(failed("make the folder", folder))?;
        let (mut file, unfinished) = self.unfinished_file()?;
        let written = io::copy(content, &mut file).and_then(|_| file.sync_all());
        let named = written
            .map_err(failed("write", &unfinished))
            .and_then(|()| fs::rename(&unfinished, path).map_err(failed("write", path)));
        if named.is_err() {
            // The earlier error is reported.
            let _ = fs::remove_file(&unfinished);
        }
        named?;
        // A rename is durable only after its folder is synced.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write", folder))
    }

    fn unfinished_file(&self) -> Result<(File, PathBuf), BlobError> {
        loop {
            let number = self.written.fetch_add(1, Ordering::Relaxed);
            let path = self.root.join(UNFINISHED).join(format!("{}-{number}", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok((file, path)),
                // Left by a crash, or created by a process with the same id on another machine.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => return Err(failed("write", &path)(error)),
            }
        }
    }
}

/// The file at `path` with its size; `None` if there is none.
fn open(path: &Path) -> io::Result<Option<(File, u64)>> {
    let Some(file) = found(File::open(path))? else { return Ok(None) };
    let metadata = file.metadata()?;
    Ok(metadata.is_file().then_some((file, metadata.len())))
}

fn read(path: &Path) -> Result<Option<Bytes>, BlobError> {
    let Some((file, size)) = open(path).map_err(failed("read", path))? else { return Ok(None) };
    if size > OBJECT_BYTES_MAX {
        return Err(BlobError::TooLarge { place: path.display().to_string(), bytes: size, limit: OBJECT_BYTES_MAX });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0));
    file.take(OBJECT_BYTES_MAX).read_to_end(&mut bytes).map_err(failed("read", path))?;
    Ok(Some(bytes.into()))
}

/// Names in a folder that can be parts of keys, each with `true` for a folder; empty if the folder does not exist.
fn entries(path: &Path) -> io::Result<Vec<(String, bool)>> {
    let Some(entries) = found(fs::read_dir(path))? else { return Ok(Vec::new()) };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry?;
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
        {
            names.push((name, entry.file_type()?.is_dir()));
        }
    }
    Ok(names)
}

/// Turns the error "not found" into `None`, also if a part of the path is a file.
fn found<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> BlobError {
    let path = path.to_owned();
    move |source| BlobError::Io { action, path, source }
}

async fn blocking<T: Send + 'static>(
    action: &'static str,
    path: PathBuf,
    work: impl FnOnce(&Path) -> Result<T, BlobError> + Send + 'static,
) -> Result<T, BlobError> {
    let of_task = path.clone();
    match tokio::task::spawn_blocking(move || work(&of_task)).await {
        Ok(result) => result,
        Err(lost) => Err(failed(action, &path)(io::Error::other(lost))),
    }
}
