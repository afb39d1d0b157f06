//! Published numbers (the paper's Tables 3, 4, 5, 7, 9 and 11), in percent except response scores (0–10) and
//! correlations. Domains and average turns are published as figures only.

use super::metrics::name;
use crate::setting::{Format, Level, Scope};

/// Index of a model in [`MODELS`].
type Model = usize;

const GPT4O: Model = 0;
const GPT4_TURBO: Model = 1;
const GPT35_TURBO: Model = 2;
const QWEN2_7B: Model = 3;
const QWEN2_72B: Model = 4;

/// Names that providers and people use for the paper's models, in lower case.
const MODELS: [&[&str]; 5] = [
    &["gpt-4o", "gpt-4o-0513", "gpt-4o-2024-05-13"],
    &["gpt-4-turbo", "gpt-4-turbo-preview", "gpt-4-0125-preview", "gpt-4-turbo-0125-preview"],
    &["gpt-3.5-turbo", "gpt-35-turbo", "gpt-3.5-turbo-16k", "gpt-35-turbo-16k", "gpt-3.5-turbo-16k-0613"],
    &["qwen2-7b", "qwen2-7b-instruct"],
    &["qwen2-72b", "qwen2-72b-instruct"],
];

/// Model, format, and `N` numbers each for the single-scenario and the cross-scenario setting.
type Row<const N: usize> = (Model, Format, [f64; N], [f64; N]);

const TURN_METRICS: [&str; 5] =
    [name::TOOL_PRECISION, name::TOOL_RECALL, name::TOOL_F1, name::PARAM_F1, name::RESPONSE_SCORE];
const SESSION_METRICS: [&str; 5] =
    [name::TOOL_PRECISION, name::TOOL_RECALL, name::TOOL_F1, name::SUCCESS_RATE, name::PROGRESS];
const EXTREMES_METRICS: [&str; 3] = [name::TOOL_F1, name::SUCCESS_RATE, name::PROGRESS];
const F1_METRIC: [&str; 1] = [name::TOOL_F1];
const NODE_METRIC: [&str; 1] = [name::NODE_ACCURACY];

/// Table 3: tool precision, recall and F1, parameter F1, response score (0–10).
const TURN: [Row<5>; 12] = [
    (GPT4O, Format::None, [73.8, 60.3, 66.3, 76.5, 7.80], [60.8, 51.2, 55.4, 70.8, 7.85]),
    (GPT4O, Format::Text, [75.9, 63.6, 69.1, 77.2, 8.22], [66.0, 54.9, 59.9, 71.0, 8.34]),
    (GPT4O, Format::Code, [73.7, 64.9, 69.0, 78.3, 8.30], [63.2, 53.9, 58.2, 70.7, 8.23]),
    (GPT4O, Format::Flowchart, [83.4, 68.9, 75.5, 80.9, 8.38], [73.9, 56.0, 63.7, 72.2, 8.29]),
    (GPT4_TURBO, Format::None, [68.3, 52.1, 59.1, 71.7, 7.55], [53.9, 45.6, 49.2, 63.9, 7.77]),
    (GPT4_TURBO, Format::Text, [70.2, 56.8, 62.9, 74.5, 7.94], [55.3, 47.2, 51.1, 64.3, 8.05]),
    (GPT4_TURBO, Format::Code, [73.7, 61.4, 67.0, 78.8, 7.98], [53.7, 49.4, 51.4, 65.1, 8.03]),
    (GPT4_TURBO, Format::Flowchart, [78.9, 69.3, 73.6, 79.2, 8.06], [67.2, 58.1, 62.3, 71.5, 8.10]),
    (GPT35_TURBO, Format::None, [58.5, 51.9, 55.0, 67.9, 7.01], [52.5, 42.7, 47.2, 66.2, 7.19]),
    (GPT35_TURBO, Format::Text, [63.4, 56.8, 59.8, 72.5, 7.28], [53.5, 48.9, 51.0, 69.0, 7.39]),
    (GPT35_TURBO, Format::Code, [60.7, 55.0, 57.9, 69.2, 7.33], [53.1, 47.7, 50.2, 70.2, 7.33]),
    (GPT35_TURBO, Format::Flowchart, [71.6, 59.6, 65.4, 76.3, 7.39], [60.9, 51.0, 55.6, 70.8, 7.30]),
];

