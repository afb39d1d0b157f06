//! Token ids to the vectors that enter the first layer.

use crate::config::ModelConfig;
use crate::kernels::Norm;
use crate::weights::{norm, table};
use candle_core::Result;
use candle_nn::VarBuilder;

/// The tables of an embedding layer.
#[derive(Debug)]
pub(crate) struct Embeddings {
    words: Vec<f32>,
    positions: Vec<f32>,
    /// Added to each token: the token type of a single text, or zeros.
    constant: Vec<f32>,
    norm: Norm,
    columns: usize,
}

impl Embeddings {
    /// Loads words and positions below `weights`; `constant` is what the architecture adds to every token.
    pub(crate) fn load(weights: &VarBuilder, config: &ModelConfig, constant: Vec<f32>) -> Result<Self> {
        let columns = config.hidden_size;
        Ok(Self {
            words: table(&weights.pp("word_embeddings"), config.vocab_size, columns)?,
            positions: table(&weights.pp("position_embeddings"), config.max_position_embeddings, columns)?,
            constant,
            norm: norm(&weights.pp("LayerNorm"), columns, config.layer_norm_eps)?,
            columns,
        })
    }

    /// The vectors of tokens at the given positions, one row each.
    pub(crate) fn look_up(&self, ids: &[u32], positions: &[u32]) -> Result<Vec<f32>> {
        let mut rows = Vec::with_capacity(ids.len() * self.columns);
        for (id, position) in ids.iter().zip(positions) {
            let word = self.row(&self.words, *id)?.iter().zip(&self.constant);
            let position = self.row(&self.positions, *position)?;
            rows.extend(word.zip(position).map(|((word, constant), position)| word + constant + position));
        }
        self.norm.apply(&mut rows);
        Ok(rows)
    }

    /// Columns of a row.
    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    fn row<'a>(&self, table: &'a [f32], index: u32) -> Result<&'a [f32]> {
        let start = index as usize * self.columns;
        match table.get(start..start + self.columns) {
            Some(row) => Ok(row),
            None => candle_core::bail!("embedding row {index} is beyond the table"),
        }
    }
}
