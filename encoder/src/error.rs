//! Errors in opening a model directory and in encoding a text.

use std::path::PathBuf;

/// A model that cannot be opened, or a text that cannot be encoded. Opening never succeeds partly: a directory that
/// would give other vectors than sentence-transformers does is refused.
#[derive(Debug, thiserror::Error)]
pub enum EncoderError {
    /// A file (or the directory itself) is absent or cannot be read.
    #[error("failed to read {path}: {source}; {advice}")]
    Unreadable {
        /// The file or directory.
        path: PathBuf,
        /// The error of the file system.
        source: std::io::Error,
        /// Advice that ends the message.
        advice: &'static str,
    },
    /// A JSON file is malformed or lacks a field; the source names field, line and column.
    #[error("failed to parse {path}: {source}; the file must be the one saved by sentence-transformers")]
    Malformed {
        /// The JSON file.
        path: PathBuf,
        /// The parser's error, with field, line and column.
        source: serde_json::Error,
    },
    /// The model uses something this crate does not compute.
    #[error("failed to use {path}: `{field}` is {found}, supported: {supported}")]
    Unsupported {
        /// The file with the setting.
        path: PathBuf,
        /// Name of the JSON field.
        field: &'static str,
        /// Value of the field.
        found: String,
        /// The values that are supported.
        supported: &'static str,
    },
    /// The tokenizer file cannot be loaded, or does not belong to the weights.
    #[error("failed to load the tokenizer {path}: {source}; it must be the `tokenizer.json` saved with the model")]
    Tokenizer {
        /// The tokenizer file.
        path: PathBuf,
        /// The error of the tokenizer library.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The weights lack a tensor, or a tensor has another shape than config.json says.
    #[error("failed to load the weights {path}: {source}; weights and config.json must belong to the same model")]
    Weights {
        /// The safetensors file.
        path: PathBuf,
        /// The error of candle, with the tensor.
        source: Box<candle_core::Error>,
    },
    /// The tokenizer refused a text.
    #[error("failed to tokenize a text: {0}")]
    Tokenize(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The forward pass failed; with a directory that opened, this is a defect.
    #[error("failed to run the encoder: {0}")]
    Forward(#[source] Box<candle_core::Error>),
}

impl EncoderError {
    /// Wraps an error of a forward pass, for `map_err`.
    pub(crate) fn forward(source: candle_core::Error) -> Self {
        Self::Forward(Box::new(source))
    }
}
