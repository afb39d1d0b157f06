//! Weights from a safetensors file, in the form that the forward pass uses.

use candle_core::{DType, Device, Module, Result, Tensor};
use candle_nn::{LayerNorm, VarBuilder};

/// A dense layer. The weight is stored as (inputs, outputs), the transpose of the file, so that a product reads it in place. The other
/// order would be repacked for each text, which takes longer than the product itself.
#[derive(Debug)]
pub(crate) struct Dense {
    weight: Tensor,
    bias: Tensor,
}

impl Dense {
    pub(crate) fn load(weights: &VarBuilder, inputs: usize, outputs: usize) -> Result<Self> {
        Self::stacked(std::slice::from_ref(weights), inputs, outputs)
    }

    /// Several layers with the same input as one layer, whose outputs follow each other in a row.
    pub(crate) fn stacked(parts: &[VarBuilder], inputs: usize, outputs: usize) -> Result<Self> {
        let weights: Vec<_> = parts.iter().map(|part| table(part, outputs, inputs)).collect::<Result<_>>()?;
        let biases: Vec<_> = parts.iter().map(|part| part.get(outputs, "bias")).collect::<Result<_>>()?;
        Ok(Self { weight: Tensor::cat(&weights, 0)?.t()?.contiguous()?, bias: Tensor::cat(&biases, 0)? })
    }
}

impl Module for Dense {
    fn forward(&self, rows: &Tensor) -> Result<Tensor> {
        rows.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

/// The weights of a safetensors file as f32, below `prefix` where the file uses it. Checkpoints of sentence-transformers have no prefix;
/// those with a head on top have the name of the model.
pub(crate) fn below_prefix<'a>(bytes: &'a [u8], prefix: &str) -> Result<VarBuilder<'a>> {
    let weights = VarBuilder::from_slice_safetensors(bytes, DType::F32, &Device::Cpu)?;
    let prefixed = weights.pp(prefix);
    Ok(if prefixed.contains_tensor("embeddings.word_embeddings.weight") { prefixed } else { weights })
}

/// A layer normalisation.
pub(crate) fn norm(weights: &VarBuilder, columns: usize, epsilon: f64) -> Result<LayerNorm> {
    Ok(LayerNorm::new(weights.get(columns, "weight")?, weights.get(columns, "bias")?, epsilon))
}

/// A table of vectors, of shape (rows, columns).
pub(crate) fn table(weights: &VarBuilder, rows: usize, columns: usize) -> Result<Tensor> {
    weights.get((rows, columns), "weight")
}
