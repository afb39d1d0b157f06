//! Weights from a safetensors file, in the form that the forward pass wants them.

use crate::kernels::Norm;
use candle_core::{DType, Device, Result, Tensor};
use candle_nn::VarBuilder;

/// A dense layer. The weight is kept as (inputs, outputs), the transpose of the file: a product then reads it in place,
/// where the other way round it would be repacked for each text, which takes longer than the product itself.
#[derive(Debug)]
pub(crate) struct Dense {
    weight: Tensor,
    pub(crate) bias: Vec<f32>,
}

impl Dense {
    pub(crate) fn load(weights: &VarBuilder, inputs: usize, outputs: usize) -> Result<Self> {
        Self::stacked(std::slice::from_ref(weights), inputs, outputs)
    }

    /// Several layers of the same input as one: their outputs follow each other in a row.
    pub(crate) fn stacked(parts: &[VarBuilder], inputs: usize, outputs: usize) -> Result<Self> {
        let weights: Vec<_> = parts.iter().map(|part| part.get((outputs, inputs), "weight")).collect::<Result<_>>()?;
        let biases: Vec<_> = parts.iter().map(|part| part.get(outputs, "bias")).collect::<Result<_>>()?;
        Ok(Self { weight: Tensor::cat(&weights, 0)?.t()?.contiguous()?, bias: Tensor::cat(&biases, 0)?.to_vec1()? })
    }

    /// Rows times weight, without the bias.
    pub(crate) fn product(&self, rows: &Tensor) -> Result<Tensor> {
        rows.matmul(&self.weight)
    }
}

/// The weights of a safetensors file as f32, below whichever of `prefixes` the file uses. Checkpoints of
/// sentence-transformers have none, those with a head on top have the name of the model.
pub(crate) fn below_prefix<'a>(bytes: &'a [u8], prefix: &str) -> Result<VarBuilder<'a>> {
    let weights = VarBuilder::from_slice_safetensors(bytes, DType::F32, &Device::Cpu)?;
    let prefixed = weights.pp(prefix);
    Ok(if prefixed.contains_tensor("embeddings.word_embeddings.weight") { prefixed } else { weights })
}

/// A layer normalisation.
pub(crate) fn norm(weights: &VarBuilder, columns: usize, epsilon: f32) -> Result<Norm> {
    Ok(Norm {
        scale: weights.get(columns, "weight")?.to_vec1()?,
        shift: weights.get(columns, "bias")?.to_vec1()?,
        epsilon,
    })
}

/// A table of `rows` vectors, row after row.
pub(crate) fn table(weights: &VarBuilder, rows: usize, columns: usize) -> Result<Vec<f32>> {
    weights.get((rows, columns), "weight")?.flatten_all()?.to_vec1()
}
