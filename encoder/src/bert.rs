//! The parts of BERT that are its own (MiniLM is a small BERT): token types, and positions that count from 0.

use crate::config::ModelConfig;
use crate::embeddings::Embeddings;
use crate::transformer::LayerNames;
use crate::weights::table;
use candle_core::Result;
use candle_nn::VarBuilder;

pub(crate) const PREFIX: &str = "bert";

pub(crate) const LAYER_NAMES: LayerNames = LayerNames {
    query: "attention.self.query",
    key: "attention.self.key",
    value: "attention.self.value",
    attention_output: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
};

/// The embedding layer. A single text is all of token type 0, so that row is added to each token.
pub(crate) fn embeddings(weights: &VarBuilder, config: &ModelConfig) -> Result<Embeddings> {
    let weights = weights.pp("embeddings");
    let types = table(&weights.pp("token_type_embeddings"), config.type_vocab_size, config.hidden_size)?;
    Embeddings::load(&weights, config, Some(&types.narrow(0, 0, 1)?))
}

/// 0, 1, 2, …
pub(crate) fn position_ids(ids: &[u32]) -> Vec<u32> {
    (0..).take(ids.len()).collect()
}
