//! The sentence encoder, the type that callers use.

use crate::EncoderError;
use crate::config::{Architecture, ModelConfig};
use crate::files::ModelFiles;
use crate::model::Model;
use crate::mpnet;
use crate::name::model_name;
use crate::sentence::SentenceSettings;
use crate::tokens::TextTokenizer;
use std::path::Path;

/// A sentence-transformers model in memory, ready to encode; share it through an `Arc`.
///
/// A text has the same vector, bit for bit, on every call and thread. Between processors with different vector
/// instructions the last bits may differ.
#[derive(Debug)]
pub struct SentenceEncoder {
    name: String,
    digest: String,
    dimensions: usize,
    tokenizer: TextTokenizer,
    model: Model,
}

impl SentenceEncoder {
    /// Loads a sentence-transformers directory: `config.json`, `tokenizer.json`, `model.safetensors`, and where present
    /// `modules.json`, the pooling module's `config.json` and `sentence_bert_config.json`.
    ///
    /// Texts are cut to `max_seq_length` of `sentence_bert_config.json` (256 when absent), and to what the model has
    /// positions for.
    ///
    /// # Errors
    /// Names the file that is missing, unreadable or malformed, or asks for something that this crate does not compute.
    pub fn open(dir: &Path) -> Result<Self, EncoderError> {
        let mut files = ModelFiles::new(dir);
        let settings = SentenceSettings::read(&mut files)?;
        let folder = &settings.folder;
        let config = ModelConfig::read(&mut files, folder)?;
        let tokens_max = settings.tokens_max.min(positions(&config));

        let tokenizer_name = format!("{folder}tokenizer.json");
        let bytes = files.bytes(&tokenizer_name, "save the model's fast tokenizer there")?;
        let tokenizer = TextTokenizer::load(
            files.path(&tokenizer_name),
            &bytes,
            tokens_max,
            settings.lower_case,
            config.vocab_size,
        )?;

        let weights_name = format!("{folder}model.safetensors");
        let bytes =
            files.bytes(&weights_name, "save the model with safe serialisation; other weight files are not read")?;
        let model = Model::load(&bytes, &config)
            .map_err(|source| EncoderError::Weights { path: files.path(&weights_name), source: Box::new(source) })?;

        let name = model_name(dir, config.origin.as_deref());
        Ok(Self { name, digest: files.digest(), dimensions: config.hidden_size, tokenizer, model })
    }

    /// Name of the model for reports: its directory's name, or its origin where that name says nothing.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// SHA-256, in hexadecimal, over the names and contents of the files that vectors depend on.
    pub fn digest(&self) -> &str {
        &self.digest
    }

    /// Number of elements in a vector.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// The unit vector of one text. Blocks the calling thread; large products are shared with rayon's threads.
    ///
    /// # Errors
    /// When the tokenizer refuses the text; with a consistent directory this does not happen.
    pub fn encode(&self, text: &str) -> Result<Vec<f32>, EncoderError> {
        self.model.forward(&self.tokenizer.ids(text)?).map_err(EncoderError::forward)
    }
}

/// Number of tokens that the position table has room for.
fn positions(config: &ModelConfig) -> usize {
    match config.architecture {
        Architecture::Bert => config.max_position_embeddings,
        Architecture::Mpnet => config.max_position_embeddings.saturating_sub(mpnet::POSITIONS_UNUSED),
    }
}
