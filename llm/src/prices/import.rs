//! Imports tables that others publish, and reports everything that was not understood.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use jiff::civil::Date;
use regatta_proto::Meter;
use serde::Serialize;
use serde_json::Value;

use super::sheet::{Figure, Sheet};
use super::{DatedPrice, PRICE_FILE_BYTES_MAX, without_snapshot_date};

/// Dollars per million tokens, or per request, that no model costs: the dearest takes some hundreds.
const DOLLARS_BELOW: f64 = 1e4;

/// A file that cannot be imported at all.
#[derive(Debug, thiserror::Error)]
pub enum ImportError {
    /// The file is not JSON.
    #[error("failed to read {source_name}'s prices as JSON: {error}")]
    Json {
        /// Name of the source.
        source_name: &'static str,
        /// The parser's error.
        error: serde_json::Error,
    },
    /// The JSON has another structure.
    #[error("failed to read {source_name}'s prices: {problem}")]
    Shape {
        /// Name of the source.
        source_name: &'static str,
        /// The reason, as a clause.
        problem: &'static str,
    },
    /// The file is larger than any list of prices.
    #[error("failed to read {source_name}'s prices: the file has more than {PRICE_FILE_BYTES_MAX} bytes")]
    TooLarge {
        /// Name of the source.
        source_name: &'static str,
    },
}

/// A figure that could not be imported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ImportProblem {
    /// Name of the model in the source.
    pub model: String,
    /// The field.
    pub field: String,
    /// The problem, and its consequence.
    pub problem: String,
}

/// Report of an import.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct ImportReport {
    /// Entries in the file.
    pub entries: usize,
    /// Entries that became a price.
    pub imported: usize,
    /// Entries that did not, by reason.
    pub skipped: BTreeMap<String, Vec<String>>,
    /// Fields about prices that Regatta does not use, each with the imported models that have it.
    pub left_out: BTreeMap<String, Vec<String>>,
    /// Assumptions, each with the models that it was made for.
    pub assumed: BTreeMap<String, Vec<String>>,
    /// Errors in the file.
    pub problems: Vec<ImportProblem>,
}

impl ImportReport {
    pub(super) fn skip(&mut self, reason: impl Into<String>, model: &str) {
        note(&mut self.skipped, reason, model);
    }

    pub(super) fn leave_out(&mut self, field: impl Into<String>, model: &str) {
        note(&mut self.left_out, field, model);
    }

    pub(super) fn assume(&mut self, what: impl Into<String>, model: &str) {
        note(&mut self.assumed, what, model);
    }

    pub(super) fn problem(&mut self, model: &str, field: impl Into<String>, problem: impl Into<String>) {
        self.problems.push(ImportProblem { model: model.to_owned(), field: field.into(), problem: problem.into() });
    }

    /// Adds the report of one model.
    pub(super) fn absorb(&mut self, other: Self) {
        self.entries += other.entries;
        self.imported += other.imported;
        for (into, from) in [
            (&mut self.skipped, other.skipped),
            (&mut self.left_out, other.left_out),
            (&mut self.assumed, other.assumed),
        ] {
            for (what, models) in from {
                into.entry(what).or_default().extend(models);
            }
        }
        self.problems.extend(other.problems);
    }
}

fn note(notes: &mut BTreeMap<String, Vec<String>>, what: impl Into<String>, model: &str) {
    let models = notes.entry(what.into()).or_default();
    // All notes on a model come in a row.
    if models.last().is_none_or(|last| last != model) {
        models.push(model.to_owned());
    }
}

/// The imported prices of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Import {
    /// Prices of each model, from the oldest to the newest, by its name in a table.
    pub(super) sheets: BTreeMap<String, Vec<Sheet>>,
    /// Report of the import.
    pub report: ImportReport,
}

impl Import {
    /// Reads a list of prices in whichever of the forms is known that it has. Returns the name of the source with it.
    ///
    /// # Errors
    /// When it is no JSON, or in none of them. Problems of single entries are in the report.
    pub fn any(json: &[u8]) -> Result<(&'static str, Self), ImportError> {
        // A large list is held once: it is let go before it is read again.
        let (is_genai_prices, is_models_dev) = {
            let value = parse("the source", json)?;
            let mut entries = value.as_object().into_iter().flat_map(|entries| entries.values());
            (
                value.is_array() || value.get("providers").is_some_and(Value::is_array),
                entries.any(|entry| entry.get("models").is_some_and(Value::is_object)),
            )
        };
        match (is_genai_prices, is_models_dev) {
            (true, _) => Ok(("genai-prices", Self::genai_prices(json)?)),
            (false, true) => Ok(("models.dev", Self::models_dev(json)?)),
            (false, false) => Ok(("LiteLLM", Self::litellm(json)?)),
        }
    }

    /// Removes snapshots with the price of their model, because a table finds them by the model's name.
    pub(super) fn without_needless_snapshots(mut self) -> Self {
        let needless = |(name, sheets): (&String, &Vec<Sheet>)| {
            let model = without_snapshot_date(name)?;
            (self.sheets.get(model)? == sheets).then(|| name.clone())
        };
        let needless: Vec<String> = self.sheets.iter().filter_map(needless).collect();
        for name in needless {
            self.sheets.remove(&name);
        }
        self
    }

