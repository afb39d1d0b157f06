//! `config.json`: which architecture, and how large.

use crate::EncoderError;
use crate::files::ModelFiles;
use serde::Deserialize;
use serde_json::Value;

/// The transformer families that are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Architecture {
    Bert,
    Mpnet,
}

/// What `config.json` says about the transformer.
#[derive(Debug, Deserialize)]
pub(crate) struct ModelConfig {
    #[serde(skip, default = "bert")]
    pub(crate) architecture: Architecture,
    /// The model that this one was trained from, or a path on its author's machine.
    #[serde(rename = "_name_or_path")]
    pub(crate) origin: Option<String>,
    pub(crate) vocab_size: usize,
    pub(crate) hidden_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) intermediate_size: usize,
    /// Rows of the position table; with MPNet the first two are not positions.
    pub(crate) max_position_embeddings: usize,
    #[serde(default = "default_epsilon")]
    pub(crate) layer_norm_eps: f32,
    /// Rows of the token type table (BERT).
    #[serde(default = "default_token_types")]
    pub(crate) type_vocab_size: usize,
    /// Rows of the table of relative positions (MPNet).
    #[serde(default = "default_buckets")]
    pub(crate) relative_attention_num_buckets: usize,
}

fn bert() -> Architecture {
    Architecture::Bert
}

fn default_epsilon() -> f32 {
    1e-12
}

fn default_token_types() -> usize {
    2
}

fn default_buckets() -> usize {
    32
}

impl ModelConfig {
    /// Reads `config.json` in `folder` (empty, or ending in a slash).
    ///
    /// # Errors
    /// When the file is absent or malformed, or asks for something that is not computed.
    pub(crate) fn read(files: &mut ModelFiles, folder: &str) -> Result<Self, EncoderError> {
        let name = format!("{folder}config.json");
        // First as plain JSON: another model type has other fields, and the type is what to complain about then.
        let json: Value = files.json(
            &name,
            "point to a sentence-transformers directory (config.json, tokenizer.json, model.safetensors)",
        )?;
        let path = files.path(&name);
        let architecture = match json.get("model_type").and_then(Value::as_str) {
            Some("bert") => Architecture::Bert,
            Some("mpnet") => Architecture::Mpnet,
            _ => return Err(unsupported(path, "model_type", json.get("model_type"), "\"bert\", \"mpnet\"")),
        };
        let activation = json.get("hidden_act");
        if activation.is_some_and(|name| name != "gelu") {
            return Err(unsupported(path, "hidden_act", activation, "\"gelu\""));
        }
        let positions = json.get("position_embedding_type");
        if positions.is_some_and(|kind| kind != "absolute") {
            return Err(unsupported(path, "position_embedding_type", positions, "\"absolute\""));
        }
        let config: Self = match serde_json::from_value(json.clone()) {
            Ok(config) => Self { architecture, ..config },
            Err(source) => return Err(EncoderError::Malformed { path, source }),
        };
        if config.num_attention_heads == 0 || !config.hidden_size.is_multiple_of(config.num_attention_heads) {
            let heads = json.get("num_attention_heads");
            return Err(unsupported(path, "num_attention_heads", heads, "a divisor of `hidden_size`"));
        }
        Ok(config)
    }
}

/// The error for a setting with a value that is not computed.
pub(crate) fn unsupported(
    path: std::path::PathBuf,
    field: &'static str,
    found: Option<&Value>,
    supported: &'static str,
) -> EncoderError {
    let found = found.map_or_else(|| "absent".to_owned(), Value::to_string);
    EncoderError::Unsupported { path, field, found, supported }
}
