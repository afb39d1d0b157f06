//! LiteLLM's `model_prices_and_context_window.json`: an object of models, with figures in dollars per token, one field for each combination
//! of meter, prompt length, cache lifetime and variant, as in `cache_read_input_token_cost_above_272k_tokens_priority`.
//!
//! The meaning of the fields follows LiteLLM's own cost calculation (1.109): a tier holds for the whole request once the prompt is longer
//! than its bound (for xAI: as long as it); rates that a `tiered_pricing` range leaves out are its input rate; off-peak rates take
//! precedence over tiers.

use std::collections::BTreeMap;

use jiff::civil::Time;
use regatta_proto::{BATCH, Day, Meter, PriceWindow, Rates};
use serde_json::{Map, Value};

use super::import::{Import, ImportError, ImportReport, brief, dollars, drop_free_writes, parse, why_no_price};
use super::provider::{canonical, name_in_table};
use super::sheet::{Figure, Figures, Sheet};

const SOURCE: &str = "LiteLLM";
/// Kinds of entries that Regatta can call.
const MODES: [&str; 4] = ["chat", "responses", "completion", "embedding"];
/// Power of ten from dollars per token to dollars per million.
const PER_MILLION: i32 = 6;
/// The one entry that is no model, but describes the fields.
const DESCRIPTION: &str = "sample_spec";

const METERS: [(&str, Meter); 5] = [
    ("cache_creation_input_token_cost", Meter::CacheWrite),
    ("cache_read_input_token_cost", Meter::CachedInput),
    ("input_cost_per_token", Meter::Input),
    ("output_cost_per_token", Meter::Output),
    ("output_cost_per_reasoning_token", Meter::Reasoning),
];
const VARIANTS: [(&str, &str); 6] = [
    ("_batches", BATCH),
    ("_flex", "flex"),
    ("_priority", "priority"),
    ("_balanced", "balanced"),
    ("_fast", "fast"),
    ("_ultrafast", "ultrafast"),
];

impl Import {
    /// Reads LiteLLM's `model_prices_and_context_window.json`.
    ///
    /// # Errors
    /// When it is not a JSON object. Problems of single entries are in the report.
    pub fn litellm(json: &[u8]) -> Result<Self, ImportError> {
        import(json)
    }
}

fn import(json: &[u8]) -> Result<Import, ImportError> {
    let Value::Object(entries) = parse(SOURCE, json)? else {
        return Err(ImportError::Shape { source_name: SOURCE, problem: "expected an object of models" });
    };
    let mut report = ImportReport::default();
    let mut sheets: BTreeMap<String, (Naming, &str, Sheet)> = BTreeMap::new();
    for (name, entry) in &entries {
        if name == DESCRIPTION {
            continue;
        }
        report.entries += 1;
        let mut noted = ImportReport::default();
        let Some((in_table, naming, sheet)) = entry_of(name, entry, &mut noted) else {
            // Other oddities of an unwanted entry do not matter.
            report.absorb(ImportReport { left_out: BTreeMap::new(), assumed: BTreeMap::new(), ..noted });
            continue;
        };
        report.absorb(noted);
        report.imported += 1;
        if let Some((other_naming, other, known)) = sheets.get(&in_table) {
            if *known != sheet {
                let taken = if naming > *other_naming { name } else { *other };
                let problem =
                    format!("{name} and {other} are the same model and say different things; {taken} is taken");
                report.problem(name, "(all)", problem);
            }
            if naming <= *other_naming {
                continue;
            }
        }
        sheets.insert(in_table, (naming, name, sheet));
    }
    let sheets = sheets.into_iter().map(|(name, (_, _, sheet))| (name, vec![sheet])).collect();
    Ok(Import { sheets, report }.without_needless_snapshots())
}

/// Form of an entry's name. Of several entries for one model, the most specific one is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Naming {
    /// `gpt-5`.
    Bare,
    /// `azure_ai/gpt-5`, with one of several names of the provider.
    Alias,
    /// `azure/gpt-5`.
    Provider,
}

