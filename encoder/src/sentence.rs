//! The settings of sentence-transformers around the transformer: the chain of modules, the pooling, the truncation.

use crate::EncoderError;
use crate::config::unsupported;
use crate::files::ModelFiles;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Longest sequence in tokens where the model does not say, special tokens included.
const TOKENS_MAX_DEFAULT: usize = 256;
/// Shortest limit of a sequence: two special tokens and one of the text.
const TOKENS_MAX_LEAST: usize = 3;

/// Truncation of a text, and preparation before it.
#[derive(Debug)]
pub(crate) struct SentenceSettings {
    /// Folder of the transformer's files: empty, or ending in a slash.
    pub(crate) folder: String,
    /// Longest sequence in tokens, special tokens included, before the limit of the position table.
    pub(crate) tokens_max: usize,
    /// Lower-cases texts before the tokenizer sees them.
    pub(crate) lower_case: bool,
}

#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

#[derive(Default, Deserialize)]
struct SentenceConfig {
    max_seq_length: Option<usize>,
    #[serde(default)]
    do_lower_case: bool,
}

impl SentenceSettings {
    /// Reads `modules.json`, the pooling module's `config.json` and `sentence_bert_config.json`; each may be absent.
    ///
    /// # Errors
    /// When one is malformed, or describes anything but transformer, mean pooling and normalisation.
    pub(crate) fn read(files: &mut ModelFiles) -> Result<Self, EncoderError> {
        let mut folder = String::new();
        let mut pooling = "1_Pooling/".to_owned();
        for module in files.optional_json::<Vec<Module>>("modules.json")?.unwrap_or_default() {
            match module.kind.rsplit('.').next() {
                Some("Transformer") => folder = as_folder(&module.path),
                Some("Pooling") => pooling = as_folder(&module.path),
                Some("Normalize") => {}
                _ => {
                    let found = Value::String(module.kind);
                    let supported = "Transformer, Pooling, Normalize";
                    return Err(unsupported(files.path("modules.json"), "type", Some(&found), supported));
                }
            }
        }
        require_mean_pooling(files, &format!("{pooling}config.json"))?;
        let name = format!("{folder}sentence_bert_config.json");
        let config = files.optional_json::<SentenceConfig>(&name)?.unwrap_or_default();
        let tokens_max = config.max_seq_length.unwrap_or(TOKENS_MAX_DEFAULT);
        if tokens_max < TOKENS_MAX_LEAST {
            let found = Value::from(tokens_max);
            return Err(unsupported(files.path(&name), "max_seq_length", Some(&found), "3 or more"));
        }
        Ok(Self { folder, tokens_max, lower_case: config.do_lower_case })
    }
}

fn as_folder(path: &str) -> String {
    if path.is_empty() { String::new() } else { format!("{}/", path.trim_end_matches('/')) }
}

/// Pooling is written as one switch a mode, all but one false, or by newer versions as the name of the mode.
fn require_mean_pooling(files: &mut ModelFiles, name: &str) -> Result<(), EncoderError> {
    let Some(config) = files.optional_json::<Map<String, Value>>(name)? else {
        return Ok(());
    };
    let mut modes: Vec<&str> = config
        .iter()
        .filter(|(_, value)| **value == Value::Bool(true))
        .filter_map(|(key, _)| key.strip_prefix("pooling_mode_"))
        .collect();
    if let Some(Value::String(mode)) = config.get("pooling_mode") {
        modes.push(mode);
    }
    if modes.iter().all(|mode| matches!(*mode, "mean_tokens" | "mean")) && !modes.is_empty() {
        return Ok(());
    }
    Err(EncoderError::Unsupported {
        path: files.path(name),
        field: "pooling_mode",
        found: format!("{modes:?}"),
        supported: "mean_tokens alone",
    })
}
