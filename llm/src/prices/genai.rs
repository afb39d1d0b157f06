//! pydantic's genai-prices: a list of providers with their models, with figures in dollars per million tokens, some with tiers. A price may
//! be a list with days and times of day, of which the last one in force counts, and variants override single figures.

use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;
use jiff::civil::{Date, Time};
use regatta_proto::{BATCH, Meter, PriceWindow, Rates};
use serde_json::{Map, Value};

use super::import::{Import, ImportError, ImportReport, brief, dollars, drop_free_writes, parse, why_no_price};
use super::provider::{canonical, name_in_table};
use super::sheet::{Figure, Figures, Sheet};

const SOURCE: &str = "genai-prices";
/// Power of ten from dollars per thousand requests to dollars per request.
const PER_REQUEST: i32 = -3;
/// Providers that sell only embeddings, so that a missing price of generated tokens is no gap.
const EMBEDDING_PROVIDERS: [&str; 1] = ["voyage"];

impl Import {
    /// Reads the `data.json` of pydantic's genai-prices: a list of providers, or an object with such a list in `providers`.
    ///
    /// # Errors
    /// When it is neither. Problems of single entries are in the report.
    pub fn genai_prices(json: &[u8]) -> Result<Self, ImportError> {
        import(json)
    }
}

fn import(json: &[u8]) -> Result<Import, ImportError> {
    let value = parse(SOURCE, json)?;
    let providers = value.as_array().or_else(|| value.get("providers")?.as_array());
    let providers =
        providers.ok_or(ImportError::Shape { source_name: SOURCE, problem: "expected a list of providers" })?;
    let mut import = Import { sheets: BTreeMap::new(), report: ImportReport::default() };
    let mut aliases = Vec::new();
    for provider in providers {
        let id = provider.get("id").and_then(Value::as_str);
        let (Some(id), Some(models)) = (id, provider.get("models").and_then(Value::as_array)) else {
            import.report.problem(&brief(provider), "id, models", "is missing; the provider is left out");
            continue;
        };
        for model in models {
            import.report.entries += 1;
            let Some(name) = model.get("id").and_then(Value::as_str) else {
                import.report.problem(&format!("{id}/{}", brief(model)), "id", "is missing; left out");
                continue;
            };
            let provider = canonical(id);
            let label = format!("{id}/{name}");
            let mut noted = ImportReport::default();
            let Some(sheets) = sheets_of(&label, provider, name, model, &mut noted) else {
                import.report.absorb(ImportReport { left_out: BTreeMap::new(), ..noted });
                continue;
            };
            import.report.absorb(noted);
            import.report.imported += 1;
            for alias in equal_names(model.get("match").unwrap_or(&Value::Null)) {
                aliases.push((name_in_table(provider, alias), sheets.clone()));
            }
            import.add(name_in_table(provider, name), &label, sheets);
        }
    }
    // A model's own name takes precedence over an alias of another model.
    for (alias, sheets) in aliases {
        import.sheets.entry(alias).or_insert(sheets);
    }
    Ok(import.without_needless_snapshots())
}

/// Names in a matching rule: `{"equals": …}`, alone or as one of several alternatives.
fn equal_names(rule: &Value) -> Vec<&str> {
    let own = rule.get("equals").and_then(Value::as_str);
    let any = rule.get("or").and_then(Value::as_array).into_iter().flatten();
    own.into_iter().chain(any.filter_map(|rule| rule.get("equals")?.as_str())).collect()
}

/// The condition under which a price holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    Always,
    From(Date),
    Daily(Time, Time),
}

impl When {
    fn parse(constraint: Option<&Value>) -> Option<Self> {
        let Some(constraint) = constraint.filter(|constraint| !constraint.is_null()) else { return Some(Self::Always) };
        let constraint = constraint.as_object()?;
        let text = |field: &str| constraint.get(field).and_then(Value::as_str);
        match (constraint.len(), text("start_date"), text("start_time"), text("end_time")) {
            (1, Some(date), ..) => Some(Self::From(date.parse().ok()?)),
            (2, _, Some(start), Some(end)) => Some(Self::Daily(utc(start)?, utc(end)?)),
            _ => None,
        }
    }

    fn day(self) -> Option<Date> {
        if let Self::From(day) = self { Some(day) } else { None }
    }

