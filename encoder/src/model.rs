//! The whole forward pass: token ids to one vector.

use crate::config::{Architecture, ModelConfig};
use crate::embeddings::Embeddings;
use crate::transformer::Transformer;
use crate::{bert, mpnet, weights};
use candle_core::Result;

/// Length below which a vector is not scaled up to one.
const LENGTH_MIN: f64 = 1e-12;

/// A transformer with mean pooling and normalisation.
#[derive(Debug)]
pub(crate) struct Model {
    architecture: Architecture,
    embeddings: Embeddings,
    transformer: Transformer,
}

impl Model {
    /// Loads the weights of a safetensors file for texts of up to `tokens_max` tokens.
    pub(crate) fn load(bytes: &[u8], config: &ModelConfig, tokens_max: usize) -> Result<Self> {
        let architecture = config.architecture;
        let (embeddings, transformer) = match architecture {
            Architecture::Bert => {
                let weights = weights::below_prefix(bytes, bert::PREFIX)?;
                let transformer = Transformer::load(&weights.pp("encoder"), config, &bert::LAYER_NAMES, None)?;
                (bert::embeddings(&weights, config)?, transformer)
            }
            Architecture::Mpnet => {
                let weights = weights::below_prefix(bytes, mpnet::PREFIX)?;
                let bias = mpnet::position_bias(&weights, config, tokens_max)?;
                let transformer = Transformer::load(&weights.pp("encoder"), config, &mpnet::LAYER_NAMES, Some(bias))?;
                (mpnet::embeddings(&weights, config)?, transformer)
            }
        };
        Ok(Self { architecture, embeddings, transformer })
    }

    /// The unit vector of a token sequence; zeros for none, which only a tokenizer without special tokens gives.
    pub(crate) fn forward(&self, ids: &[u32]) -> Result<Vec<f32>> {
        if ids.is_empty() {
            return Ok(vec![0.0; self.embeddings.columns()]);
        }
        let positions = match self.architecture {
            Architecture::Bert => bert::position_ids(ids),
            Architecture::Mpnet => mpnet::position_ids(ids),
        };
        let rows = self.transformer.forward(ids.len(), self.embeddings.look_up(ids, &positions)?);
        Ok(unit_mean(&rows, self.embeddings.columns()))
    }
}

/// The mean of all rows, scaled to length one. No row is padding, so none is left out.
fn unit_mean(rows: &[f32], columns: usize) -> Vec<f32> {
    // Scaling to length one makes the division by the number of rows unnecessary.
    let mut sum = vec![0f64; columns];
    for row in rows.chunks_exact(columns) {
        for (sum, value) in sum.iter_mut().zip(row) {
            *sum += f64::from(*value);
        }
    }
    let length = sum.iter().map(|value| value * value).sum::<f64>().sqrt().max(LENGTH_MIN);
    #[expect(clippy::cast_possible_truncation, reason = "rounding to f32 is the point")]
    sum.into_iter().map(|value| (value / length) as f32).collect()
}