/// Table 4: tool precision, recall and F1, success rate, task progress.
const SESSION: [Row<5>; 12] = [
    (GPT4O, Format::None, [67.8, 70.5, 69.0, 35.1, 77.5], [45.1, 53.9, 49.0, 34.2, 75.7]),
    (GPT4O, Format::Text, [73.7, 81.2, 77.2, 41.7, 83.4], [50.5, 58.7, 54.1, 40.9, 81.2]),
    (GPT4O, Format::Code, [70.9, 79.6, 75.0, 43.2, 83.1], [47.7, 56.9, 51.9, 38.2, 77.9]),
    (GPT4O, Format::Flowchart, [74.3, 82.6, 78.3, 42.7, 82.2], [50.2, 60.4, 54.7, 40.1, 81.3]),
    (GPT4_TURBO, Format::None, [62.9, 64.0, 63.5, 31.9, 76.7], [43.6, 47.0, 45.2, 31.1, 75.3]),
    (GPT4_TURBO, Format::Text, [65.9, 69.9, 67.8, 41.5, 83.8], [47.6, 49.3, 48.4, 36.8, 79.6]),
    (GPT4_TURBO, Format::Code, [79.3, 64.7, 71.2, 37.8, 83.6], [47.5, 52.9, 50.0, 37.3, 82.0]),
    (GPT4_TURBO, Format::Flowchart, [70.5, 78.3, 74.2, 40.6, 82.3], [50.1, 51.2, 50.6, 39.4, 81.1]),
    (GPT35_TURBO, Format::None, [37.6, 50.5, 43.1, 29.8, 63.7], [24.7, 30.7, 27.4, 22.4, 61.1]),
    (GPT35_TURBO, Format::Text, [44.1, 55.6, 49.1, 37.0, 69.7], [25.6, 31.5, 28.2, 25.2, 63.9]),
    (GPT35_TURBO, Format::Code, [44.5, 52.9, 48.3, 31.3, 66.3], [24.5, 31.9, 27.8, 24.1, 62.9]),
    (GPT35_TURBO, Format::Flowchart, [43.6, 54.3, 48.4, 34.9, 68.6], [24.9, 33.0, 28.5, 24.7, 67.0]),
];

/// Table 3, models with only the tool F1 published.
const TURN_F1: [Row<1>; 8] = [
    (QWEN2_7B, Format::None, [35.0], [26.9]),
    (QWEN2_7B, Format::Text, [37.6], [29.0]),
    (QWEN2_7B, Format::Code, [37.0], [28.8]),
    (QWEN2_7B, Format::Flowchart, [38.8], [29.6]),
    (QWEN2_72B, Format::None, [53.3], [41.7]),
    (QWEN2_72B, Format::Text, [55.3], [42.2]),
    (QWEN2_72B, Format::Code, [55.2], [43.5]),
    (QWEN2_72B, Format::Flowchart, [58.1], [47.4]),
];

/// Table 5: tool F1, success rate, task progress.
const EXTREMES: [Row<3>; 2] = [
    (GPT4_TURBO, Format::NoneWithoutTools, [53.0, 28.9, 72.1], [31.7, 25.3, 71.3]),
    (GPT4_TURBO, Format::Ensemble, [75.1, 45.3, 85.2], [51.8, 43.4, 81.6]),
];

/// Table 7: shares of the failures of types 1 to 5.
const FAILURES: [Row<5>; 4] = [
    (GPT4_TURBO, Format::None, [52.1, 4.5, 6.0, 35.1, 2.3], [32.4, 4.3, 9.0, 54.3, 0.0]),
    (GPT4_TURBO, Format::Text, [52.2, 3.3, 2.2, 40.2, 2.1], [45.8, 1.3, 4.2, 46.7, 2.0]),
    (GPT4_TURBO, Format::Code, [57.3, 1.9, 2.9, 35.9, 2.0], [41.4, 1.2, 8.0, 47.1, 2.3]),
    (GPT4_TURBO, Format::Flowchart, [56.9, 0.9, 3.9, 34.9, 3.4], [49.5, 0.9, 7.5, 40.9, 1.2]),
];

/// Table 9: node accuracy.
const NODES: [Row<1>; 3] = [
    (GPT4O, Format::Flowchart, [92.5], [84.0]),
    (GPT4_TURBO, Format::Flowchart, [91.8], [70.7]),
    (GPT35_TURBO, Format::Flowchart, [77.9], [57.3]),
];

/// Table 11: Pearson's correlation between humans, and of humans with the judge.
const ALIGNMENT: [(Format, [f64; 2], [f64; 2]); 4] = [
    (Format::None, [0.87, 0.81], [0.86, 0.87]),
    (Format::Text, [0.88, 0.86], [0.83, 0.76]),
    (Format::Code, [0.80, 0.76], [0.89, 0.82]),
    (Format::Flowchart, [0.82, 0.78], [0.83, 0.85]),
];

