//! Section of a report about the provenance of its numbers.

use std::collections::BTreeMap;

use regatta_catalog::Sweep;
use regatta_proto::{BenchmarkLock, BenchmarkName, EndpointKind, Limit, ModelRef, ModelSpec, PriceSource, SweepLock};

use super::content::{Block, Field, Section, Sheet};
use super::numbers::{grouped, percent};
use crate::summary::Summary;
use crate::tabulation::GroupResult;

/// Versions, seeds, data, prices, and what really answered.
pub(crate) fn section(summary: &Summary, groups: &[GroupResult], sweep: &Sweep) -> Section {
    let lock = &sweep.lock;
    let mut facts = vec![
        ("Sweep".to_owned(), sweep.id.to_string()),
        ("Lock".to_owned(), format!("sha256 {}", sweep.digest)),
        ("Regatta".to_owned(), lock.regatta.clone()),
        ("Seed".to_owned(), lock.seed.to_string()),
        ("Trials".to_owned(), lock.trials.to_string()),
        ("Submitted".to_owned(), summary.created_at.to_string()),
        ("Ended".to_owned(), summary.ended_at.to_string()),
    ];
    if let Some(budget) = lock.budget_usd {
        facts.push(("Budget".to_owned(), format!("${budget}")));
    }
    for (name, benchmark) in &lock.benchmarks {
        facts.extend(benchmark_facts(lock, name, benchmark));
    }
    let models = lock.models.iter().enumerate().map(|(at, model)| model_row(lock, at, model)).collect();
    let served =
        served_by(groups).into_iter().map(|(model, served)| vec![Field::name(model), Field::Name(served)]).collect();
    let header = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Section {
        id: "provenance",
        title: "Provenance".to_owned(),
        is_folded: true,
        blocks: vec![
            Block::Facts(facts),
            Block::Table(Sheet {
                caption: "Models as asked for".to_owned(),
                header: header(&["model", "endpoint", "parameters", "price per million tokens", "price from"]),
                rows: models,
                ..Sheet::default()
            }),
            Block::Table(Sheet {
                caption: "Models as served".to_owned(),
                header: header(&["model", "the endpoint said (sessions)"]),
                rows: served,
                ..Sheet::default()
            }),
        ],
    }
}

fn benchmark_facts(lock: &SweepLock, name: &BenchmarkName, benchmark: &BenchmarkLock) -> Vec<(String, String)> {
    let mut facts = vec![(format!("Data of {name}"), format!("sha256 {}", benchmark.dataset))];
    let items: Vec<String> = benchmark.items.iter().map(|(setting, items)| format!("{setting}: {items}")).collect();
    facts.push((format!("Items of {name}"), items.join(", ")));
    if !benchmark.tasks.is_empty() {
        facts.push((format!("Tasks of {name}"), benchmark.tasks.join(", ")));
    }
    if !benchmark.listed.is_empty() {
        facts.push((format!("Listed items of {name}"), format!("{} by their ids, no others", benchmark.listed.len())));
    }
    if let Some(limit) = benchmark.restriction() {
        let which = match limit {
            Limit::First(count) => format!("the first {count} items of each task"),
            // A sample is of whole groups where a benchmark's items are steps of one scenario, and of everything where that is less.
            Limit::Sample(count) => format!(
                "at most {count} items, or groups of items that belong together, drawn by the seed with the weights of the tasks"
            ),
        };
        facts.push((format!("Limit of {name}"), which));
    }
    if let Some(count) = benchmark.canaries {
        let what = format!(
            "those that a sample of {count} has, asked whatever the limit, and never answered by the response cache"
        );
        facts.push((format!("Canaries of {name}"), what));
    }
    if let Some(judge) = &benchmark.judge {
        if judge.rule().is_some() {
            facts.push((format!("Panel of {name}"), judge.to_string()));
        }
        for member in judge.ids().into_iter().filter_map(|id| lock.judge(id)) {
            facts.push((format!("Judge of {name}"), supporting(lock, &member)));
        }
    }
    if let Some(audit) = &benchmark.audit {
        let share = format!("{} on {} of the items, 30 at least", audit.judge, percent(audit.share));
        facts.push((format!("Audit of {name}"), share));
        for member in audit.judge.members() {
            facts.push((format!("Judge of the audit of {name}"), supporting(lock, &member)));
        }
    }
    for (role, model) in benchmark.roles.iter() {
        facts.push((format!("Plays the {role} of {name}"), supporting(lock, model)));
    }
    facts
}

