//! Estimates of the tokens that a call takes: defaults at first, then learned from the model's answers.

use std::collections::HashMap;

use regatta_proto::Usage;

/// Tokens per byte of a prompt before the first answer; English text has fewer, code and other scripts more.
const TOKENS_PER_BYTE: f64 = 0.3;
/// Largest estimate of an answer's tokens before the first answer.
const OUTPUT_AT_FIRST: u64 = 1024;
/// Answers after which the learned length is used.
const ANSWERS_MIN: u32 = 8;
/// Least weight of a new answer in the mean, so that old answers are forgotten over some dozens of new ones.
const WEIGHT_MIN: f64 = 1.0 / 64.0;
/// Most models to remember; beyond it all are forgotten. Only a defect would use so many at one endpoint.
const MODELS_MAX: usize = 256;

/// The expected tokens of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Estimate {
    /// Prompt tokens.
    pub(crate) input: u64,
    /// Generated tokens.
    pub(crate) output: u64,
}

impl Estimate {
    pub(crate) const fn total(self) -> u64 {
        self.input.saturating_add(self.output)
    }
}

/// Learned values by model.
#[derive(Debug, Default)]
pub(crate) struct Estimates(HashMap<String, Learned>);

#[derive(Debug, Clone, Copy)]
struct Learned {
    answers: u32,
    tokens_per_byte: f64,
    output: f64,
    variance: f64,
}

impl Estimates {
    /// Estimates a prompt of `prompt_bytes` to `model` that may generate at most `max_output` tokens.
    pub(crate) fn of(&self, model: &str, prompt_bytes: u64, max_output: Option<u64>) -> Estimate {
        let learned = self.0.get(model);
        let per_byte = learned.map_or(TOKENS_PER_BYTE, |learned| learned.tokens_per_byte);
        let output = match learned.filter(|learned| learned.answers >= ANSWERS_MIN) {
            Some(learned) => (learned.output + 2.0 * learned.variance.sqrt()).ceil() as u64,
            None => OUTPUT_AT_FIRST,
        };
        Estimate {
            input: (prompt_bytes as f64 * per_byte).ceil() as u64,
            output: output.min(max_output.unwrap_or(u64::MAX)),
        }
    }

    /// Learns from an answer of `model` to a prompt of `prompt_bytes`.
    pub(crate) fn learn(&mut self, model: &str, prompt_bytes: u64, usage: &Usage) {
        if let Some(learned) = self.0.get_mut(model) {
            return learned.learn(prompt_bytes, usage);
        }
        if self.0.len() >= MODELS_MAX {
            self.0.clear();
        }
        let mut learned = Learned { answers: 0, tokens_per_byte: TOKENS_PER_BYTE, output: 0.0, variance: 0.0 };
        learned.learn(prompt_bytes, usage);
        self.0.insert(model.to_owned(), learned);
    }
}

impl Learned {
    fn learn(&mut self, prompt_bytes: u64, usage: &Usage) {
        self.answers = self.answers.saturating_add(1);
        let weight = (1.0 / f64::from(self.answers)).max(WEIGHT_MIN);
        let per_byte = usage.input as f64 / prompt_bytes.max(1) as f64;
        self.tokens_per_byte += weight * (per_byte - self.tokens_per_byte);
        // Exponentially weighted mean and variance (Finch, "Incremental calculation of weighted mean and variance", 2009).
        let difference = usage.output as f64 - self.output;
        self.output += weight * difference;
        self.variance = (1.0 - weight) * (self.variance + weight * difference * difference);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(input: u64, output: u64) -> Usage {
        Usage { input, output, ..Usage::default() }
    }

    #[test]
    fn the_first_guess_is_a_third_of_the_bytes_and_the_requests_own_limit() {
        let estimates = Estimates::default();
        assert_eq!(estimates.of("m", 1000, Some(100)), Estimate { input: 300, output: 100 });
        assert_eq!(estimates.of("m", 1000, None).output, 1024);
        assert_eq!(estimates.of("m", 1000, Some(100_000)).output, 1024);
    }

    #[test]
    fn what_answers_took_is_expected_of_the_next_one() {
        let mut estimates = Estimates::default();
        for number in 0..200 {
            estimates.learn("m", 1000, &usage(250, if number % 2 == 0 { 90 } else { 110 }));
        }
        let estimate = estimates.of("m", 2000, Some(4096));
        assert_eq!(estimate.input, 500);
        assert!((118..=122).contains(&estimate.output), "mean 100, deviation 10: {estimate:?}");
        assert_eq!(estimates.of("m", 2000, Some(50)).output, 50, "never more than it may generate");
        assert_eq!(estimates.of("other", 1000, None).output, 1024);
    }

    #[test]
    fn the_number_of_models_in_mind_is_bounded() {
        let mut estimates = Estimates::default();
        (0..10 * MODELS_MAX).for_each(|number| estimates.learn(&number.to_string(), 10, &usage(1, 1)));
        assert!(estimates.0.len() <= MODELS_MAX);
    }
}
