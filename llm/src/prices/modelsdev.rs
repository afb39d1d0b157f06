//! The `api.json` of models.dev: an object of providers, each with its models by name, with figures in dollars per million tokens;
//! `context_over_200k` has those of longer prompts.

use std::collections::BTreeMap;

use regatta_proto::Meter;
use serde_json::{Map, Value};

use super::import::{Import, ImportError, ImportReport, brief, dollars, drop_free_writes, parse, why_no_price};
use super::provider::{canonical, name_in_table};
use super::sheet::{Figure, Figures, Sheet};

const SOURCE: &str = "models.dev";
/// Prompt tokens above which other figures hold.
const LONG: u64 = 200_000;

const METERS: [(&str, Meter); 5] = [
    ("input", Meter::Input),
    ("cache_read", Meter::CachedInput),
    ("cache_write", Meter::CacheWrite),
    ("output", Meter::Output),
    ("reasoning", Meter::Reasoning),
];

impl Import {
    /// Reads the `api.json` of models.dev.
    ///
    /// # Errors
    /// When it is not a JSON object. Problems of single entries are in the report.
    pub fn models_dev(json: &[u8]) -> Result<Self, ImportError> {
        let Value::Object(providers) = parse(SOURCE, json)? else {
            return Err(ImportError::Shape { source_name: SOURCE, problem: "expected an object of providers" });
        };
        let mut import = Self { sheets: BTreeMap::new(), report: ImportReport::default() };
        for (id, provider) in &providers {
            let Some(models) = provider.get("models").and_then(Value::as_object) else {
                import.report.problem(id, "models", "is missing; the provider is left out");
                continue;
            };
            for (name, model) in models {
                let label = format!("{id}/{name}");
                import.report.entries += 1;
                let mut noted = ImportReport::default();
                let Some(sheet) = sheet_of(&label, model, &mut noted) else {
                    // Other fields of an entry that is not wanted do not matter.
                    import.report.absorb(ImportReport { left_out: BTreeMap::new(), ..noted });
                    continue;
                };
                import.report.absorb(noted);
                import.report.imported += 1;
                import.add(name_in_table(canonical(id), name), &label, vec![sheet]);
            }
        }
        Ok(import.without_needless_snapshots())
    }
}

fn sheet_of(label: &str, model: &Value, report: &mut ImportReport) -> Option<Sheet> {
    let Some(cost) = model.get("cost").and_then(Value::as_object) else {
        report.skip("no price by token", label);
        return None;
    };
    let mut standard = figures(label, "cost", cost, report)?;
    if let Some(long) = cost.get("context_over_200k").filter(|long| !long.is_null()) {
        let Some(long) = long.as_object() else {
            report.problem(
                label,
                "cost.context_over_200k",
                format!("{} is no price; the model is left out", brief(long)),
            );
            return None;
        };
        for (meter, figure) in figures(label, "cost.context_over_200k", long, report)?.by_meter {
            match standard.by_meter.get_mut(&meter) {
                Some(known) => {
                    known.above.insert(LONG, figure.base);
                }
                None => {
                    let problem = "has a price for long prompts and none for others; left out";
                    report.problem(label, meter.field(), problem);
                }
            }
        }
    }
    let mut sheet = Sheet { standard, ..Sheet::default() };
    if let Some(reason) = why_no_price(&sheet, label.contains("embed")) {
        report.skip(reason, label);
        return None;
    }
    drop_free_writes(label, &mut sheet, report);
    Some(sheet)
}

/// The figures of one object. One that cannot be read makes the price unusable.
fn figures(label: &str, place: &str, cost: &Map<String, Value>, report: &mut ImportReport) -> Option<Figures> {
    let mut stated = Figures::default();
    for (field, value) in cost.iter().filter(|(field, value)| *field != "context_over_200k" && !value.is_null()) {
        let Some((_, meter)) = METERS.iter().find(|(name, _)| name == field) else {
            report.leave_out(format!("{place}.{field}"), label);
            continue;
        };
        let Some(figure) = dollars(value, 0) else {
            let problem = format!("{} is no price; the model is left out", brief(value));
            report.problem(label, format!("{place}.{field}"), problem);
            return None;
        };
        stated.by_meter.insert(*meter, Figure::flat(figure));
    }
    Some(stated)
}