fn entry_of(name: &str, entry: &Value, report: &mut ImportReport) -> Option<(String, Naming, Sheet)> {
    let Value::Object(entry) = entry else {
        report.problem(name, "(all)", "is not an object; left out");
        return None;
    };
    let mode = entry.get("mode").and_then(Value::as_str).unwrap_or("none");
    if !MODES.contains(&mode) {
        report.skip(format!("mode {mode}"), name);
        return None;
    }
    let Some(provider) = entry.get("litellm_provider").and_then(Value::as_str) else {
        report.problem(name, "litellm_provider", "is missing; left out");
        return None;
    };
    let provider = canonical(provider);
    let (naming, model) = match name.split_once('/') {
        Some((first, rest)) if first == provider => (Naming::Provider, rest),
        Some((first, rest)) if canonical(first) == provider => (Naming::Alias, rest),
        _ => (Naming::Bare, name),
    };
    let sheet = sheet_of(name, provider, entry, report)?;
    if let Some(reason) = why_no_price(&sheet, mode == "embedding") {
        report.skip(reason, name);
        return None;
    }
    Some((name_in_table(provider, model), naming, sheet))
}

fn sheet_of(name: &str, provider: &str, entry: &Map<String, Value>, report: &mut ImportReport) -> Option<Sheet> {
    let mut stated = Stated::default();
    for (field, value) in entry {
        match Field::parse(field) {
            Field::NoPrice => {}
            Field::Unknown => {
                if !value.is_null() {
                    report.leave_out(field, name);
                }
            }
            known => {
                let power = if known == Field::PerRequest { 0 } else { PER_MILLION };
                let Some(figure) = dollars(value, power) else {
                    if !value.is_null() {
                        report.problem(name, field, format!("{} is no price; the model is left out", brief(value)));
                        return None;
                    }
                    continue;
                };
                stated.take(known, figure, provider);
            }
        }
    }
    let mut sheet = stated.sheet(name, report);
    // OpenAI's tier `fast` is billed as `priority` by LiteLLM's cost calculation, not by its file.
    if let ("openai" | "azure", Some(priority)) = (provider, sheet.variants.get("priority").cloned()) {
        sheet.variants.entry("fast".to_owned()).or_insert(priority);
    }
    if let Some(value) = entry.get("tiered_pricing") {
        match tiers(name, value, report) {
            Ok(tiered) => sheet.standard = Figures { per_request: sheet.standard.per_request, ..tiered },
            Err(problem) => {
                report.problem(name, "tiered_pricing", format!("{problem}; the model is left out"));
                return None;
            }
        }
    }
    if let Some(hit) = entry.get("input_cost_per_token_cache_hit").and_then(|value| dollars(value, PER_MILLION)) {
        let known = sheet.standard.by_meter.entry(Meter::CachedInput).or_insert_with(|| Figure::flat(hit));
        if known.base != hit {
            let problem = "says something else than cache_read_input_token_cost, which is taken";
            report.problem(name, "input_cost_per_token_cache_hit", problem);
        }
    }
    drop_free_writes(name, &mut sheet, report);
    note_long_prompts(name, &mut sheet, report);
    if let Some(value) = entry.get("off_peak_pricing") {
        match off_peak(value) {
            Ok(windows) => sheet.windows = windows,
            Err(problem) => {
                report.problem(name, "off_peak_pricing", format!("{problem}; the peak price is taken at all times"))
            }
        }
    }
    Some(sheet)
}

/// Notes the missing prices for long prompts: batches are charged their short-prompt price, other variants the standard one.
fn note_long_prompts(name: &str, sheet: &mut Sheet, report: &mut ImportReport) {
    for (variant, figures) in &sheet.variants {
        let lacks = |(meter, figure): (&Meter, &Figure)| {
            sheet
                .standard
                .by_meter
                .get(meter)
                .is_some_and(|standard| standard.above.keys().any(|bound| !figure.above.contains_key(bound)))
        };
        if !figures.by_meter.iter().any(lacks) {
            continue;
        }
        let taken = if variant == BATCH { "its price for others" } else { "the standard one" };
        report.assume(format!("{variant} has no price for long prompts: {taken} is taken, as LiteLLM does"), name);
        if variant != BATCH {
            sheet.long_as_standard.insert(variant.clone());
        }
    }
}

/// The content of a field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Figure {
        meter: Meter,
        above: Option<u64>,
        variant: Option<&'static str>,
    },
    PerRequest,
    /// A price that Regatta does not have.
    Unknown,
    /// No price, or read elsewhere.
    NoPrice,
}

