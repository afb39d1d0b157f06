//! The forward pass as it is defined, in f64, one number at a time.

use crate::models::{EPSILON, HEADS, HIDDEN, Kind, LAYERS, Matrix, VOCABULARY, Weights, layer_names};

type Rows = Vec<Vec<f64>>;

/// Token ids of a text of known words, as a person would write them down.
pub(crate) fn ids(tokens: &[&str]) -> Vec<usize> {
    let id = |token: &&str| VOCABULARY.iter().position(|known| known == token).unwrap();
    std::iter::once(&"<s>").chain(tokens).chain(std::iter::once(&"</s>")).map(id).collect()
}

pub(crate) fn encode(kind: Kind, weights: &Weights, ids: &[usize]) -> Vec<f64> {
    let matrix = |name: &str| &weights[name];
    let mut rows: Rows = Vec::new();
    for (index, id) in ids.iter().enumerate() {
        let word = matrix("embeddings.word_embeddings.weight").row(*id);
        let position = matrix("embeddings.position_embeddings.weight").row(position(kind, ids, index));
        let row = (0..HIDDEN).map(|column| f64::from(word[column]) + f64::from(position[column]));
        rows.push(match kind {
            Kind::Bert => {
                let types = matrix("embeddings.token_type_embeddings.weight").row(0);
                row.zip(types).map(|(value, kind)| value + f64::from(*kind)).collect()
            }
            Kind::Mpnet => row.collect(),
        });
    }
    let mut rows = normalised(weights, "embeddings.LayerNorm", &rows);
    for layer in 0..LAYERS {
        rows = encoder_layer(kind, weights, &format!("encoder.layer.{layer}."), &rows);
    }
    let mean: Vec<f64> =
        (0..HIDDEN).map(|column| rows.iter().map(|row| row[column]).sum::<f64>() / rows.len() as f64).collect();
    let length = mean.iter().map(|value| value * value).sum::<f64>().sqrt();
    mean.into_iter().map(|value| value / length).collect()
}

/// Position of the token at `index`. BERT counts from 0. MPNet counts from 2, over tokens other than padding (id 1), which is at 1.
fn position(kind: Kind, ids: &[usize], index: usize) -> usize {
    match kind {
        Kind::Bert => index,
        Kind::Mpnet if ids[index] == 1 => 1,
        Kind::Mpnet => 1 + ids[..=index].iter().filter(|id| **id != 1).count(),
    }
}

fn encoder_layer(kind: Kind, weights: &Weights, prefix: &str, rows: &Rows) -> Rows {
    let [query, key, value, output, norm] = layer_names(kind).map(|name| format!("{prefix}{name}"));
    let (queries, keys, values) =
        (dense(weights, &query, rows), dense(weights, &key, rows), dense(weights, &value, rows));
    let width = HIDDEN / HEADS;
    let mut context = vec![vec![0.0; HIDDEN]; rows.len()];
    for head in 0..HEADS {
        let columns = head * width..(head + 1) * width;
        for (from, query) in queries.iter().enumerate() {
            let mut scores = Vec::new();
            for (to, key) in keys.iter().enumerate() {
                let product: f64 = columns.clone().map(|column| query[column] * key[column]).sum();
                let bias = match kind {
                    Kind::Bert => 0.0,
                    Kind::Mpnet => {
                        let table = &weights["encoder.relative_attention_bias.weight"];
                        f64::from(table.row(bucket(from, to))[head])
                    }
                };
                scores.push(product / (width as f64).sqrt() + bias);
            }
            let total: f64 = scores.iter().map(|score| score.exp()).sum();
            for column in columns.clone() {
                let weighted = scores.iter().zip(&values).map(|(score, value)| score.exp() / total * value[column]);
                context[from][column] = weighted.sum();
            }
        }
    }
    let attended = normalised(weights, &norm, &sum(&dense(weights, &output, &context), rows));
    let mut wide = dense(weights, &format!("{prefix}intermediate.dense"), &attended);
    for value in wide.iter_mut().flatten() {
        *value *= share_below(*value);
    }
    let narrow = dense(weights, &format!("{prefix}output.dense"), &wide);
    normalised(weights, &format!("{prefix}output.LayerNorm"), &sum(&narrow, &attended))
}

/// The bucket of a pair of 32, in whole numbers: 16 for keys after the query. Distances below 8 have their own; from 8
/// on, the bucket grows by one whenever the distance has grown by the root of two; the last holds the rest.
fn bucket(query: usize, key: usize) -> usize {
    let side = if key > query { 16 } else { 0 };
    let distance = key.abs_diff(query);
    if distance < 8 {
        return side + distance;
    }
    side + 8 + (1..8).filter(|steps| distance * distance >= 64 << steps).count()
}

/// Cumulative distribution function of the standard normal distribution, by Simpson's rule from 0.
fn share_below(x: f64) -> f64 {
    let steps = 400;
    let step = x / f64::from(steps);
    let density = |at: f64| (-at * at / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt();
    let area: f64 = (0..=steps)
        .map(|index| {
            let weight = if index == 0 || index == steps {
                1.0
            } else if index % 2 == 1 {
                4.0
            } else {
                2.0
            };
            weight * density(f64::from(index) * step)
        })
        .sum();
    0.5 + area * step / 3.0
}

fn dense(weights: &Weights, name: &str, rows: &Rows) -> Rows {
    let (weight, bias): (&Matrix, &Matrix) = (&weights[&format!("{name}.weight")], &weights[&format!("{name}.bias")]);
    let output = |row: &[f64], index: usize| {
        let products = row.iter().zip(weight.row(index)).map(|(value, weight)| value * f64::from(*weight));
        products.sum::<f64>() + f64::from(bias.values[index])
    };
    rows.iter().map(|row| (0..bias.columns).map(|index| output(row, index)).collect()).collect()
}

fn normalised(weights: &Weights, name: &str, rows: &Rows) -> Rows {
    let (scale, shift) = (&weights[&format!("{name}.weight")].values, &weights[&format!("{name}.bias")].values);
    rows.iter()
        .map(|row| {
            let mean = row.iter().sum::<f64>() / row.len() as f64;
            let variance = row.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / row.len() as f64;
            let unit = |index: usize| (row[index] - mean) / (variance + EPSILON).sqrt();
            (0..row.len()).map(|index| unit(index) * f64::from(scale[index]) + f64::from(shift[index])).collect()
        })
        .collect()
}

fn sum(a: &Rows, b: &Rows) -> Rows {
    a.iter().zip(b).map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect()).collect()
}
