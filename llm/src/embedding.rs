//! Vectors of texts, and the cosine of two vectors.

/// A similarity of one, in millionths.
pub(crate) const ONE: i32 = 1_000_000;

/// A vector that is not zero, with its length computed once. `f32` from encoders; `f64` from recorded decimals.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedding<T> {
    values: Box<[T]>,
    length: f64,
}

impl<T: Copy + Into<f64>> Embedding<T> {
    /// `None` for a vector without a direction: empty, all zero, or with a value that is not finite.
    pub(crate) fn new(values: Vec<T>) -> Option<Self> {
        let length = dot(&values, &values).sqrt();
        (length.is_finite() && length > 0.0).then(|| Self { values: values.into(), length })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.values.len()
    }

    /// Cosine in f64, rounded to six decimals, as integer millionths. `None` for vectors of different dimensions.
    pub(crate) fn cosine_micro(&self, other: &Self) -> Option<i32> {
        if self.values.len() != other.values.len() {
            return None;
        }
        let cosine = dot(&self.values, &other.values) / (self.length * other.length);
        Some(to_micro(cosine.clamp(-1.0, 1.0)))
    }
}

/// A similarity in −1..=1 in millionths.
pub(crate) fn to_micro(similarity: f64) -> i32 {
    (similarity * f64::from(ONE)).round() as i32
}

fn dot<T: Copy + Into<f64>>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(&x, &y)| x.into() * y.into()).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_vector_without_direction_is_none() {
        assert!(Embedding::<f32>::new(vec![]).is_none());
        assert!(Embedding::new(vec![0.0f32; 4]).is_none());
        assert!(Embedding::new(vec![1.0, f32::NAN]).is_none());
    }

    proptest! {
        #[test]
        fn similarity_is_symmetric_bounded_and_one_with_itself(
            (a, b) in (1usize..64).prop_flat_map(|n| {
                (prop::collection::vec(-1e3f64..1e3, n), prop::collection::vec(-1e3f64..1e3, n))
            })
        ) {
            let (Some(x), Some(y)) = (Embedding::new(a), Embedding::new(b)) else { return Ok(()) };
            prop_assert_eq!(x.cosine_micro(&x), Some(ONE));
            prop_assert_eq!(x.cosine_micro(&y), y.cosine_micro(&x));
            prop_assert!(x.cosine_micro(&y).is_some_and(|micro| micro.abs() <= ONE));
        }

        #[test]
        fn it_is_the_encoders_similarity(
            (a, b) in (1usize..64).prop_flat_map(|n| {
                (prop::collection::vec(-1f32..1.0, n), prop::collection::vec(-1f32..1.0, n))
            })
        ) {
            let (Some(x), Some(y)) = (Embedding::new(a.clone()), Embedding::new(b.clone())) else { return Ok(()) };
            prop_assert_eq!(x.cosine_micro(&y), Some(regatta_encoder::cosine_micro(&a, &b)));
        }
    }
}
