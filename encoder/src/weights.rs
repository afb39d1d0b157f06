//! Weights from a safetensors file, in the form that the forward pass wants them.

use crate::kernels::{Norm, Panels, Rows, RowsMut};
use candle_core::{DType, Device, Result};
use candle_nn::VarBuilder;

/// A dense layer: a matrix of shape (inputs, outputs), the transpose of the file, and a bias.
#[derive(Debug)]
pub(crate) struct Dense {
    weight: Panels,
    pub(crate) bias: Vec<f32>,
}

impl Dense {
    pub(crate) fn load(weights: &VarBuilder, inputs: usize, outputs: usize) -> Result<Self> {
        Self::stacked(std::slice::from_ref(weights), inputs, outputs)
    }

    /// Several layers of the same input as one: their outputs follow each other in a row.
    pub(crate) fn stacked(parts: &[VarBuilder], inputs: usize, outputs: usize) -> Result<Self> {
        let mut weight = Vec::with_capacity(parts.len() * outputs * inputs);
        let mut bias = Vec::with_capacity(parts.len() * outputs);
        for part in parts {
            weight.extend(table(part, outputs, inputs)?);
            bias.extend(part.get(outputs, "bias")?.to_vec1::<f32>()?);
        }
        Ok(Self { weight: Panels::pack(inputs, bias.len(), |input, output| weight[output * inputs + input]), bias })
    }

    /// Rows times weight, without the bias.
    pub(crate) fn product(&self, count: usize, rows: &[f32]) -> Vec<f32> {
        let outputs = self.bias.len();
        let mut products = vec![0f32; count * outputs];
        let stride = rows.len() / count.max(1);
        self.weight.product(count, Rows { values: rows, stride }, RowsMut { values: &mut products, stride: outputs });
        products
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
