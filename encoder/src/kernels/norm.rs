//! Layer normalisation of rows, alone and after a dense layer with its residual connection.

use super::{elements, elements_mut, sum_of};
use candle_core::{CpuStorage, InplaceOp2, Layout, Result};

/// The learned part of a layer normalisation: one scale and one shift a column.
#[derive(Debug)]
pub(crate) struct Norm {
    pub(crate) scale: Vec<f32>,
    pub(crate) shift: Vec<f32>,
    pub(crate) epsilon: f32,
}

impl Norm {
    /// Brings a row to mean 0 and variance 1, then scales and shifts it. The variance is computed from the deviations
    /// (two passes), because sum of squares minus square of sum loses digits.
    pub(crate) fn apply(&self, row: &mut [f32]) {
        #[expect(clippy::cast_precision_loss, reason = "a row has thousands of columns at most")]
        let columns = row.len() as f32;
        let mean = sum_of(row, |value| value) / columns;
        let variance = sum_of(row, |value| (value - mean) * (value - mean)) / columns;
        let inverse = 1.0 / (variance + self.epsilon).sqrt();
        for ((value, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
            *value = (*value - mean) * inverse * scale + shift;
        }
    }
}

/// Adds a bias and the matching row of the second tensor to each row, then normalises it.
pub(crate) struct AddResidualNorm<'a> {
    pub(crate) bias: &'a [f32],
    pub(crate) norm: &'a Norm,
}

impl InplaceOp2 for AddResidualNorm<'_> {
    fn name(&self) -> &'static str {
        "add-residual-norm"
    }

    fn cpu_fwd(
        &self,
        storage: &mut CpuStorage,
        layout: &Layout,
        residual: &CpuStorage,
        residual_layout: &Layout,
    ) -> Result<()> {
        let columns = self.bias.len();
        let residual = elements(residual, residual_layout)?;
        for (row, input) in elements_mut(storage, layout)?.chunks_exact_mut(columns).zip(residual.chunks_exact(columns))
        {
            for ((value, bias), input) in row.iter_mut().zip(self.bias).zip(input) {
                *value = *value + bias + input;
            }
            self.norm.apply(row);
        }
        Ok(())
    }
}