/// Key of a published number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place<'a> {
    /// Model family, independent of the provider.
    pub(crate) model: &'a str,
    pub(crate) level: Level,
    pub(crate) scope: Scope,
    pub(crate) format: Format,
}

/// Returns the published value of `metric` in our unit: a share in 0..=1, a response score in 0..=10.
pub(crate) fn published(place: Place<'_>, metric: &str) -> Option<f64> {
    let found = match place.level {
        Level::Turn => find(&TURN, &TURN_METRICS, place, metric)
            .or_else(|| find(&TURN_F1, &F1_METRIC, place, metric))
            .or_else(|| find(&NODES, &NODE_METRIC, place, metric)),
        Level::Session => find(&SESSION, &SESSION_METRICS, place, metric)
            .or_else(|| find(&EXTREMES, &EXTREMES_METRICS, place, metric))
            .or_else(|| find(&FAILURES, &name::FAILURES, place, metric)),
    }?;
    // Rounded to tenths of a percent, which removes the error of the division.
    Some(if metric == name::RESPONSE_SCORE { found } else { (found * 10.0).round() / 1000.0 })
}

/// Returns the published correlations: between humans, and of humans with the judge.
pub(crate) fn alignment(scope: Scope, format: Format) -> Option<[f64; 2]> {
    let (_, single, cross) = ALIGNMENT.iter().find(|(of, _, _)| *of == format)?;
    Some(of_scope(scope, *single, *cross))
}

fn find<const N: usize>(rows: &[Row<N>], metrics: &[&str; N], place: Place<'_>, metric: &str) -> Option<f64> {
    let model = model(place.model)?;
    let at = metrics.iter().position(|name| *name == metric)?;
    let (_, _, single, cross) = rows.iter().find(|(of, format, _, _)| (*of, *format) == (model, place.format))?;
    Some(of_scope(place.scope, single[at], cross[at]))
}

fn of_scope<T>(scope: Scope, single: T, cross: T) -> T {
    match scope {
        Scope::Single => single,
        Scope::Cross => cross,
    }
}

/// Finds the paper's model that is called `name`; text up to the last slash, such as an organisation, is ignored.
fn model(name: &str) -> Option<Model> {
    let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    MODELS.iter().position(|names| names.contains(&name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(model: &str, level: Level, scope: Scope, format: Format, metric: &str) -> Option<f64> {
        published(Place { model, level, scope, format }, metric)
    }

    #[test]
    fn published_numbers_are_found_by_the_models_usual_names() {
        for model in ["gpt-4o", "GPT-4o-2024-05-13", "openai/gpt-4o"] {
            let found = at(model, Level::Turn, Scope::Cross, Format::Flowchart, "tool_precision");
            assert_eq!(found, Some(0.739), "{model}");
        }
        assert_eq!(at("gpt-4o-mini", Level::Turn, Scope::Single, Format::None, "tool_f1"), None);
    }

    #[test]
    fn every_table_is_in_its_place() {
        let turbo = |level, scope, format, metric| at("gpt-4-turbo", level, scope, format, metric);
        assert_eq!(turbo(Level::Turn, Scope::Single, Format::Text, "response_score"), Some(7.94));
        assert_eq!(turbo(Level::Turn, Scope::Cross, Format::Flowchart, "node_accuracy"), Some(0.707));
        assert_eq!(turbo(Level::Session, Scope::Single, Format::Code, "success_rate"), Some(0.378));
        assert_eq!(turbo(Level::Session, Scope::Cross, Format::Ensemble, "progress"), Some(0.816));
        assert_eq!(turbo(Level::Session, Scope::Cross, Format::None, "failure_4"), Some(0.543));
        assert_eq!(turbo(Level::Session, Scope::Single, Format::Ensemble, "tool_precision"), None);
        assert_eq!(at("Qwen2-72B-Instruct", Level::Turn, Scope::Cross, Format::Flowchart, "tool_f1"), Some(0.474));
        assert_eq!(alignment(Scope::Cross, Format::Text), Some([0.83, 0.76]));
    }

    #[test]
    fn shares_of_failures_add_up_to_everything() {
        for (_, _, single, cross) in FAILURES {
            for shares in [single, cross] {
                assert!((shares.iter().sum::<f64>() - 100.0).abs() < 0.25, "{shares:?}");
            }
        }
    }
}
