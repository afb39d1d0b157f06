//! Values that look like something and mean nothing: drawn from what was asked.

use jiff::civil::Date;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{RngCore, SeedableRng};
use regatta_proto::Digest;
use regatta_pycompat::lower;

/// Seeded source of the values of a service.
#[derive(Debug)]
pub(super) struct Draw(ChaCha8Rng);

impl Draw {
    /// The values of `question`, in whatever case and with whatever blanks, for `purpose`; those of a day, where one is given.
    pub(super) fn new(purpose: &str, question: &str, day: Option<Date>) -> Self {
        let day = day.map(|day| day.to_string()).unwrap_or_default();
        let question = normalised(question);
        let parts = ["regatta/autoslurp-service/1", purpose, &question, &day];
        Self(ChaCha8Rng::from_seed(*Digest::of_parts(parts.map(str::as_bytes)).bytes()))
    }

    /// A whole number below `end`, which is small and not 0.
    pub(super) fn below(&mut self, end: u32) -> u32 {
        self.0.next_u32() % end.max(1)
    }

    /// One of these.
    pub(super) fn one_of<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        let at = self.below(u32::try_from(choices.len()).unwrap_or(u32::MAX));
        choices.get(at as usize).copied().unwrap_or_default()
    }

    /// A number between two, with so many decimals.
    pub(super) fn between(&mut self, low: f64, high: f64, decimals: i32) -> f64 {
        rounded(low + (high - low) * f64::from(self.0.next_u32()) / f64::from(u32::MAX), decimals)
    }
}

/// A number with so many decimals.
pub(super) fn rounded(number: f64, decimals: i32) -> f64 {
    let scale = 10f64.powi(decimals);
    (number * scale).round() / scale
}

/// A question in lower case with single blanks.
pub(super) fn normalised(question: &str) -> String {
    lower(question).split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::*;

    fn drawn(question: &str, day: Option<Date>) -> u32 {
        Draw::new("test", question, day).below(u32::MAX)
    }

    #[test]
    fn the_same_question_has_the_same_values_every_time() {
        let day = Some(date(2025, 5, 28));
        assert_eq!(drawn("Who  is\tthat ", day), drawn("who is that", day));
        assert_ne!(drawn("who is that", day), drawn("who was that", day));
        assert_ne!(drawn("who is that", day), drawn("who is that", Some(date(2025, 5, 29))));
        assert_ne!(drawn("a", None), Draw::new("other", "a", None).below(u32::MAX));
    }

    #[test]
    fn numbers_are_between_their_bounds_and_have_few_decimals() {
        let mut draw = Draw::new("test", "", None);
        for _ in 0..1000 {
            let number = draw.between(-5.0, 5.0, 1);
            assert!((-5.0..=5.0).contains(&number) && number.to_string().len() <= 4, "{number}");
            assert!(draw.below(3) < 3 && ["a", "b"].contains(&draw.one_of(&["a", "b"])));
        }
    }
}
