//! The zip of a log.

use std::fs::File;
use std::io::{BufReader, BufWriter, Seek, Write};
use std::path::PathBuf;

use regatta_files::PrivateFile;
use serde_json::Value;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipWriter};

use super::sample::Sample;
use super::summaries::summary;
use crate::error::ExportError;

/// A log that is written sample by sample. Summaries wait in a file: they come after all samples, and are as many.
pub(super) struct Archive {
    path: PathBuf,
    zip: ZipWriter<PrivateFile>,
    summaries: BufWriter<File>,
    samples: u64,
}

impl Archive {
    pub(super) fn create(path: PathBuf, start: &Value) -> Result<Self, ExportError> {
        let file = PrivateFile::create(&path).map_err(ExportError::write(&path))?;
        let summaries = tempfile::tempfile().map_err(ExportError::write(&path))?;
        let mut archive = Self { zip: ZipWriter::new(file), summaries: BufWriter::new(summaries), samples: 0, path };
        archive.document("_journal/start.json", start)?;
        Ok(archive)
    }

    pub(super) fn sample(&mut self, sample: &Sample) -> Result<(), ExportError> {
        self.document(&format!("samples/{}_epoch_{}.json", sample.id, sample.epoch), &sample.document)?;
        let separator: &[u8] = if self.samples == 0 { b"[" } else { b"," };
        self.summaries.write_all(separator).map_err(ExportError::write(&self.path))?;
        serde_json::to_writer(&mut self.summaries, &summary(&sample.document))
            .map_err(ExportError::write(&self.path))?;
        self.samples += 1;
        Ok(())
    }

    /// Writes summaries and header, which readers begin with.
    pub(super) fn finish(mut self, header: &Value) -> Result<PathBuf, ExportError> {
        let end: &[u8] = if self.samples == 0 { b"[]" } else { b"]" };
        self.summaries.write_all(end).map_err(ExportError::write(&self.path))?;
        let summaries = self.summaries.into_inner().map_err(std::io::IntoInnerError::into_error);
        let mut summaries = summaries.map_err(ExportError::write(&self.path))?;
        // Readers of logs that are still written look for summaries in the journal; those that have ended have them in one document.
        self.zip.start_file("summaries.json", options()).map_err(ExportError::write(&self.path))?;
        summaries.rewind().map_err(ExportError::write(&self.path))?;
        std::io::copy(&mut BufReader::new(summaries), &mut self.zip).map_err(ExportError::write(&self.path))?;
        self.zip.start_file("header.json", options()).map_err(ExportError::write(&self.path))?;
        serde_json::to_writer(&mut self.zip, header).map_err(ExportError::write(&self.path))?;
        let file = self.zip.finish().map_err(ExportError::write(&self.path))?;
        file.finish().map_err(ExportError::write(&self.path))?;
        Ok(self.path)
    }

    fn document(&mut self, name: &str, content: &Value) -> Result<(), ExportError> {
        self.zip.start_file(name, options()).map_err(ExportError::write(&self.path))?;
        serde_json::to_writer(&mut self.zip, content).map_err(ExportError::write(&self.path))
    }
}

/// Without the time of the export: the same run makes the same bytes. Deflated, which readers of every version know.
fn options() -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(CompressionMethod::Deflated)
        .last_modified_time(DateTime::default())
        .unix_permissions(0o600)
}
