//! The published numbers (docs/benchmarks/orchestrationbench.md §9): the repository's table for `official`, the paper's English rows for
//! `paper`, and its correlations.

use regatta_proto::Evaluator;

use super::measure::Measure;
use crate::data::Language;

/// A model of the repository's table, in percent: average of both languages; then average, plan, call or rejection and function call, each
/// Korean before English.
type RepositoryRow = (&'static str, f64, [[f64; 2]; 4]);

/// The repository's table.
const REPOSITORY: [RepositoryRow; 14] = [
    ("gemini-3-pro-preview", 84.12, [[84.24, 84.00], [82.02, 82.08], [86.84, 87.02], [83.87, 82.90]]),
    ("gemini-3-flash-preview", 83.54, [[83.00, 84.08], [83.83, 83.59], [87.48, 85.77], [77.69, 82.88]]),
    ("GLM-4.7", 83.17, [[84.12, 82.22], [76.43, 75.78], [86.35, 83.45], [89.59, 87.42]]),
    ("gpt-5.2-2025-12-11", 76.05, [[77.08, 75.01], [70.68, 70.10], [76.94, 74.60], [83.63, 80.34]]),
    ("Qwen3-235B-A22B-Instruct-2507", 70.65, [[70.88, 70.42], [70.36, 70.94], [58.49, 57.98], [83.79, 82.34]]),
    ("A.X-K1", 69.94, [[71.98, 67.90], [56.07, 40.87], [78.11, 79.81], [81.77, 83.01]]),
    ("Solar-Open-100B", 67.05, [[65.09, 69.01], [42.01, 47.84], [74.83, 78.86], [78.43, 80.32]]),
    ("kanana-2-30b-a3b-thinking-2601", 66.22, [[66.46, 65.98], [52.21, 50.13], [63.58, 64.56], [83.60, 83.24]]),
    ("Qwen3-30B-A3B-Instruct-2507", 66.08, [[66.11, 66.04], [72.37, 73.16], [44.16, 44.00], [81.79, 80.96]]),
    ("Qwen2.5-32B-Instruct", 66.03, [[66.51, 65.54], [71.24, 71.27], [45.00, 43.69], [83.29, 81.67]]),
    ("A.X-4.0", 65.98, [[64.68, 67.27], [64.46, 68.84], [46.83, 49.93], [82.76, 83.04]]),
    ("K-EXAONE-236B-A23B", 58.30, [[59.67, 56.92], [35.39, 36.92], [60.14, 54.43], [83.47, 79.42]]),
    ("HyperCLOVAX-SEED-Think-32B", 54.36, [[52.51, 56.21], [5.87, 19.75], [68.15, 67.07], [83.50, 81.81]]),
    ("EXAONE-4.0-32B", 14.49, [[14.47, 14.50], [0.05, 0.03], [43.36, 43.41], [0.00, 0.05]]),
];

/// A model of the paper's English table: score, plan, call or rejection, function call, in the order of [`Measure::ALL`].
type PaperRow = (&'static str, [f64; 4]);

/// The paper's English table.
const PAPER: [PaperRow; 8] = [
    ("gemini-2.5-pro-preview", [0.803, 0.850, 0.724, 0.836]),
    ("claude-sonnet-4", [0.842, 0.773, 0.868, 0.885]),
    ("gpt-4.1", [0.822, 0.744, 0.860, 0.861]),
    ("Qwen3-235B-A22B", [0.842, 0.768, 0.876, 0.880]),
    ("Qwen3-32B", [0.819, 0.792, 0.857, 0.808]),
    ("gpt-5", [0.726, 0.583, 0.791, 0.804]),
    ("gpt-4.1-nano", [0.646, 0.462, 0.725, 0.752]),
    ("EXAONE-4.0-32B", [0.415, 0.057, 0.653, 0.534]),
];

/// The paper's correlations over its models: call or rejection with plan, with function call; plan with function call.
const CORRELATIONS: [(Language, [f64; 3]); 2] =
    [(Language::En, [0.583, 0.726, 0.922]), (Language::Ko, [0.448, 0.577, 0.775])];

/// Returns the models that an evaluator has published results of, in the published order.
pub(super) fn models(evaluator: Evaluator) -> Vec<&'static str> {
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => REPOSITORY.iter().map(|(model, ..)| *model).collect(),
        _ => PAPER.iter().map(|(model, _)| *model).collect(),
    }
}

/// Returns the paper's English results: for each model a function from the measure to its value.
pub(super) fn english_of_paper() -> Vec<impl Fn(Measure) -> Option<f64>> {
    let of = |(model, _): &(&'static str, [f64; 4])| {
        let model = *model;
        move |measure| published(Evaluator::Paper, model, measure, Some(Language::En))
    };
    PAPER.iter().map(of).collect()
}

/// Returns the published result of a model, of any provider, as a share; over both languages for `None`.
pub(super) fn published(
    evaluator: Evaluator,
    model: &str,
    measure: Measure,
    language: Option<Language>,
) -> Option<f64> {
    let model = model.rsplit('/').next().unwrap_or(model);
    let at = Measure::ALL.iter().position(|of| *of == measure)?;
    match evaluator {
        Evaluator::Official | Evaluator::OfficialFixed => {
            let (_, all, rest) = REPOSITORY.iter().find(|(name, ..)| name.eq_ignore_ascii_case(model))?;
            let [korean, english] = rest.get(at)?;
            let percent = match language {
                Some(Language::En) => english,
                Some(Language::Ko) => korean,
                None => (measure == Measure::Average).then_some(all)?,
            };
            // Rounded to hundredths of a percent, which removes the error of the division.
            Some((percent * 100.0).round() / 10_000.0)
        }
        _ => {
            let (_, values) = PAPER.iter().find(|(name, _)| name.eq_ignore_ascii_case(model))?;
            values.get(at).copied().filter(|_| language == Some(Language::En))
        }
    }
}

/// The published correlations of a language.
pub(super) fn correlations(language: Language) -> Option<[f64; 3]> {
    CORRELATIONS.iter().find(|(of, _)| *of == language).map(|(_, values)| *values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_the_means_of_what_stands_beside_them() {
        for (model, all, [average, rest @ ..]) in REPOSITORY {
            assert!((f64::midpoint(average[0], average[1]) - all).abs() < 0.011, "{model}");
            for (language, average) in average.iter().enumerate() {
                let mean = rest.iter().map(|both| both[language]).sum::<f64>() / 3.0;
                assert!((mean - average).abs() < 0.011, "{model}");
            }
        }
        for (model, [score, rest @ ..]) in PAPER {
            assert!((rest.iter().sum::<f64>() / 3.0 - score).abs() < 0.0011, "{model}");
        }
    }

    #[test]
    fn a_model_is_found_whoever_serves_it() {
        let plan = |evaluator, model, language| published(evaluator, model, Measure::Plan, language);
        assert_eq!(plan(Evaluator::Official, "skt/a.x-k1", Some(Language::En)), Some(0.4087));
        assert_eq!(plan(Evaluator::Official, "A.X-K1", Some(Language::Ko)), Some(0.5607));
        assert_eq!(plan(Evaluator::Official, "A.X-K1", None), None);
        assert_eq!(published(Evaluator::Official, "A.X-K1", Measure::Average, None), Some(0.6994));
        assert_eq!(plan(Evaluator::Paper, "openai/gpt-5", Some(Language::En)), Some(0.583));
        assert_eq!(plan(Evaluator::Paper, "gpt-5", Some(Language::Ko)), None);
        assert_eq!(plan(Evaluator::Paper, "gpt-5-mini", Some(Language::En)), None);
    }
}
