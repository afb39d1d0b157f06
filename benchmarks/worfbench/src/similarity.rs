//! Similarity of predicted and gold texts, in whole units of 1e-6 (docs/benchmarks/worfbench.md §5.1).

use std::collections::HashMap;

use regatta_benchmarks::cosine::SAME_MICRO;
use regatta_matching::Weights;

use super::error::ScoreError;

/// Pairs must be more alike than this to be matched. Fixed by the published code.
const THRESHOLD_MICRO: i32 = 600_000;

/// Similarities of one item's predicted texts with its gold texts, looked up by text.
#[derive(Debug, Clone, Default)]
pub(crate) struct Similarities {
    rows: HashMap<Box<str>, usize>,
    columns: HashMap<Box<str>, usize>,
    /// Row by row, `stride` columns each.
    micro: Vec<i32>,
    stride: usize,
}

impl Similarities {
    /// `micro[a][b]` belongs to `predicted[a]` and `gold[b]`, in units of 1e-6. Equal texts are alike whatever it says.
    ///
    /// # Errors
    /// If the matrix has another shape than the texts.
    pub(crate) fn new<T: AsRef<str>>(predicted: &[T], gold: &[T], micro: &[Vec<i32>]) -> Result<Self, ScoreError> {
        let shape = |row| ScoreError::SimilarityShape { rows: predicted.len(), columns: gold.len(), row };
        if micro.len() != predicted.len() {
            return Err(shape(micro.len().min(predicted.len())));
        }
        if let Some(row) = micro.iter().position(|row| row.len() != gold.len()) {
            return Err(shape(row));
        }
        let index = |texts: &[T]| texts.iter().enumerate().map(|(at, text)| (text.as_ref().into(), at)).collect();
        Ok(Self { rows: index(predicted), columns: index(gold), micro: micro.concat(), stride: gold.len() })
    }

    /// Weights for matching two lists of texts: similarities above the threshold, 0 for all others.
    ///
    /// # Errors
    /// If the similarity of two different texts is not known.
    pub(crate) fn weights(&self, predicted: &[&str], gold: &[&str]) -> Result<Weights, ScoreError> {
        let columns: Vec<_> = gold.iter().map(|&text| self.columns.get(text).copied()).collect();
        let mut weights = Weights::none(predicted.len(), gold.len());
        for (at, &text) in predicted.iter().enumerate() {
            let row = self.rows.get(text).copied();
            for (j, weight) in weights.row_mut(at).iter_mut().enumerate() {
                let micro = match (row, columns[j]) {
                    _ if text == gold[j] => SAME_MICRO,
                    (Some(row), Some(column)) => self.micro[row * self.stride + column],
                    _ => {
                        return Err(ScoreError::MissingSimilarity {
                            predicted: text.to_owned(),
                            gold: gold[j].to_owned(),
                        });
                    }
                };
                if micro > THRESHOLD_MICRO {
                    *weight = micro;
                }
            }
        }
        Ok(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_are_alike_whatever_was_recorded() {
        let known = Similarities::new(&["a"], &["a", "b"], &[vec![200_000, 700_000]]).unwrap();
        assert_eq!(known.weights(&["a"], &["b", "a", "b"]).unwrap().row(0), [700_000, 1_000_000, 700_000]);
        assert_eq!(known.weights(&["c"], &["c"]).unwrap().row(0), [1_000_000]);
    }

    #[test]
    fn a_pair_without_similarity_is_an_error_not_a_zero() {
        let known = Similarities::new(&["a"], &["b"], &[vec![700_000]]).unwrap();
        let missing = ScoreError::MissingSimilarity { predicted: "a".to_owned(), gold: "c".to_owned() };
        assert_eq!(known.weights(&["a", "c"], &["b", "c"]), Err(missing));
    }

    #[test]
    fn the_threshold_itself_is_not_enough() {
        let known = Similarities::new(&["a"], &["x", "y", "z"], &[vec![600_000, 600_001, -900_000]]).unwrap();
        assert_eq!(known.weights(&["a"], &["x", "y", "z"]).unwrap().row(0), [0, 600_001, 0]);
    }

    #[test]
    fn a_matrix_of_another_shape_is_refused() {
        let error = Similarities::new(&["a", "b"], &["x"], &[vec![1], vec![]]).unwrap_err();
        assert_eq!(error, ScoreError::SimilarityShape { rows: 2, columns: 1, row: 1 });
        assert!(Similarities::new(&["a", "b"], &["x"], &[vec![1]]).is_err());
    }
}
