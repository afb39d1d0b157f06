//! Limits of how much a spec may name and say. It is planned, stored, shown and sent to every worker, and the headers and bodies of its
//! endpoints go out with every call, so that nothing in it is without an end.

use serde::Serialize;

use super::SpecError;
use crate::{
    BenchmarkSpec, EndpointSpec, ExternalAgent, Judge, MAX_ID_LENGTH, ModelSpec, Price, SweepSpec, json_bytes,
};

/// Most bytes of a whole spec as JSON: aliases of its YAML are written out in it, and a submission has no YAML.
const SPEC_JSON_BYTES_MAX: usize = 4 << 20;
/// Most repetitions of a cell.
pub(super) const TRIALS_MAX: u16 = 1000;
/// Most canaries of a benchmark: each is asked and paid for in every run.
pub(super) const CANARIES_MAX: u32 = 1000;
/// Largest weight of a sweep.
pub(super) const WEIGHT_MAX: u32 = 1000;
/// Most benchmarks.
const BENCHMARKS_MAX: usize = 100;
/// Most models under test.
const MODELS_MAX: usize = 2000;
/// Most endpoints; each has a queue of its own in each sweep.
const ENDPOINTS_MAX: usize = 200;
/// Most external agents.
const AGENTS_MAX: usize = 200;
/// Most settings of a benchmark.
const SETTINGS_MAX: usize = 1000;
/// Most tasks that a benchmark is restricted to.
const TASKS_MAX: usize = 1000;
/// Most items that a benchmark lists; whoever wants more of a data set names none.
const ITEMS_MAX: usize = 10_000;
/// Most evaluators of a benchmark.
const EVALUATORS_MAX: usize = 16;
/// Most casts of a benchmark.
const CASTS_MAX: usize = 100;
/// Most members of a cast.
const CAST_MEMBERS_MAX: usize = 64;
/// Most bytes of an endpoint as JSON: headers, body, limits of its models and behaviour of a simulated one together.
const ENDPOINT_BYTES_MAX: usize = 256 << 10;
/// Most additional headers of an endpoint, secret ones included. Servers take a hundred in all.
const HEADERS_MAX: usize = 32;
/// Longest name of a header, in bytes.
const HEADER_NAME_BYTES_MAX: usize = 100;
/// Longest value of a header, in bytes. Servers refuse requests whose headers have more than eight or sixteen KiB together.
const HEADER_VALUE_BYTES_MAX: usize = 4 << 10;
/// Most bytes of the additional fields of an endpoint's requests as JSON.
const BODY_BYTES_MAX: usize = 64 << 10;
/// Longest address of an endpoint or an agent, in bytes.
const URL_BYTES_MAX: usize = 2 << 10;
/// Longest time-out, pause or deadline, in milliseconds: a day, within which a provider answers a batch.
const TIME_MS_MAX: u64 = 24 * 3_600_000;
/// Most bytes of a model with its parameters and price as JSON; its price is gone through for each call.
const MODEL_BYTES_MAX: usize = 16 << 10;
/// Most bytes of an agent as JSON: its command line and variables together.
const AGENT_BYTES_MAX: usize = 64 << 10;

/// Advice for lists that make the grid, or the sweep, larger.
const SPLIT: &str = "split the sweep into several";
/// Advice for lists and texts that nobody needs so large.
const SHORTEN: &str = "leave out what is not needed";
/// Advice for names.
const SHORTER_NAME: &str = "give it a shorter name";

/// Checks that nothing in `spec` is more than a deployment can be asked to keep, and nothing else: where specs come in. Those that were accepted
/// before, perhaps by a version without bounds, keep what they have. [`parse_spec`](crate::parse_spec) does this too.
///
/// # Errors
/// The field that is beyond its bound.
pub fn check_bounds(spec: &SweepSpec) -> Result<(), SpecError> {
    // The parts first: whoever reads the error is told which one is too large.
    for (place, found, most) in [
        ("benchmarks", spec.benchmarks.len(), BENCHMARKS_MAX),
        ("models", spec.models.len(), MODELS_MAX),
        ("endpoints", spec.endpoints.len(), ENDPOINTS_MAX),
        ("agents", spec.agents.len(), AGENTS_MAX),
    ] {
        check_count(place, found, most, SPLIT)?;
    }
    for (name, benchmark) in &spec.benchmarks {
        check_benchmark(&format!("benchmarks.{name}"), benchmark)?;
    }
    for (position, model) in spec.models.iter().enumerate() {
        check_model(&format!("models[{position}]"), model)?;
    }
    for (name, endpoint) in &spec.endpoints {
        check_endpoint(&format!("endpoints.{name}"), endpoint)?;
    }
    for (name, agent) in &spec.agents {
        check_agent(&format!("agents.{name}"), agent)?;
    }
    if let Some(metric) = spec.decide.as_ref().and_then(|decide| decide.metric.as_ref()) {
        check_bytes("decide.metric", metric.len(), MAX_ID_LENGTH, "name a metric of the benchmark")?;
    }
    check_json("spec", spec, SPEC_JSON_BYTES_MAX, SPLIT)
}