impl Field {
    fn parse(field: &str) -> Self {
        if field == "input_cost_per_request" {
            return Self::PerRequest;
        }
        if matches!(field, "tiered_pricing" | "off_peak_pricing" | "input_cost_per_token_cache_hit") {
            return Self::NoPrice;
        }
        let known = METERS.iter().find_map(|(name, meter)| Self::figure(*meter, field.strip_prefix(name)?));
        let about_prices = ["cost", "pric", "multiplier", "provider_specific_entry", "free_requests"];
        match known {
            Some(known) => known,
            None if about_prices.iter().any(|word| field.contains(word)) => Self::Unknown,
            None => Self::NoPrice,
        }
    }

    /// Parses `rest`, the part of a field's name after the meter.
    fn figure(mut meter: Meter, mut rest: &str) -> Option<Self> {
        let (mut above, mut variant) = (None, None);
        while !rest.is_empty() {
            if let Some(after) = rest.strip_prefix("_above_1hr").filter(|_| meter == Meter::CacheWrite) {
                meter = Meter::CacheWrite1h;
                rest = after;
            } else if let Some((bound, after)) =
                rest.strip_prefix("_above_").and_then(|rest| rest.split_once("_tokens"))
            {
                let (digits, scale) = bound.strip_suffix('k').map_or((bound, 1), |digits| (digits, 1_000));
                let bound = digits.parse::<u64>().ok()?.checked_mul(scale)?;
                if above.replace(bound).is_some() {
                    return None;
                }
                rest = after;
            } else {
                let (suffix, name) = VARIANTS.iter().find(|(suffix, _)| {
                    rest.strip_prefix(suffix).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
                })?;
                if variant.replace(*name).is_some() {
                    return None;
                }
                rest = &rest[suffix.len()..];
            }
        }
        Some(Self::Figure { meter, above, variant })
    }
}