    /// `true` if it holds from the day `from` on (`None`: from the beginning), regardless of the time of day.
    fn holds_from(self, from: Option<Date>) -> bool {
        self.day().is_none_or(|day| from.is_some_and(|from| day <= from))
    }
}

/// A time with an offset, `00:30:00Z` or `08:30:00+08:00`, in UTC.
fn utc(text: &str) -> Option<Time> {
    if let Some(time) = text.strip_suffix(['Z', 'z']) {
        return time.parse().ok();
    }
    let at = text.rfind(['+', '-'])?;
    let (time, offset) = text.split_at_checked(at)?;
    let away: Time = offset.get(1..)?.parse().ok()?;
    let away = SignedDuration::from_secs(i64::from(away.hour()) * 3_600 + i64::from(away.minute()) * 60);
    let time: Time = time.parse().ok()?;
    Some(if offset.starts_with('+') { time.wrapping_sub(away) } else { time.wrapping_add(away) })
}

fn sheets_of(label: &str, provider: &str, model: &str, entry: &Value, report: &mut ImportReport) -> Option<Vec<Sheet>> {
    let Some(prices) = conditional(label, entry.get("prices").unwrap_or(&Value::Null), report) else {
        report.skip("prices that cannot be read", label);
        return None;
    };
    let variants = variants(label, entry.get("price_variants"), report);
    let sells_embeddings = model.contains("embed") || EMBEDDING_PROVIDERS.contains(&provider);
    let days: BTreeSet<Option<Date>> = std::iter::once(None)
        .chain(prices.iter().map(|(when, _)| when.day()))
        .chain(variants.iter().map(|(_, when, _)| when.day()))
        .collect();
    let mut sheets: Vec<Sheet> = Vec::new();
    for from in days {
        let mut sheet = in_force(&prices, from);
        for (name, when, figures) in &variants {
            if when.holds_from(from) {
                // If several are in force, the first one counts, figure by figure.
                let known = sheet.variants.entry(name.clone()).or_default();
                *known = std::mem::take(known).or(figures);
            }
        }
        if let Some(reason) = why_no_price(&sheet, sells_embeddings) {
            report.skip(reason, label);
            return None;
        }
        drop_free_writes(label, &mut sheet, report);
        let same = sheets.last().is_some_and(|last| Sheet { from: last.from, ..sheet.clone() } == *last);
        if !same {
            sheets.push(Sheet { from, ..sheet });
        }
    }
    Some(sheets)
}

/// The sheet that holds from a day on: the last of the prices that hold all day, and the windows after it in the list, the last one first.
/// If no price holds all day, the first one is used.
fn in_force(prices: &[(When, Figures)], from: Option<Date>) -> Sheet {
    let mut sheet =
        Sheet { standard: prices.first().map(|(_, figures)| figures.clone()).unwrap_or_default(), ..Sheet::default() };
    for (when, figures) in prices.iter().filter(|(when, _)| when.holds_from(from)) {
        match when {
            When::Daily(from, to) => {
                let hours = PriceWindow { from: *from, to: *to, days: Vec::new(), rates: Rates::default() };
                sheet.windows.insert(0, (hours, figures.clone()));
            }
            When::Always | When::From(_) => {
                sheet.standard = figures.clone();
                sheet.windows.clear();
            }
        }
    }
    sheet
}

/// The prices with their conditions; a single price always holds.
fn conditional(label: &str, prices: &Value, report: &mut ImportReport) -> Option<Vec<(When, Figures)>> {
    if prices.is_object() {
        return Some(vec![(When::Always, figures(label, "prices", prices, report)?)]);
    }
    let Some(list) = prices.as_array().filter(|list| !list.is_empty()) else {
        report.problem(label, "prices", format!("{} is no price", brief(prices)));
        return None;
    };
    let mut known = Vec::new();
    for (at, price) in list.iter().enumerate() {
        let field = format!("prices[{at}]");
        let Some(when) = When::parse(price.get("constraint")) else {
            report.problem(label, format!("{field}.constraint"), "is none that Regatta knows");
            return None;
        };
        let stated = figures(label, &field, price.get("prices").unwrap_or(&Value::Null), report)?;
        if matches!(when, When::Daily(from, to) if from == to) {
            report.problem(
                label,
                format!("{field}.constraint"),
                "ends when it begins, so that it never holds; left out",
            );
            continue;
        }
        if matches!(when, When::Daily(..)) && !stated.bounds().is_empty() {
            report.problem(label, field, "has tiers within a time of day");
            return None;
        }
        known.push((when, stated));
    }
    Some(known)
}