fn check_benchmark(place: &str, benchmark: &BenchmarkSpec) -> Result<(), SpecError> {
    for (list, found, most) in [
        ("settings", benchmark.settings.len(), SETTINGS_MAX),
        ("tasks", benchmark.tasks.len(), TASKS_MAX),
        ("items", benchmark.items.len(), ITEMS_MAX),
        ("evaluators", benchmark.evaluators.len(), EVALUATORS_MAX),
        ("casts", benchmark.casts.len(), CASTS_MAX),
    ] {
        check_count(&format!("{place}.{list}"), found, most, SPLIT)?;
    }
    for (position, task) in benchmark.tasks.iter().enumerate() {
        let advice = "name a task of the data set";
        check_bytes(&format!("{place}.tasks[{position}]"), task.len(), MAX_ID_LENGTH, advice)?;
    }
    for (cast, members) in &benchmark.casts {
        let named = format!("{place}.casts.{}", beginning(cast));
        check_bytes(&format!("the name of {named}"), cast.len(), MAX_ID_LENGTH, SHORTER_NAME)?;
        check_count(&named, members.len(), CAST_MEMBERS_MAX, SHORTEN)?;
        for (member, model) in members {
            check_model(&format!("{place}.casts.{cast}.{member}"), model)?;
        }
    }
    for (role, model) in benchmark.roles.iter() {
        check_model(&format!("{place}.roles.{role}"), model)?;
    }
    for (place, judge) in benchmark.named_judges(place) {
        match judge {
            Judge::Plain(_) => {}
            Judge::Model(model) => check_model(&place, model)?,
            Judge::Panel(panel) => {
                for (position, member) in panel.panel.iter().enumerate() {
                    check_model(&format!("{place}.panel[{position}]"), member)?;
                }
            }
        }
    }
    if let Some(price) = &benchmark.judge_price {
        check_price(&format!("{place}.judge_price"), price)?;
    }
    Ok(())
}

fn check_model(place: &str, model: &ModelSpec) -> Result<(), SpecError> {
    if let Some(family) = &model.family {
        check_bytes(&format!("{place}.family"), family.len(), MAX_ID_LENGTH, SHORTER_NAME)?;
    }
    if let Some(price) = &model.price {
        check_price(&format!("{place}.price"), price)?;
    }
    check_json(place, model, MODEL_BYTES_MAX, SHORTEN)
}

fn check_price(place: &str, price: &Price) -> Result<(), SpecError> {
    check_json(place, price, MODEL_BYTES_MAX, "leave out tiers, windows and variants that do not apply")
}

fn check_endpoint(place: &str, endpoint: &EndpointSpec) -> Result<(), SpecError> {
    let at = |field: &str| format!("{place}.{field}");
    let headers = endpoint.headers.len() + endpoint.headers_env.len();
    check_count(&at("headers"), headers, HEADERS_MAX, "leave out those that the endpoint does not read")?;
    for (map, headers) in [("headers", &endpoint.headers), ("headers_env", &endpoint.headers_env)] {
        for (name, value) in headers {
            let named = at(&format!("{map}.{}", beginning(name)));
            check_bytes(&format!("the name of {named}"), name.len(), HEADER_NAME_BYTES_MAX, SHORTER_NAME)?;
            check_bytes(&named, value.len(), HEADER_VALUE_BYTES_MAX, "shorten it")?;
        }
    }
    check_json(&at("body"), &endpoint.body, BODY_BYTES_MAX, "leave out fields that the endpoint does not read")?;
    let base_url = endpoint.base_url.as_ref().map_or(0, String::len);
    check_bytes(&at("base_url"), base_url, URL_BYTES_MAX, "name the address up to the version alone")?;
    for (name, text) in [("api_version", &endpoint.api_version), ("region", &endpoint.region)] {
        let length = text.as_ref().map_or(0, String::len);
        check_bytes(&at(name), length, MAX_ID_LENGTH, "write it as the provider does")?;
    }
    let batch = endpoint.batch.unwrap_or_default();
    for (name, milliseconds) in [
        ("timeouts.connect_ms", endpoint.timeouts.connect_ms),
        ("timeouts.first_byte_ms", endpoint.timeouts.first_byte_ms),
        ("timeouts.total_ms", endpoint.timeouts.total_ms),
        ("retries.base_delay_ms", endpoint.retries.base_delay_ms),
        ("retries.max_delay_ms", endpoint.retries.max_delay_ms),
        ("retries.deadline_ms", endpoint.retries.deadline_ms),
        ("batch.gather_ms", batch.gather_ms),
        ("batch.poll_ms", batch.poll_ms),
    ] {
        if milliseconds > TIME_MS_MAX {
            let problem = format!("must be at most {TIME_MS_MAX} (a day), is {milliseconds}");
            return Err(SpecError::Field { field: at(name), problem });
        }
    }
    check_json(place, endpoint, ENDPOINT_BYTES_MAX, SHORTEN)
}

fn check_agent(place: &str, agent: &ExternalAgent) -> Result<(), SpecError> {
    let url = agent.url.as_ref().map_or(0, String::len);
    check_bytes(&format!("{place}.url"), url, URL_BYTES_MAX, "give the service a shorter address")?;
    check_json(place, agent, AGENT_BYTES_MAX, "have the command read what is long from a file")
}

/// The beginning of a name, which may be of any length before it is checked.
fn beginning(name: &str) -> String {
    const CHARACTERS: usize = 40;
    match name.char_indices().nth(CHARACTERS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
}

fn check_count(place: &str, found: usize, most: usize, advice: &str) -> Result<(), SpecError> {
    if found <= most {
        return Ok(());
    }
    let problem = format!("lists {found}, at most {most} are allowed; {advice}");
    Err(SpecError::Field { field: place.to_owned(), problem })
}

fn check_bytes(place: &str, found: usize, most: usize, advice: &str) -> Result<(), SpecError> {
    if found <= most {
        return Ok(());
    }
    let problem = format!("has {found} bytes, at most {most} are allowed; {advice}");
    Err(SpecError::Field { field: place.to_owned(), problem })
}

fn check_json(place: &str, part: &impl Serialize, most: usize, advice: &str) -> Result<(), SpecError> {
    check_bytes(place, json_bytes(part).len(), most, advice)
}

#[cfg(test)]
mod tests;