/// Figures, collected field by field in any order.
#[derive(Default)]
struct Stated {
    base: BTreeMap<(Option<&'static str>, Meter), f64>,
    above: BTreeMap<(Option<&'static str>, Meter), BTreeMap<u64, f64>>,
    per_request: Option<f64>,
}

impl Stated {
    fn take(&mut self, field: Field, figure: f64, provider: &str) {
        match field {
            Field::Figure { meter, above: None, variant } => {
                self.base.insert((variant, meter), figure);
            }
            Field::Figure { meter, above: Some(bound), variant } => {
                // xAI's long prompts include the bound itself.
                let bound = if provider == "xai" { bound.saturating_sub(1) } else { bound };
                self.above.entry((variant, meter)).or_default().insert(bound, figure);
            }
            Field::PerRequest => self.per_request = Some(figure),
            Field::Unknown | Field::NoPrice => {}
        }
    }

    fn sheet(mut self, name: &str, report: &mut ImportReport) -> Sheet {
        let mut sheet = Sheet::default();
        sheet.standard.per_request = self.per_request;
        for ((variant, meter), base) in std::mem::take(&mut self.base) {
            let above = self.above.remove(&(variant, meter)).unwrap_or_default();
            let figures = match variant {
                None => &mut sheet.standard,
                Some(variant) => sheet.variants.entry(variant.to_owned()).or_default(),
            };
            figures.by_meter.insert(meter, Figure { base, above });
        }
        for (variant, meter) in self.above.keys() {
            let variant = variant.map_or(String::new(), |variant| format!(" ({variant})"));
            let problem = "has a price for long prompts and none for others; left out";
            report.problem(name, format!("{}{variant}", meter.field()), problem);
        }
        sheet
    }
}

/// `[{"range": [0, 256000], "input_cost_per_token": …}, …]`: the range that contains the prompt's length prices the whole request.
fn tiers(name: &str, value: &Value, report: &mut ImportReport) -> Result<Figures, String> {
    let ranges = value.as_array().filter(|ranges| !ranges.is_empty()).ok_or("is not a list of ranges")?;
    let mentions = |field: &str| ranges.iter().any(|range| range.get(field).is_some());
    let mentioned: Vec<Meter> = METERS.iter().filter(|(field, _)| mentions(field)).map(|(_, meter)| *meter).collect();
    let mut figures = Figures::default();
    let mut expected_start = 0;
    for (at, range) in ranges.iter().enumerate() {
        let range = range.as_object().ok_or("has a range that is not an object")?;
        let bound = |at: usize| {
            let bound = range.get("range")?.as_array()?.get(at)?.as_f64()?;
            (bound >= 0.0 && bound.fract() == 0.0 && bound < 1e12).then_some(bound as u64)
        };
        let (Some(start), Some(end)) = (bound(0), bound(1)) else {
            return Err("has a range without whole numbers as its bounds".to_owned());
        };
        if start != expected_start || end <= start {
            return Err(format!("has a range from {start} to {end} where one from {expected_start} should be"));
        }
        expected_start = end;
        let stated = |meter: Meter| {
            let (field, _) = METERS.iter().find(|(_, known)| *known == meter)?;
            range
                .get(*field)
                .map(|value| dollars(value, PER_MILLION).ok_or_else(|| format!("has {} as its {field}", brief(value))))
        };
        let input = stated(Meter::Input).ok_or("has a range without input_cost_per_token")??;
        let output = stated(Meter::Output).ok_or("has a range without output_cost_per_token")??;
        for meter in &mentioned {
            let rest = if *meter == Meter::Reasoning { output } else { input };
            let figure = stated(*meter).transpose()?.unwrap_or(rest);
            let known = figures.by_meter.entry(*meter).or_insert_with(|| Figure::flat(figure));
            if at > 0 {
                known.above.insert(start, figure);
            }
        }
        for field in range.keys().filter(|field| *field != "range" && Field::parse(field) == Field::Unknown) {
            report.leave_out(format!("tiered_pricing.{field}"), name);
        }
    }
    Ok(figures)
}

/// `{"input_cost_per_token": …, "hours_utc": "16:30-00:30", "windows": [{"hours_utc": […], "weekdays": [1, …, 7]}]}`.
fn off_peak(value: &Value) -> Result<Vec<(PriceWindow, Figures)>, String> {
    let block = value.as_object().ok_or("is not an object")?;
    let mut figures = Figures::default();
    for (field, value) in block.iter().filter(|(field, _)| !matches!(field.as_str(), "hours_utc" | "windows")) {
        let Some((_, meter)) = METERS.iter().find(|(name, _)| name == field) else {
            return Err(format!("has the field {field}, which means nothing to Regatta"));
        };
        let figure = dollars(value, PER_MILLION).ok_or_else(|| format!("has {} as its {field}", brief(value)))?;
        figures.by_meter.insert(*meter, Figure::flat(figure));
    }
    let mut windows = Vec::new();
    let mut add = |hours: &Value, days: Vec<Day>| {
        for (from, to) in hours_of(hours)? {
            windows.push((PriceWindow { from, to, days: days.clone(), rates: Rates::default() }, figures.clone()));
        }
        Ok::<_, String>(())
    };
    if let Some(hours) = block.get("hours_utc") {
        add(hours, Vec::new())?;
    }
    for rule in block
        .get("windows")
        .map_or(Ok([].as_slice()), |rules| rules.as_array().map(Vec::as_slice).ok_or("has no list of windows"))?
    {
        let hours = rule.get("hours_utc").ok_or("has a window without hours_utc")?;
        add(hours, days_of(rule.get("weekdays"))?)?;
    }
    if windows.is_empty() { Err("has no hours".to_owned()) } else { Ok(windows) }
}

/// `"16:30-00:30"`, or a list of such ranges.
fn hours_of(value: &Value) -> Result<Vec<(Time, Time)>, String> {
    let texts = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    texts
        .iter()
        .map(|text| {
            let (from, to) = text.as_str()?.split_once('-')?;
            Some((Time::strptime("%H:%M", from).ok()?, Time::strptime("%H:%M", to).ok()?))
        })
        .map(|hours| hours.ok_or_else(|| format!("has the hours {}", brief(value))))
        .collect()
}

/// Days of the week in ISO 8601, where Monday is 1.
fn days_of(value: Option<&Value>) -> Result<Vec<Day>, String> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let day =
        |day: &Value| day.as_u64().and_then(|day| Day::WEEK.get(usize::try_from(day).ok()?.checked_sub(1)?).copied());
    let days: Option<Vec<Day>> = value.as_array().and_then(|days| days.iter().map(day).collect());
    days.filter(|days| !days.is_empty()).ok_or_else(|| format!("has the weekdays {}", brief(value)))
}
