//! The encoder layers that BERT and MPNet share: attention, then a feed-forward part, each followed by a residual
//! connection and a normalisation. They differ in the names of the weights and in the bias by relative position.

use crate::config::ModelConfig;
use crate::kernels::{AddBias, AddBiasGelu, AddResidualNorm, Norm, PositionBias, Softmax};
use crate::weights::{Dense, norm};
use candle_core::{Result, Tensor};
use candle_nn::VarBuilder;

/// The names in a layer that depend on the architecture.
pub(crate) struct LayerNames {
    pub(crate) query: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) attention_output: &'static str,
    pub(crate) attention_norm: &'static str,
}

/// All layers.
#[derive(Debug)]
pub(crate) struct Transformer {
    layers: Vec<Layer>,
    heads: usize,
    position_bias: Option<PositionBias>,
}

#[derive(Debug)]
struct Layer {
    /// Queries, keys and values in one product.
    attention_input: Dense,
    attention_output: Dense,
    attention_norm: Norm,
    expand: Dense,
    contract: Dense,
    output_norm: Norm,
}

impl Transformer {
    /// Loads `layer.0`, `layer.1`, … below `weights`.
    pub(crate) fn load(
        weights: &VarBuilder,
        config: &ModelConfig,
        names: &LayerNames,
        position_bias: Option<PositionBias>,
    ) -> Result<Self> {
        let layers = (0..config.num_hidden_layers)
            .map(|index| Layer::load(&weights.pp("layer").pp(index), config, names))
            .collect::<Result<_>>()?;
        Ok(Self { layers, heads: config.num_attention_heads, position_bias })
    }

    /// Vectors of shape (tokens, columns) through all layers.
    pub(crate) fn forward(&self, mut rows: Tensor) -> Result<Tensor> {
        for layer in &self.layers {
            rows = layer.forward(&rows, self.heads, self.position_bias.as_ref())?;
        }
        Ok(rows)
    }
}

impl Layer {
    fn load(weights: &VarBuilder, config: &ModelConfig, names: &LayerNames) -> Result<Self> {
        let (columns, wide, epsilon) = (config.hidden_size, config.intermediate_size, config.layer_norm_eps);
        let attention_input = [names.query, names.key, names.value].map(|name| weights.pp(name));
        Ok(Self {
            attention_input: Dense::stacked(&attention_input, columns, columns)?,
            attention_output: Dense::load(&weights.pp(names.attention_output), columns, columns)?,
            attention_norm: norm(&weights.pp(names.attention_norm), columns, epsilon)?,
            expand: Dense::load(&weights.pp("intermediate.dense"), columns, wide)?,
            contract: Dense::load(&weights.pp("output.dense"), wide, columns)?,
            output_norm: norm(&weights.pp("output.LayerNorm"), columns, epsilon)?,
        })
    }

    fn forward(&self, rows: &Tensor, heads: usize, position_bias: Option<&PositionBias>) -> Result<Tensor> {
        let context = self.attend(rows, heads, position_bias)?;
        let attended = self.attention_output.product(&context)?;
        let bias = &self.attention_output.bias;
        attended.inplace_op2(rows, &AddResidualNorm { bias, norm: &self.attention_norm })?;

        let wide = self.expand.product(&attended)?;
        wide.inplace_op1(&AddBiasGelu(&self.expand.bias))?;
        let output = self.contract.product(&wide)?;
        output.inplace_op2(&attended, &AddResidualNorm { bias: &self.contract.bias, norm: &self.output_norm })?;
        Ok(output)
    }

    fn attend(&self, rows: &Tensor, heads: usize, position_bias: Option<&PositionBias>) -> Result<Tensor> {
        let (tokens, columns) = rows.dims2()?;
        let width = columns / heads;
        let projected = self.attention_input.product(rows)?;
        projected.inplace_op1(&AddBias(&self.attention_input.bias))?;
        // (query | key | value, head, token, column of the head): views, nothing is copied.
        let parts = projected.reshape((tokens, 3, heads, width))?.permute((1, 2, 0, 3))?;
        let (query, key, value) = (parts.get(0)?, parts.get(1)?, parts.get(2)?);

        let weights = query.matmul(&key.t()?)?;
        #[expect(clippy::cast_precision_loss, reason = "a head has hundreds of columns at most")]
        let scale = 1.0 / (width as f32).sqrt();
        weights.inplace_op1(&Softmax { scale, position_bias })?;
        weights.matmul(&value)?.transpose(0, 1)?.reshape((tokens, columns))
    }
}
