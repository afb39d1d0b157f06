//! The store of data sets, transcripts and reports: a folder, or an S3 bucket with a prefix. Keys and bytes are the same in both.

mod directory;
mod error;
#[cfg(feature = "cluster")]
mod https;
mod key;
#[cfg(feature = "faults")]
mod memory;
#[cfg(feature = "cluster")]
mod s3;

use bytes::Bytes;
pub use directory::DirectoryBlobs;
pub use error::BlobError;
use futures::future::BoxFuture;
use futures::stream::BoxStream;
use jiff::Timestamp;
use key::{check_key, check_prefix};
#[cfg(feature = "faults")]
pub use memory::MemoryBlobs;
use regatta_proto::Digest;
#[cfg(feature = "cluster")]
pub use s3::{S3Blobs, S3Config};

/// Largest object in bytes; objects are held in memory as a whole.
pub const OBJECT_BYTES_MAX: u64 = 1 << 30;

/// Most keys that [`Blobs::list`] returns.
pub const LISTED_KEYS_MAX: usize = 1_000_000;

/// Folders that cached responses are spread over.
const RESPONSES: &str = "answers";

/// An object of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatedObject {
    /// Key of the object.
    pub key: String,
    /// Size in bytes.
    pub bytes: u64,
    /// When it was last written, by the store's own clock; `None` where the store does not tell.
    pub written_at: Option<Timestamp>,
}

/// An object that is read piece by piece, as it was when it was opened.
pub struct ObjectStream {
    /// Size of the object.
    pub bytes: u64,
    /// Pieces of the object, in order; an error is the last item.
    pub pieces: BoxStream<'static, Result<Bytes, BlobError>>,
}

/// A store of objects; clones share it.
#[derive(Debug, Clone)]
pub enum Blobs {
    /// Files in a folder.
    Directory(DirectoryBlobs),
    #[cfg(feature = "cluster")]
    /// Objects in a bucket.
    S3(S3Blobs),
    #[cfg(feature = "faults")]
    /// Objects in memory, for simulations.
    Memory(MemoryBlobs),
}

/// Blob stores for simulations.
#[cfg(feature = "faults")]
impl Blobs {
    /// Objects in memory, of which [`Self::troubled`] returns views for simulated processes.
    #[must_use]
    pub fn memory() -> Self {
        Self::Memory(MemoryBlobs::new())
    }

    /// The view of a process that suffers `troubles`. Only stores in memory have such views; others are returned unchanged.
    #[must_use]
    pub fn troubled(&self, troubles: crate::faults::Troubles) -> Self {
        match self {
            Self::Memory(memory) => Self::Memory(memory.troubled(troubles)),
            other => other.clone(),
        }
    }
}

impl Blobs {
    /// A store of files below `root`, which is created if it does not exist.
    ///
    /// # Errors
    /// When the folder cannot be created.
    pub fn directory(root: impl Into<std::path::PathBuf>) -> Result<Self, BlobError> {
        DirectoryBlobs::new(root.into()).map(Self::Directory)
    }

