//! Traces by OpenTelemetry's conventions for generative AI, as files in the JSON encoding of OTLP: one request for export a line, of one
//! session, so that a file is read line by line.
//!
//! A session is a trace: its root span is the agent's (`invoke_agent`), below it a span for each attempt, and below that one for each model
//! call (`chat`) and each request to a tool server (`execute_tool`). Scores are events of the root. Ids and attributes are those of the
//! traces that the run's processes sent, if they sent any (`regatta-traces`); what was said is in these files alone.

mod content;
mod json;
mod spans;

use std::io::Write;
use std::path::{Path, PathBuf};

use regatta_files::PrivateFile;
use regatta_traces::Attributes;
use serde_json::{Value, json};

use crate::error::ExportError;
use crate::run::{Run, Session};

/// The file of a run's traces.
pub(crate) struct Traces {
    path: PathBuf,
    file: PrivateFile,
}

impl Traces {
    pub(crate) fn create(directory: &Path) -> Result<Self, ExportError> {
        let path = directory.join("traces.jsonl");
        let file = PrivateFile::create(&path).map_err(ExportError::write(&path))?;
        Ok(Self { path, file })
    }

    pub(crate) fn push(&mut self, run: &Run, session: &Session) -> Result<(), ExportError> {
        let Some(spans) = spans::spans(run, session) else { return Ok(()) };
        let spans: Value = spans.iter().map(json::span).collect();
        let mut resource = Attributes::default();
        resource.text("service.name", "regatta");
        resource.text("service.version", &*run.lock.regatta);
        resource.text("regatta.sweep", run.summary.sweep.as_str());
        let request = json!({"resourceSpans": [{
            "resource": {"attributes": json::attributes(&resource)},
            "scopeSpans": [{"scope": {"name": "regatta", "version": run.lock.regatta}, "spans": spans}],
        }]});
        serde_json::to_writer(&mut self.file, &request).map_err(ExportError::write(&self.path))?;
        self.file.write_all(b"\n").map_err(ExportError::write(&self.path))
    }

    pub(crate) fn finish(self, written: &mut Vec<PathBuf>) -> Result<(), ExportError> {
        self.file.finish().map_err(ExportError::write(&self.path))?;
        written.push(self.path);
        Ok(())
    }
}
