//! Token ids to the vectors that enter the first layer.

use crate::config::ModelConfig;
use crate::weights::{norm, table};
use candle_core::{Device, Module, Result, Tensor};
use candle_nn::{Embedding, LayerNorm, VarBuilder};

/// The tables of an embedding layer.
#[derive(Debug)]
pub(crate) struct Embeddings {
    words: Embedding,
    positions: Embedding,
    norm: LayerNorm,
}

impl Embeddings {
    /// Loads words and positions below `weights`. `constant`, of shape (1, columns), is a vector that the architecture adds to every token.
    pub(crate) fn load(weights: &VarBuilder, config: &ModelConfig, constant: Option<&Tensor>) -> Result<Self> {
        let columns = config.hidden_size;
        let words = table(&weights.pp("word_embeddings"), config.vocab_size, columns)?;
        let mut positions = table(&weights.pp("position_embeddings"), config.max_position_embeddings, columns)?;
        if let Some(constant) = constant {
            // Each token has one position, so the constant is added once a token.
            positions = positions.broadcast_add(constant)?;
        }
        Ok(Self {
            words: Embedding::new(words, columns),
            positions: Embedding::new(positions, columns),
            norm: norm(&weights.pp("LayerNorm"), columns, config.layer_norm_eps)?,
        })
    }

    /// The vectors of tokens at the given positions, of shape (tokens, columns).
    pub(crate) fn look_up(&self, ids: &[u32], positions: &[u32]) -> Result<Tensor> {
        let words = self.words.forward(&Tensor::new(ids, &Device::Cpu)?)?;
        let positions = self.positions.forward(&Tensor::new(positions, &Device::Cpu)?)?;
        self.norm.forward(&(words + positions)?)
    }

    /// Columns of a row.
    pub(crate) fn columns(&self) -> usize {
        self.words.hidden_size()
    }
}