    /// Adds the `sheets` of what the source calls `label`. Of two models with one name in a table the first one stays: whoever repeats a name
    /// further down changes no price.
    pub(super) fn add(&mut self, name: String, label: &str, sheets: Vec<Sheet>) {
        match self.sheets.entry(name) {
            Entry::Vacant(free) => {
                free.insert(sheets);
            }
            Entry::Occupied(known) if *known.get() == sheets => {}
            Entry::Occupied(known) => {
                let problem =
                    format!("is {} in a table, as another model with other figures is; left out", known.key());
                self.report.problem(label, "(all)", problem);
            }
        }
    }

    /// Keeps only the models for which `wanted` returns `true`, by their name in a table.
    pub fn retain(&mut self, wanted: impl Fn(&str) -> bool) {
        self.sheets.retain(|model, _| wanted(model));
    }

    /// The models of a table.
    #[must_use]
    #[expect(clippy::expect_used, reason = "entries without a price of prompt tokens are skipped when they are read")]
    pub fn prices(&self) -> BTreeMap<String, Vec<DatedPrice>> {
        let dated = |sheet: &Sheet| DatedPrice {
            from: sheet.from,
            price: sheet.price().expect("every imported sheet states what prompt tokens cost"),
        };
        self.sheets.iter().map(|(model, sheets)| (model.clone(), sheets.iter().map(dated).collect())).collect()
    }
}

/// The sheet of a model on the day `on`: the newest that is not from a later day.
pub(super) fn in_force(sheets: &[Sheet], on: Date) -> Option<&Sheet> {
    sheets.iter().rfind(|sheet| sheet.from.is_none_or(|from| from <= on))
}

pub(super) fn parse(source_name: &'static str, json: &[u8]) -> Result<serde_json::Value, ImportError> {
    if json.len() > PRICE_FILE_BYTES_MAX {
        return Err(ImportError::TooLarge { source_name });
    }
    serde_json::from_slice(json).or_else(|error| {
        serde_json::from_slice(&with_impossible_numbers_as_texts(json))
            .map_err(|_| ImportError::Json { source_name, error })
    })
}

/// `json` with those numbers as texts that no price is and no JSON has (`NaN`, `-Infinity`, `1e400`), though some write them: so they are
/// refused with the name of their model, and not with the whole file.
fn with_impossible_numbers_as_texts(json: &[u8]) -> Vec<u8> {
    let mut texts = Vec::with_capacity(json.len());
    let (mut rest, mut is_in_text) = (json, false);
    while let Some((&byte, after)) = rest.split_first() {
        let is_of_word = |byte: &&u8| !is_in_text && (byte.is_ascii_alphanumeric() || b"+-.".contains(*byte));
        let (word, behind) = rest.split_at(rest.iter().take_while(is_of_word).count());
        if word.is_empty() {
            texts.push(byte);
            rest = after;
            if is_in_text && byte == b'\\' {
                let (escaped, behind) = rest.split_at(rest.len().min(1));
                texts.extend_from_slice(escaped);
                rest = behind;
            } else if byte == b'"' {
                is_in_text = !is_in_text;
            }
            continue;
        }
        let number = std::str::from_utf8(word).ok().and_then(|word| word.parse::<f64>().ok());
        let quote: &[u8] = if number.is_some_and(|number| !number.is_finite()) { b"\"" } else { b"" };
        texts.extend([quote, word, quote].concat());
        rest = behind;
    }
    texts
}

/// The number, if it can be a price after multiplication with a power of ten. The decimal point is moved in the text, so that a price of
/// `2.8e-8` dollars per token is 0.028 dollars per million and not 0.027999999999999997. What is more than any model costs is in another unit.
pub(super) fn dollars(value: &serde_json::Value, power_of_ten: i32) -> Option<f64> {
    let number = value.as_f64().filter(|number| number.is_finite() && *number >= 0.0)?;
    let shortest = format!("{number:e}");
    let (digits, exponent) = shortest.split_once('e')?;
    let exponent: i32 = exponent.parse().ok()?;
    let shifted: f64 = format!("{digits}e{}", exponent.checked_add(power_of_ten)?).parse().ok()?;
    (shifted < DOLLARS_BELOW).then_some(shifted)
}

/// A zero means that cache writes cost nothing beyond the prompt; here it would make the tokens free.
pub(super) fn drop_free_writes(name: &str, sheet: &mut Sheet, report: &mut ImportReport) {
    let costs = sheet.standard.by_meter.get(&Meter::Input).is_some_and(|input| input.base > 0.0);
    for meter in [Meter::CacheWrite, Meter::CacheWrite1h] {
        if costs && sheet.standard.by_meter.get(&meter).is_some_and(|write| write.base == 0.0) {
            sheet.standard.by_meter.remove(&meter);
            report.assume("cache writes that cost nothing on top are charged as prompt tokens", name);
        }
    }
}

/// The reason why a sheet is no complete price; `None` if it is.
pub(super) fn why_no_price(sheet: &Sheet, sells_embeddings: bool) -> Option<&'static str> {
    let base = |meter| sheet.standard.by_meter.get(&meter).map(|figure: &Figure| figure.base);
    match (base(Meter::Input), base(Meter::Output)) {
        (None, None) => Some("no price by token"),
        (None, Some(_)) => Some("no price of prompt tokens"),
        (Some(_), None) if !sells_embeddings => Some("no price of generated tokens"),
        (Some(input), output) => {
            (input == 0.0 && output.unwrap_or(0.0) == 0.0).then_some("zero, which may mean free or unknown")
        }
    }
}

/// A value for an error message, cut to a readable length.
pub(super) fn brief(value: &Value) -> String {
    const CHARACTERS_MAX: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(CHARACTERS_MAX) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
