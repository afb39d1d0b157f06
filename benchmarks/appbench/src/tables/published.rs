//! The published numbers (the paper's Tables 3, 4, 5 and 11), in percent. Those of figures are drawn, not printed.

/// Number of a model in [`MODELS`].
type Model = usize;

const GPT4O: Model = 0;
const GPT35: Model = 1;
const LLAMA3_70B: Model = 2;
const LLAMA3_8B: Model = 3;
const QWEN15_72B: Model = 4;
const QWEN15_14B: Model = 5;
const QWEN15_7B: Model = 6;
const MISTRAL_7B: Model = 7;
const VICUNA_13B: Model = 8;

/// Names by which providers and people call the paper's models, in lower case.
const MODELS: [&[&str]; 9] = [
    &["gpt-4o", "gpt-4o-2024-05-13"],
    &["gpt-3.5-turbo", "gpt-35-turbo", "gpt-3.5-turbo-0125"],
    &["llama3-70b", "llama-3-70b", "meta-llama-3-70b-instruct", "llama-3-70b-instruct"],
    &["llama3-8b", "llama-3-8b", "meta-llama-3-8b-instruct", "llama-3-8b-instruct"],
    &["qwen1.5-72b", "qwen1.5-72b-chat"],
    &["qwen1.5-14b", "qwen1.5-14b-chat"],
    &["qwen1.5-7b", "qwen1.5-7b-chat"],
    &["mistral-7b", "mistral-7b-instruct", "mistral-7b-instruct-v0.1", "mistral-7b-instruct-v0.2"],
    &["vicuna-13b", "vicuna-13b-v1.5"],
];

/// `N` numbers of each split.
pub(super) type Published<const N: usize> = [[f64; N]; 4];

/// A table: the numbers of each model.
pub(super) struct Numbers<const N: usize>(&'static [(Model, Published<N>)]);

impl<const N: usize> Numbers<N> {
    /// The numbers of the model that is called `name`; what stands before the last slash, as an organisation, does not matter.
    pub(super) fn of(&self, name: &str) -> Option<&'static Published<N>> {
        let name = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
        let model = MODELS.iter().position(|names| names.contains(&name.as_str()))?;
        self.0.iter().find(|(of, _)| *of == model).map(|(_, numbers)| numbers)
    }
}

/// A published percentage as a share; the published digits, and no more.
pub(super) fn share(percent: f64) -> f64 {
    (percent * 100.0).round() / 10_000.0
}

/// Table 3: F1 of apps, F1 of APIs, success.
pub(super) const TABLE_3: Numbers<3> = Numbers(&[
    (MISTRAL_7B, [[55.97, 16.31, 0.51], [36.59, 15.09, 0.50], [33.72, 6.42, 0.00], [28.92, 7.56, 0.00]]),
    (VICUNA_13B, [[43.20, 3.70, 2.00], [34.71, 4.63, 0.50], [20.43, 3.10, 0.00], [21.05, 2.52, 0.00]]),
    (LLAMA3_8B, [[63.04, 42.67, 23.23], [37.20, 25.33, 0.50], [30.65, 19.52, 0.10], [26.39, 17.80, 0.05]]),
    (LLAMA3_70B, [[71.20, 70.00, 50.00], [46.48, 46.96, 10.50], [32.61, 32.96, 2.50], [28.97, 28.53, 0.50]]),
    (QWEN15_7B, [[48.14, 19.54, 0.00], [30.13, 16.71, 0.00], [23.24, 10.11, 0.00], [23.76, 11.55, 0.00]]),
    (QWEN15_14B, [[72.89, 28.41, 10.10], [41.89, 25.51, 1.50], [42.22, 21.98, 0.80], [32.36, 15.07, 0.00]]),
    (QWEN15_72B, [[81.23, 24.28, 12.50], [51.89, 25.27, 1.00], [45.94, 13.42, 0.62], [38.53, 11.51, 0.00]]),
    (GPT35, [[63.60, 57.95, 30.81], [41.49, 43.65, 6.50], [33.17, 34.53, 7.00], [27.79, 28.09, 1.00]]),
    (GPT4O, [[88.31, 86.87, 70.92], [50.83, 50.57, 20.50], [39.39, 39.14, 11.00], [32.62, 32.35, 2.00]]),
]);

/// Table 4: key I, key D, value I, value D, time, space. Nothing depends on anything where there is one call.
pub(super) const TABLE_4: Numbers<6> = Numbers(&[(
    GPT4O,
    [
        [6.1, f64::NAN, 6.6, f64::NAN, 42.1, 26.3],
        [5.5, 8.0, 2.5, 75.5, 27.1, 15.2],
        [6.0, 1.0, 6.0, 30.0, 45.1, 8.8],
        [19.0, 15.0, 6.0, 82.0, 36.8, 24.6],
    ],
)]);

/// Table 5, as Table 3, with so many demonstrations. Its first row repeats Table 3, all but one number.
pub(super) fn table_5(shots: u8) -> Option<&'static Numbers<3>> {
    match shots {
        0 => Some(&Numbers(&[(
            GPT4O,
            [[88.31, 86.87, 70.92], [50.83, 50.57, 20.50], [39.39, 39.14, 11.00], [32.36, 32.35, 2.00]],
        )])),
        3 => Some(&Numbers(&[(
            GPT4O,
            [[93.73, 90.73, 81.63], [51.16, 50.90, 13.50], [40.12, 39.92, 12.50], [32.72, 32.73, 2.50]],
        )])),
        4 => Some(&Numbers(&[(
            GPT4O,
            [[93.23, 89.72, 79.59], [50.96, 50.70, 14.00], [40.29, 40.29, 10.50], [32.44, 32.44, 3.00]],
        )])),
        5 => Some(&Numbers(&[(
            GPT4O,
            [[93.70, 91.18, 79.59], [50.32, 50.06, 14.00], [40.33, 40.12, 12.50], [32.36, 32.36, 2.50]],
        )])),
        _ => None,
    }
}

/// Table 11: exact match of apps and of APIs.
pub(super) const TABLE_11: Numbers<2> = Numbers(&[
    (GPT4O, [[79.59, 78.06], [55.50, 51.50], [35.50, 26.50], [29.50, 24.00]]),
    (GPT35, [[44.44, 52.02], [30.50, 31.00], [31.00, 19.00], [18.50, 19.50]]),
    (LLAMA3_70B, [[60.94, 58.33], [51.00, 49.00], [12.00, 6.50], [16.00, 8.50]]),
    (QWEN15_72B, [[71.88, 32.29], [38.50, 9.50], [2.47, 1.85], [4.50, 3.50]]),
    (QWEN15_14B, [[56.57, 41.92], [10.50, 10.00], [5.60, 4.00], [1.50, 1.50]]),
    (QWEN15_7B, [[28.28, 12.63], [11.50, 4.00], [2.50, 0.50], [4.00, 1.50]]),
    (LLAMA3_8B, [[47.98, 47.47], [19.00, 17.50], [12.50, 9.50], [4.50, 5.50]]),
    (VICUNA_13B, [[31.82, 21.21], [7.00, 3.00], [1.50, 0.50], [0.0, 0.0]]),
    (MISTRAL_7B, [[27.27, 14.14], [19.50, 4.50], [1.50, 1.00], [2.00, 0.00]]),
]);
