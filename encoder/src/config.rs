//! `config.json`: the architecture and its sizes.

use crate::EncoderError;
use crate::files::ModelFiles;
use serde::Deserialize;
use serde_json::Value;

/// The supported transformer architectures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Architecture {
    Bert,
    Mpnet,
}

/// The transformer's part of `config.json`.
#[derive(Debug, Deserialize)]
pub(crate) struct ModelConfig {
    #[serde(rename = "model_type")]
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
    pub(crate) layer_norm_eps: f64,
    /// Rows of the token type table (BERT).
    #[serde(default = "default_token_types")]
    pub(crate) type_vocab_size: usize,
    /// Rows of the table of relative positions (MPNet).
    #[serde(default = "default_buckets")]
    pub(crate) relative_attention_num_buckets: usize,
}

fn default_epsilon() -> f64 {
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
    /// When the file is absent or malformed, or asks for something that this crate does not compute.
    pub(crate) fn read(files: &mut ModelFiles, folder: &str) -> Result<Self, EncoderError> {
        let name = format!("{folder}config.json");
        let bytes = files.bytes(
            &name,
            "point to a sentence-transformers directory (config.json, tokenizer.json, model.safetensors)",
        )?;
        let path = files.path(&name);
        // Parsed as plain JSON first: another model type has other fields, and the error should name the type.
        let json: Value = match serde_json::from_slice(&bytes) {
            Ok(json) => json,
            Err(source) => return Err(EncoderError::Malformed { path, source }),
        };
        let kind = json.get("model_type");
        if !matches!(kind.and_then(Value::as_str), Some("bert" | "mpnet")) {
            return Err(unsupported(path, "model_type", kind, "\"bert\", \"mpnet\""));
        }
        let activation = json.get("hidden_act");
        if activation.is_some_and(|name| name != "gelu") {
            return Err(unsupported(path, "hidden_act", activation, "\"gelu\""));
        }
        let positions = json.get("position_embedding_type");
        if positions.is_some_and(|kind| kind != "absolute") {
            return Err(unsupported(path, "position_embedding_type", positions, "\"absolute\""));
        }
        let config: Self = match serde_json::from_slice(&bytes) {
            Ok(config) => config,
            Err(source) => return Err(EncoderError::Malformed { path, source }),
        };
        match config.impossible_size() {
            Some((field, supported)) => Err(unsupported(path, field, json.get(field), supported)),
            None => Ok(config),
        }
    }

    /// The first size with which nothing can be computed, and the sizes that are possible.
    fn impossible_size(&self) -> Option<(&'static str, &'static str)> {
        let rules = [
            ("hidden_size", self.hidden_size > 0, "1 or more"),
            ("intermediate_size", self.intermediate_size > 0, "1 or more"),
            ("num_attention_heads", self.num_attention_heads > 0, "1 or more"),
            ("max_position_embeddings", self.max_position_embeddings > 4, "5 or more"),
            ("type_vocab_size", self.type_vocab_size > 0, "1 or more"),
            ("relative_attention_num_buckets", self.relative_attention_num_buckets > 3, "4 or more"),
        ];
        if let Some((field, _, supported)) = rules.into_iter().find(|(_, possible, _)| !possible) {
            return Some((field, supported));
        }
        let divides = self.hidden_size.is_multiple_of(self.num_attention_heads);
        if divides { None } else { Some(("num_attention_heads", "a divisor of `hidden_size`")) }
    }
}

/// The error for a setting whose value this crate does not compute.
pub(crate) fn unsupported(
    path: std::path::PathBuf,
    field: &'static str,
    found: Option<&Value>,
    supported: &'static str,
) -> EncoderError {
    let found = found.map_or_else(|| "absent".to_owned(), Value::to_string);
    EncoderError::Unsupported { path, field, found, supported }
}
