//! What follows the product of a dense layer: the bias, and the activation in the same pass over memory.

use super::{elements_mut, gelu::gelu};
use candle_core::{CpuStorage, InplaceOp1, Layout, Result};

/// Adds a bias to each row.
pub(crate) struct AddBias<'a>(pub(crate) &'a [f32]);

/// Adds a bias to each row and applies GELU.
pub(crate) struct AddBiasGelu<'a>(pub(crate) &'a [f32]);

impl InplaceOp1 for AddBias<'_> {
    fn name(&self) -> &'static str {
        "add-bias"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        for row in elements_mut(storage, layout)?.chunks_exact_mut(self.0.len()) {
            for (value, bias) in row.iter_mut().zip(self.0) {
                *value += bias;
            }
        }
        Ok(())
    }
}

impl InplaceOp1 for AddBiasGelu<'_> {
    fn name(&self) -> &'static str {
        "add-bias-gelu"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        for row in elements_mut(storage, layout)?.chunks_exact_mut(self.0.len()) {
            for (value, bias) in row.iter_mut().zip(self.0) {
                *value = gelu(*value + bias);
            }
        }
        Ok(())
    }
}
