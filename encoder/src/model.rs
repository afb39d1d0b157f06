//! The whole forward pass: from token ids to one vector.

use crate::config::{Architecture, ModelConfig};
use crate::embeddings::Embeddings;
use crate::mpnet::PositionBias;
use crate::transformer::Transformer;
use crate::{bert, mpnet, weights};
use candle_core::{DType, Result, Tensor};

/// Length below which a vector is not normalised.
const LENGTH_MIN: f64 = 1e-12;

/// A transformer with mean pooling and normalisation.
#[derive(Debug)]
pub(crate) struct Model {
    architecture: Architecture,
    embeddings: Embeddings,
    transformer: Transformer,
    /// The bias of MPNet; `None` for BERT.
    position_bias: Option<PositionBias>,
}

impl Model {
    /// Loads the weights of a safetensors file.
    pub(crate) fn load(bytes: &[u8], config: &ModelConfig) -> Result<Self> {
        let architecture = config.architecture;
        let (prefix, names) = match architecture {
            Architecture::Bert => (bert::PREFIX, &bert::LAYER_NAMES),
            Architecture::Mpnet => (mpnet::PREFIX, &mpnet::LAYER_NAMES),
        };
        let weights = weights::below_prefix(bytes, prefix)?;
        let transformer = Transformer::load(&weights.pp("encoder"), config, names)?;
        let (embeddings, position_bias) = match architecture {
            Architecture::Bert => (bert::embeddings(&weights, config)?, None),
            Architecture::Mpnet => (mpnet::embeddings(&weights, config)?, Some(PositionBias::load(&weights, config)?)),
        };
        Ok(Self { architecture, embeddings, transformer, position_bias })
    }

    /// The unit vector of a token sequence; zeros for an empty sequence, which only a tokenizer without special tokens gives.
    pub(crate) fn forward(&self, ids: &[u32]) -> Result<Vec<f32>> {
        if ids.is_empty() {
            return Ok(vec![0.0; self.embeddings.columns()]);
        }
        let positions = match self.architecture {
            Architecture::Bert => bert::position_ids(ids),
            Architecture::Mpnet => mpnet::position_ids(ids),
        };
        let position_bias = self.position_bias.as_ref().map(|bias| bias.of_length(ids.len())).transpose()?;
        let rows = self.embeddings.look_up(ids, &positions)?;
        unit_mean(&self.transformer.forward(rows, position_bias.as_ref())?)
    }
}

/// The mean of all rows, scaled to length one. No row is padding, so none is left out.
fn unit_mean(rows: &Tensor) -> Result<Vec<f32>> {
    let mean = rows.to_dtype(DType::F64)?.mean(0)?;
    let length = mean.sqr()?.sum_all()?.sqrt()?.to_scalar::<f64>()?.max(LENGTH_MIN);
    (mean / length)?.to_dtype(DType::F32)?.to_vec1()
}