/// Overrides by Regatta's name of the variant.
fn variants(label: &str, variants: Option<&Value>, report: &mut ImportReport) -> Vec<(String, When, Figures)> {
    let mut known = Vec::new();
    for (at, variant) in variants.and_then(Value::as_array).into_iter().flatten().enumerate() {
        let field = format!("price_variants[{at}]");
        let Some(name) = variant.get("when").and_then(Value::as_object).and_then(variant_name) else {
            report.leave_out(
                format!("price_variants.when {}", brief(variant.get("when").unwrap_or(&Value::Null))),
                label,
            );
            continue;
        };
        let when = match When::parse(variant.get("constraint")) {
            Some(when @ (When::Always | When::From(_))) => when,
            _ => {
                report.problem(
                    label,
                    format!("{field}.constraint"),
                    "is none that Regatta knows for a variant; left out",
                );
                continue;
            }
        };
        let Some(figures) = figures(label, &field, variant.get("prices").unwrap_or(&Value::Null), report) else {
            continue;
        };
        // A variant without overrides costs the standard price anyway.
        if figures != Figures::default() {
            known.push((name, when, figures));
        }
    }
    known
}

fn variant_name(when: &Map<String, Value>) -> Option<String> {
    let mut conditions = when.iter();
    let (Some((key, Value::String(value))), None) = (conditions.next(), conditions.next()) else { return None };
    match (key.as_str(), value.as_str()) {
        ("processing", "batch") => Some(BATCH.to_owned()),
        ("service_tier" | "speed", tier) => Some(tier.to_owned()),
        _ => None,
    }
}

/// `{"input_mtok": 2.5, "output_mtok": {"base": 15, "tiers": [{"start": 272000, "price": 22.5}]}, …}`. A figure that cannot be read makes
/// the price unusable.
fn figures(label: &str, place: &str, prices: &Value, report: &mut ImportReport) -> Option<Figures> {
    let Some(prices) = prices.as_object() else {
        report.problem(label, place, format!("{} is no price", brief(prices)));
        return None;
    };
    let mut stated = Figures::default();
    for (key, value) in prices.iter().filter(|(_, value)| !value.is_null()) {
        let meter = match key.as_str() {
            "input_mtok" => Meter::Input,
            "cache_read_mtok" => Meter::CachedInput,
            // The price for five minutes takes precedence over the one without a time.
            "cache_write_mtok" if prices.get("cache_write_5m_mtok").is_some_and(|price| !price.is_null()) => continue,
            "cache_write_mtok" | "cache_write_5m_mtok" => Meter::CacheWrite,
            "cache_write_1h_mtok" => Meter::CacheWrite1h,
            "output_mtok" => Meter::Output,
            "output_reasoning_mtok" => Meter::Reasoning,
            "requests_kcount" => {
                stated.per_request = dollars(value, PER_REQUEST);
                if stated.per_request.is_none() {
                    report.problem(label, format!("{place}.{key}"), format!("{} is no price", brief(value)));
                    return None;
                }
                continue;
            }
            _ => {
                report.leave_out(key, label);
                continue;
            }
        };
        let Some(figure) = figure(value) else {
            report.problem(label, format!("{place}.{key}"), format!("{} is no price", brief(value)));
            return None;
        };
        stated.by_meter.insert(meter, figure);
    }
    Some(stated)
}

fn figure(value: &Value) -> Option<Figure> {
    if value.is_number() {
        return dollars(value, 0).map(Figure::flat);
    }
    let value = value.as_object().filter(|value| value.keys().all(|key| matches!(key.as_str(), "base" | "tiers")))?;
    let mut figure = Figure::flat(dollars(value.get("base")?, 0)?);
    for tier in value.get("tiers")?.as_array()? {
        let (start, price) = (tier.get("start")?.as_u64()?, dollars(tier.get("price")?, 0)?);
        if figure.above.insert(start, price).is_some() {
            return None;
        }
    }
    Some(figure)
}