/// A model that is not under test: what it is, where, with which parameters and price.
fn supporting(lock: &SweepLock, model: &ModelSpec) -> String {
    let price = model.price.as_ref().map_or_else(|| "price unknown".to_owned(), price);
    let mut facts = vec![model.id.to_string(), endpoint(lock, &model.id)];
    facts.extend(model.temperature.map(|value| format!("temperature {value}")));
    facts.extend(model.top_p.map(|value| format!("top_p {value}")));
    facts.extend(model.max_tokens.map(|value| format!("max_tokens {value}")));
    facts.push(price);
    facts.join(", ")
}

fn model_row(lock: &SweepLock, at: usize, model: &ModelSpec) -> Vec<Field> {
    let mut parameters = Vec::new();
    parameters.extend(model.temperature.map(|value| format!("temperature {value}")));
    parameters.extend(model.top_p.map(|value| format!("top_p {value}")));
    parameters.extend(model.max_tokens.map(|value| format!("max_tokens {value}")));
    let parameters = if parameters.is_empty() { "the benchmark's".to_owned() } else { parameters.join(", ") };
    let source = match lock.price_sources.get(at) {
        Some(PriceSource::Spec) => "spec".to_owned(),
        Some(PriceSource::Table { date, .. }) => format!("table of {date}"),
        Some(PriceSource::Unknown) | None => "unknown".to_owned(),
    };
    vec![
        Field::name(&model.id),
        Field::Name(endpoint(lock, &model.id)),
        Field::Name(parameters),
        Field::Name(model.price.as_ref().map_or_else(|| "unknown".to_owned(), price)),
        Field::Name(source),
    ]
}

fn price(price: &regatta_proto::Price) -> String {
    let cached = price.cached_input_per_mtok.map(|dollars| format!(", ${dollars} cached")).unwrap_or_default();
    format!("${} in{cached}, ${} out", price.input_per_mtok, price.output_per_mtok)
}

/// Kind and address of the endpoint that serves `model`.
fn endpoint(lock: &SweepLock, model: &ModelRef) -> String {
    let Some(spec) = lock.endpoints.get(&model.endpoint) else { return "unknown endpoint".to_owned() };
    let kind = match spec.kind {
        EndpointKind::Openai => "OpenAI API",
        EndpointKind::OpenaiResponses => "OpenAI responses API",
        EndpointKind::Azure => "Azure OpenAI",
        EndpointKind::Anthropic => "Anthropic API",
        EndpointKind::Gemini => "Gemini API",
        EndpointKind::Bedrock => "Bedrock",
        EndpointKind::Simulated => "simulated",
        EndpointKind::Encoder => "sentence encoder in the worker",
        EndpointKind::Recorded => "recorded verdicts",
    };
    match (&spec.base_url, &spec.content) {
        (Some(url), _) => format!("{kind} at {url}"),
        (None, Some(digest)) => format!("{kind}, sha256 {digest}"),
        (None, None) => kind.to_owned(),
    }
}

fn served_by(groups: &[GroupResult]) -> BTreeMap<String, String> {
    let mut by_model: BTreeMap<String, BTreeMap<&str, u64>> = BTreeMap::new();
    for group in groups {
        let served = by_model.entry(group.first.model.to_string()).or_default();
        group.served.iter().for_each(|(name, count)| *served.entry(name).or_default() += count);
    }
    let line = |served: BTreeMap<&str, u64>| {
        let parts: Vec<String> = served.iter().map(|(name, count)| format!("{name} ({})", grouped(*count))).collect();
        if parts.is_empty() { "nothing".to_owned() } else { parts.join(", ") }
    };
    by_model.into_iter().map(|(model, served)| (model, line(served))).collect()
}