    /// A store in an existing bucket. Credentials come from the sources of AWS's tools: environment, profile, web identity, container,
    /// instance. Nothing is sent before the first use.
    ///
    /// # Errors
    /// When bucket or prefix are not allowed.
    #[cfg(feature = "cluster")]
    pub fn s3(config: S3Config) -> BoxFuture<'static, Result<Self, BlobError>> {
        Box::pin(async move { S3Blobs::new(config).await.map(Self::S3) })
    }

    /// Stores an object, replacing the old one. Readers see the old or the new object, never a part.
    ///
    /// # Errors
    /// When the key is not allowed, the object is too large, or the store fails.
    pub fn put<'a>(&'a self, key: &'a str, bytes: Bytes) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            check_key(key)?;
            self.check_size(key, bytes.len() as u64)?;
            match self {
                Self::Directory(directory) => directory.put(key, bytes).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.put(key, bytes).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.put(key, bytes).await,
            }
        })
    }

    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    /// When the key is not allowed, the object is too large, or the store fails.
    pub fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<Bytes>, BlobError>> {
        Box::pin(async move {
            check_key(key)?;
            match self {
                Self::Directory(directory) => directory.get(key).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.get(key).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.get(key).await,
            }
        })
    }

    /// Opens an object of any size, of which one piece at a time is in memory; `None` if there is none.
    ///
    /// # Errors
    /// When the key is not allowed, or the store fails.
    pub fn open<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<ObjectStream>, BlobError>> {
        Box::pin(async move {
            check_key(key)?;
            match self {
                Self::Directory(directory) => directory.open(key).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.open(key).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.open(key).await,
            }
        })
    }

    /// Stores content under its own digest, and returns that. Only checks the size if it is stored already.
    ///
    /// # Errors
    /// When it is too large, or the store fails.
    pub fn put_content<'a>(&'a self, bytes: Bytes) -> BoxFuture<'a, Result<Digest, BlobError>> {
        Box::pin(async move {
            let digest = Digest::of(&bytes);
            let key = content_key(&digest);
            // Content of another size is damaged; storing it again repairs it.
            if self.size(&key).await? != Some(bytes.len() as u64) {
                self.put(&key, bytes).await?;
            }
            Ok(digest)
        })
    }

    /// Stores the content of the file at `path`, which has `bytes` bytes and this digest, without holding it in memory. Only checks the
    /// size if it is stored already.
    ///
    /// # Errors
    /// When it is too large or cannot be read, or the store fails.
    pub fn put_content_file<'a>(
        &'a self,
        digest: &'a Digest,
        path: &'a std::path::Path,
        bytes: u64,
    ) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            let key = content_key(digest);
            self.check_size(&key, bytes)?;
            if self.size(&key).await? == Some(bytes) {
                return Ok(());
            }
            match self {
                Self::Directory(directory) => directory.put_file(&key, path).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.put_file(&key, path, digest).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => match std::fs::read(path) {
                    Ok(content) => memory.put(&key, content.into()).await,
                    Err(source) => Err(BlobError::Io { action: "read", path: path.to_owned(), source }),
                },
            }
        })
    }

    /// Size of the content in bytes; `None` if it is not stored.
    ///
    /// # Errors
    /// When the store fails.
    pub fn content_size<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Option<u64>, BlobError>> {
        Box::pin(async move { self.size(&content_key(digest)).await })
    }

    /// Reads content and verifies its digest.
    ///
    /// # Errors
    /// When it is not stored, or has another digest.
    pub fn get_content<'a>(&'a self, digest: &'a Digest) -> BoxFuture<'a, Result<Bytes, BlobError>> {
        Box::pin(async move {
            let key = content_key(digest);
            let Some(bytes) = self.get(&key).await? else {
                return Err(BlobError::MissingContent { digest: *digest, place: self.place(&key) });
            };
            let found = Digest::of(&bytes);
            if found == *digest { Ok(bytes) } else { Err(BlobError::Corrupt { place: self.place(&key), found }) }
        })
    }

    /// Deletes an object; succeeds if there is none.
    ///
    /// # Errors
    /// When the key is not allowed, or the store fails.
    pub fn delete<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<(), BlobError>> {
        Box::pin(async move {
            check_key(key)?;
            match self {
                Self::Directory(directory) => directory.delete(key).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.delete(key).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.delete(key).await,
            }
        })
    }

    /// All keys that begin with `prefix`, which may end within a part, sorted by their bytes.
    ///
    /// # Errors
    /// When the prefix is not allowed, more than [`LISTED_KEYS_MAX`] keys have it, or the store fails.
    pub fn list<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<String>, BlobError>> {
        Box::pin(async move {
            check_prefix(prefix)?;
            match self {
                Self::Directory(directory) => directory.list(prefix).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.list(prefix).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.list(prefix).await,
            }
        })
    }

    /// All objects whose keys begin with `prefix`, with sizes and ages, sorted by the bytes of their keys.
    ///
    /// # Errors
    /// As [`Blobs::list`].
    pub fn list_dated<'a>(&'a self, prefix: &'a str) -> BoxFuture<'a, Result<Vec<DatedObject>, BlobError>> {
        Box::pin(async move {
            check_prefix(prefix)?;
            match self {
                Self::Directory(directory) => directory.list_dated(prefix).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.list_dated(prefix).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.list_dated(prefix).await,
            }
        })
    }

    /// Location of an object, for people: a path, or `s3://bucket/key`.
    #[must_use]
    pub fn place(&self, key: &str) -> String {
        match self {
            Self::Directory(directory) => directory.place(key),
            #[cfg(feature = "cluster")]
            Self::S3(s3) => s3.place(key),
            #[cfg(feature = "faults")]
            Self::Memory(_) => MemoryBlobs::place(key),
        }
    }

    /// Size of an object in bytes, which is not read; `None` if there is none.
    ///
    /// # Errors
    /// When the key is not allowed, or the store fails.
    pub fn size<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Result<Option<u64>, BlobError>> {
        Box::pin(async move {
            check_key(key)?;
            match self {
                Self::Directory(directory) => directory.size(key).await,
                #[cfg(feature = "cluster")]
                Self::S3(s3) => s3.size(key).await,
                #[cfg(feature = "faults")]
                Self::Memory(memory) => memory.size(key).await,
            }
        })
    }

    fn check_size(&self, key: &str, bytes: u64) -> Result<(), BlobError> {
        if bytes > OBJECT_BYTES_MAX {
            return Err(BlobError::TooLarge { place: self.place(key), bytes, limit: OBJECT_BYTES_MAX });
        }
        Ok(())
    }
}

/// Key of the content with this digest.
#[must_use]
pub fn content_key(digest: &Digest) -> String {
    format!("content/{digest}")
}

/// Key of the cached response that is known by `digest`. Spread over 256 folders by the first byte, because some file systems are slow with many
/// files in one.
#[must_use]
pub fn response_key(digest: &Digest) -> String {
    format!("{}{digest}", response_folder(digest.bytes()[0]))
}

/// Prefix of the keys of cached responses whose digests begin with `first`.
#[must_use]
pub fn response_folder(first: u8) -> String {
    format!("{RESPONSES}/{first:02x}/")
}
