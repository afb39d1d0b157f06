//! OpenAI's files, as far as batches use them.
//!
//! `POST /v1/files` takes a form with `purpose` (`batch`) and `file`. A file has `id`, `object`, `bytes`, `created_at`, `filename`,
//! `purpose` (`batch`, or `batch_output` for results) and `status` ("Files" in OpenAI's API reference).

use bytes::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use serde_json::{Value, json};

use super::multipart;
use super::store::File;
use crate::api_error::ApiError;
use crate::endpoint::Endpoint;

/// The only supported purpose of uploaded files.
const PURPOSE: &str = "batch";

impl Endpoint {
    /// Stores an uploaded file.
    pub(super) fn upload(&self, head: &Parts, body: &Bytes) -> Result<Value, ApiError> {
        let content_type = head.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let parts = multipart::parse(content_type, body)
            .map_err(|problem| ApiError::bad_request(None, format!("failed to read the upload: {problem}")))?;
        let part = |name: &str| parts.iter().find(|part| part.name == name);
        if part("purpose").is_none_or(|purpose| purpose.content != PURPOSE) {
            return Err(ApiError::bad_request(Some("purpose"), "a simulated endpoint takes files of purpose `batch`"));
        }
        let Some(part) = part("file") else {
            return Err(ApiError::bad_request(Some("file"), "`file` is missing"));
        };
        let file = File {
            id: self.batches.store.new_id("file-"),
            name: part.file_name.clone().unwrap_or_default(),
            purpose: PURPOSE,
            created: self.clock.now(),
            content: part.content.clone(),
        };
        let written = file.wire();
        self.batches.store.upload(file)?;
        Ok(written)
    }
}

impl File {
    /// The JSON of a file.
    pub(super) fn wire(&self) -> Value {
        json!({
            "id": self.id,
            "object": "file",
            "bytes": self.content.len(),
            "created_at": self.created.as_second(),
            "filename": self.name,
            "purpose": self.purpose,
            "status": "processed",
        })
    }
}
