//! Turns text into token ids.

use crate::EncoderError;
use std::path::PathBuf;
use tokenizers::{Tokenizer, TruncationParams};

/// A tokenizer that truncates, never pads, and adds the special tokens of its model.
#[derive(Debug)]
pub(crate) struct TextTokenizer {
    tokenizer: Tokenizer,
    lower_case: bool,
}

impl TextTokenizer {
    /// Loads `tokenizer.json`. Its padding and truncation are those of the training, and are replaced.
    ///
    /// # Errors
    /// When the file is malformed, or has a token without a row among the `vocab_size` embeddings.
    pub(crate) fn load(
        path: PathBuf,
        bytes: &[u8],
        tokens_max: usize,
        lower_case: bool,
        vocab_size: usize,
    ) -> Result<Self, EncoderError> {
        let load = || {
            let mut tokenizer = Tokenizer::from_bytes(bytes)?;
            let largest = tokenizer.get_vocab(true).into_values().max().unwrap_or(0);
            if largest as usize >= vocab_size {
                return Err(format!("it has token id {largest}, but `vocab_size` is {vocab_size}").into());
            }
            tokenizer.with_padding(None);
            tokenizer
                .with_truncation(Some(TruncationParams { max_length: tokens_max, ..TruncationParams::default() }))?;
            Ok(tokenizer)
        };
        let tokenizer = load().map_err(|source| EncoderError::Tokenizer { path, source })?;
        Ok(Self { tokenizer, lower_case })
    }

    /// The ids of a text, with special tokens, cut to the longest sequence.
    pub(crate) fn ids(&self, text: &str) -> Result<Vec<u32>, EncoderError> {
        let encoded = if self.lower_case {
            self.tokenizer.encode_fast(text.to_lowercase(), true)
        } else {
            self.tokenizer.encode_fast(text, true)
        };
        Ok(encoded.map_err(EncoderError::Tokenize)?.get_ids().to_vec())
    }
}
