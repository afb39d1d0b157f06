//! Samples of a log.

use std::collections::BTreeSet;
use std::io::{Read, Seek};

use serde_json::Value;
use zip::{CompressionMethod, ZipArchive};

use super::{Prediction, Predictions, PredictionsError};

/// Sizes up to which a log is read: a small file can hold much.
#[derive(Debug, Clone, Copy)]
pub(super) struct LogLimits {
    /// Files in the archive.
    pub(super) members: usize,
    /// Bytes of one sample, decompressed.
    pub(super) sample_bytes: u64,
    /// Bytes of all samples that are read, decompressed.
    pub(super) bytes: u64,
}

impl LogLimits {
    pub(super) const USUAL: Self = Self { members: 1_000_000, sample_bytes: 256 << 20, bytes: 16 << 30 };
}

pub(super) fn read(
    archive: impl Read + Seek,
    epoch: Option<u64>,
    limits: LogLimits,
) -> Result<Predictions, PredictionsError> {
    let mut archive = ZipArchive::new(archive)?;
    if archive.len() > limits.members {
        let (files, most) = (archive.len(), limits.members);
        return Err(problem("the log", format!("it has {files} files, at most {most} are read; split it")));
    }
    let mut left = limits.bytes;
    let names = archive.file_names().map(|name| Ok(name?.into_owned()));
    let names: Vec<String> = names.collect::<Result<_, zip::result::ZipError>>()?;
    let of_sample = |name: &&String| name.starts_with("samples/") && name.ends_with(".json");
    let names: Vec<&String> = names.iter().filter(of_sample).collect();
    let epochs: BTreeSet<u64> = names.iter().filter_map(|name| epoch_of(name)).collect();
    if epoch.is_none() && epochs.len() > 1 {
        return Err(PredictionsError::Epochs { epochs: epochs.len() as u64 });
    }
    let mut read = Predictions::default();
    for name in names {
        if epoch.is_some() && epoch_of(name) != epoch {
            continue;
        }
        let bytes = member(&mut archive, name, limits.sample_bytes.min(left)).map_err(|error| match error {
            Unread::TooLarge if left < limits.sample_bytes => {
                problem("the log", format!("its samples have more than {} bytes together; split it", limits.bytes))
            }
            Unread::TooLarge => problem(name, format!("it has more than {} bytes", limits.sample_bytes)),
            Unread::Broken(error) => error,
        })?;
        left -= bytes.len() as u64;
        let sample: Value =
            serde_json::from_slice(&bytes).map_err(|error| problem(name, format!("it is not JSON: {error}")))?;
        let item = match &sample["id"] {
            Value::String(id) => id.clone(),
            Value::Number(id) => id.to_string(),
            _ => return Err(problem(name, "it has no id".to_owned())),
        };
        if !sample["error"].is_null() {
            read.failed += 1;
            continue;
        }
        read.predictions.push(Prediction { item, output: completion(&sample["output"]) });
    }
    Ok(read)
}

/// `3` of `samples/tea_epoch_3.json`.
fn epoch_of(name: &str) -> Option<u64> {
    name.strip_suffix(".json")?.rsplit_once("_epoch_")?.1.parse().ok()
}

/// Last answer of the model.
fn completion(output: &Value) -> Option<String> {
    let content = output.pointer("/choices/0/message/content");
    let text = match content {
        Some(Value::String(text)) => Some(text.clone()),
        Some(Value::Array(parts)) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
            Some(texts.join("\n"))
        }
        _ => output["completion"].as_str().map(str::to_owned),
    };
    text.filter(|_| content.is_some() || output["completion"].as_str().is_some_and(|text| !text.is_empty()))
}

/// A member that was not read.
enum Unread {
    TooLarge,
    Broken(PredictionsError),
}

impl From<PredictionsError> for Unread {
    fn from(error: PredictionsError) -> Self {
        Self::Broken(error)
    }
}

impl From<zip::result::ZipError> for Unread {
    fn from(error: zip::result::ZipError) -> Self {
        Self::Broken(error.into())
    }
}

/// The bytes of a member, at most `limit`. Logs of today are compressed by Zstandard, for which zips have a method of their own; older ones are deflated.
fn member<R: Read + Seek>(archive: &mut ZipArchive<R>, name: &str, limit: u64) -> Result<Vec<u8>, Unread> {
    let index = archive.index_for_name(name).ok_or_else(|| problem(name, "it has gone".to_owned()))?;
    let mut bytes = Vec::new();
    let read = {
        let raw = archive.by_index_raw(index)?;
        if raw.compression() == CompressionMethod::ZSTD {
            let decoder = zstd::Decoder::new(raw).map_err(|error| problem(name, error.to_string()))?;
            Some(decoder.take(limit + 1).read_to_end(&mut bytes))
        } else {
            None
        }
    };
    let read = match read {
        Some(read) => read,
        None => archive.by_index(index)?.take(limit + 1).read_to_end(&mut bytes),
    };
    read.map_err(|error| problem(name, error.to_string()))?;
    if bytes.len() as u64 > limit {
        return Err(Unread::TooLarge);
    }
    Ok(bytes)
}

fn problem(name: &str, problem: String) -> PredictionsError {
    PredictionsError::Content { place: name.to_owned(), problem }
}
