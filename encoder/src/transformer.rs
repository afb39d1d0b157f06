//! The encoder layers that BERT and MPNet share: attention, then a feed-forward part, each followed by a residual
//! connection and a normalisation. They differ in the names of the weights and in the bias by relative position.

use crate::config::ModelConfig;
use crate::kernels::{
    Norm, Panels, PositionBias, Rows, RowsMut, add_bias, add_bias_gelu, add_residual_norm, attention_weights,
};
use crate::weights::{Dense, norm};
use candle_core::Result;
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

    /// The vectors of `tokens` tokens, one row each, through all layers.
    pub(crate) fn forward(&self, tokens: usize, mut rows: Vec<f32>) -> Vec<f32> {
        for layer in &self.layers {
            rows = layer.forward(tokens, &rows, self.heads, self.position_bias.as_ref());
        }
        rows
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

    fn forward(&self, tokens: usize, rows: &[f32], heads: usize, position_bias: Option<&PositionBias>) -> Vec<f32> {
        let context = self.attend(tokens, rows, heads, position_bias);
        let mut attended = self.attention_output.product(tokens, &context);
        add_residual_norm(&mut attended, &self.attention_output.bias, rows, &self.attention_norm);

        let mut wide = self.expand.product(tokens, &attended);
        add_bias_gelu(&mut wide, &self.expand.bias);
        let mut output = self.contract.product(tokens, &wide);
        add_residual_norm(&mut output, &self.contract.bias, &attended, &self.output_norm);
        output
    }

    /// For each token, the mean of all tokens' values, weighted by how well their keys match its query; head by head.
    fn attend(&self, tokens: usize, rows: &[f32], heads: usize, position_bias: Option<&PositionBias>) -> Vec<f32> {
        let mut projected = self.attention_input.product(tokens, rows);
        add_bias(&mut projected, &self.attention_input.bias);
        // A row of it: the queries of all heads, then the keys, then the values.
        let stride = self.attention_input.bias.len();
        let columns = stride / 3;
        let width = columns / heads;
        #[expect(clippy::cast_precision_loss, reason = "a head has hundreds of columns at most")]
        let scale = 1.0 / (width as f32).sqrt();

        let mut context = vec![0f32; tokens * columns];
        let mut weights = vec![0f32; tokens * tokens];
        for head in 0..heads {
            let (query, key, value) = (head * width, columns + head * width, 2 * columns + head * width);
            let keys = Panels::pack(width, tokens, |column, token| projected[token * stride + key + column]);
            let queries = Rows { values: &projected[query..], stride };
            keys.product(tokens, queries, RowsMut { values: &mut weights, stride: tokens });
            attention_weights(&mut weights, tokens, scale, head, position_bias);
            let values = Panels::pack(tokens, width, |token, column| projected[token * stride + value + column]);
            let weights = Rows { values: &weights, stride: tokens };
            values.product(tokens, weights, RowsMut { values: &mut context[head * width..], stride: columns });
        }
        context
    }
}
