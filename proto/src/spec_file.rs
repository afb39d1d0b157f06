//! Reading a spec: `${VAR}` substitution, YAML, and the checks that need no data.

mod agents;
mod audit;
mod bounds;
mod cast;
mod decide;

use std::collections::BTreeSet;

use crate::header_names::is_reserved_header;
use crate::secret_names::is_secret_name;
use crate::yaml::read_yaml;
use crate::{EndpointKind, EndpointName, EndpointSpec, Judge, Lane, ModelRef, ModelSpec, SweepSpec, did_you_mean};

pub use self::bounds::check_bounds;

/// Largest spec accepted, in bytes.
const SPEC_BYTES_MAX: usize = 1 << 20;
/// Most repetitions of a cell.
const TRIALS_MAX: u16 = 1000;
/// Most canaries of a benchmark: each is asked and paid for in every run.
const CANARIES_MAX: u32 = 1000;
/// Largest weight of a sweep.
const WEIGHT_MAX: u32 = 1000;

/// An invalid spec, with the position of the problem and its solution.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// The file is not YAML, or a field is unknown or has a wrong type; the text has line and column.
    #[error("{0}")]
    Yaml(String),
    /// A `${…}` is not closed or is not a name.
    #[error("line {line}: {problem}; write ${{NAME}}, ${{NAME:-default}}, or $$ for a dollar sign")]
    Substitution {
        /// Line in the file.
        line: usize,
        /// The problem, as a clause.
        problem: String,
    },
    /// An environment variable is not set.
    #[error("line {line}: the environment variable {name} is not set; set it, or write ${{{name}:-default}}")]
    UnsetVariable {
        /// Line in the file.
        line: usize,
        /// Name of the variable.
        name: String,
    },
    /// A field has an invalid value.
    #[error("{field}: {problem}")]
    Field {
        /// Path of the field, such as `endpoints.sim.limits.concurrency`.
        field: String,
        /// The problem and its solution.
        problem: String,
    },
}

/// Parses a spec. `variable` returns the value of an environment variable.
///
/// # Errors
/// The line or the field of the first problem.
pub fn parse_spec(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<SweepSpec, SpecError> {
    if text.len() > SPEC_BYTES_MAX {
        return Err(SpecError::Yaml(format!("the spec is larger than {SPEC_BYTES_MAX} bytes")));
    }
    let mut spec: SweepSpec = read_yaml(&substitute(text, variable)?).map_err(SpecError::Yaml)?;
    add_implied_endpoints(&mut spec);
    check_bounds(&spec)?;
    check_spec(&spec)?;
    Ok(spec)
}

/// Replaces `${NAME}` and `${NAME:-default}`; `$$` is a dollar sign. Comments are left alone.
///
/// # Errors
/// When a variable is not set or by its name [a secret](is_secret_name), or a reference is malformed.
pub fn substitute(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<String, SpecError> {
    let mut out = String::with_capacity(text.len());
    for (number, line) in text.split_inclusive('\n').enumerate() {
        let line_number = number + 1;
        let code_length = if line.trim_start().starts_with('#') { 0 } else { line.find(" #").unwrap_or(line.len()) };
        let (mut rest, comment) = line.split_at(code_length);
        while let Some(dollar) = rest.find('$') {
            out.push_str(&rest[..dollar]);
            rest = &rest[dollar + 1..];
            if let Some(after) = rest.strip_prefix('$') {
                out.push('$');
                rest = after;
            } else if let Some(after) = rest.strip_prefix('{') {
                let problem =
                    |problem: &str| SpecError::Substitution { line: line_number, problem: problem.to_owned() };
                let (inside, after) = after.split_once('}').ok_or_else(|| problem("a ${ without its }"))?;
                let (name, default) = inside.split_once(":-").map_or((inside, None), |(n, d)| (n, Some(d)));
                if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
                    // Not quoted: it may be a secret, or a default after another mark than `:-`.
                    return Err(problem("the text between ${ and } is not a variable name"));
                }
                if is_secret_name(name) {
                    return Err(problem(&format!(
                        "{name} may hold a secret, and specs are stored: name the variable in api_key_env or headers_env instead"
                    )));
                }
                let value = variable(name)
                    .or_else(|| default.map(str::to_owned))
                    .ok_or_else(|| SpecError::UnsetVariable { line: line_number, name: name.to_owned() })?;
                if value.contains(['\n', '\r']) {
                    return Err(problem(&format!("the value of {name} spans several lines")));
                }
                out.push_str(&value);
                rest = after;
            } else {
                out.push('$');
            }
        }
        out.push_str(rest);
        out.push_str(comment);
    }
    Ok(out)
}

/// Address of a provider, and the variable of its key.
type Access = (&'static str, &'static str);

/// Providers that need no `endpoints` entry: name, kind, and address and key variable if they differ from the kind's own.
const IMPLIED: &[(&str, EndpointKind, Option<Access>)] = &[
    ("openai", EndpointKind::Openai, None),
    ("openai-responses", EndpointKind::OpenaiResponses, None),
    ("anthropic", EndpointKind::Anthropic, None),
    ("gemini", EndpointKind::Gemini, None),
    ("bedrock", EndpointKind::Bedrock, None),
    ("openrouter", EndpointKind::Openai, Some(("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"))),
    ("together", EndpointKind::Openai, Some(("https://api.together.xyz/v1", "TOGETHER_API_KEY"))),
    ("deepseek", EndpointKind::Openai, Some(("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"))),
];

/// Names of the providers that need no `endpoints` entry.
pub fn implied_endpoints() -> impl Iterator<Item = &'static str> {
    IMPLIED.iter().map(|(name, ..)| *name)
}

/// Addresses of the providers that need no `endpoints` entry and differ from their kind's own, each with the variable of its key.
pub fn implied_access() -> impl Iterator<Item = (&'static str, &'static str)> {
    IMPLIED.iter().filter_map(|(_, _, elsewhere)| *elsewhere)
}

/// The endpoint of a provider that needs no `endpoints` entry; `None` for another name.
#[must_use]
pub fn implied_endpoint(name: &str) -> Option<EndpointSpec> {
    let (_, kind, elsewhere) = IMPLIED.iter().find(|(known, ..)| *known == name)?;
    let (base_url, api_key_env) = elsewhere.map(|(url, key)| (url.to_owned(), key.to_owned())).unzip();
    Some(EndpointSpec { base_url, api_key_env, ..EndpointSpec::of_kind(*kind) })
}

/// Adds the providers that `spec` uses without an `endpoints` entry, so that `openai/…`, `anthropic/…` and others work without one.
/// [`parse_spec`] does this too.
pub fn add_implied_endpoints(spec: &mut SweepSpec) {
    let used: BTreeSet<String> = spec.all_models().iter().map(|(_, model)| model.endpoint.to_string()).collect();
    for name in implied_endpoints().filter(|name| used.contains(*name)) {
        if let (Ok(key), Some(endpoint)) = (name.parse(), implied_endpoint(name)) {
            spec.endpoints.entry(key).or_insert(endpoint);
        }
    }
    for endpoint in spec.endpoints.values_mut().filter(|endpoint| endpoint.kind == EndpointKind::Simulated) {
        endpoint.identify_sessions = true;
    }
}

impl SweepSpec {
    /// All models of the spec: under test, in other roles, members of teams, and judges, each with the field that names it.
    #[must_use]
    pub fn all_models(&self) -> Vec<(String, &ModelRef)> {
        let tested = self.models.iter().enumerate().map(|(position, model)| (format!("models[{position}]"), &model.id));
        let mut all: Vec<(String, &ModelRef)> = tested.collect();
        for (name, benchmark) in &self.benchmarks {
            let roles = benchmark.roles.iter();
            all.extend(roles.map(|(role, model)| (format!("benchmarks.{name}.roles.{role}"), &model.id)));
            for (cast, members) in &benchmark.casts {
                let members = members.iter();
                all.extend(
                    members.map(|(member, model)| (format!("benchmarks.{name}.casts.{cast}.{member}"), &model.id)),
                );
            }
            for (place, judge) in benchmark.named_judges(&format!("benchmarks.{name}")) {
                match judge {
                    Judge::Panel(panel) => {
                        let members = panel.panel.iter().enumerate();
                        all.extend(
                            members.map(|(position, member)| (format!("{place}.panel[{position}]"), &member.id)),
                        );
                    }
                    Judge::Plain(id) => all.push((place, id)),
                    Judge::Model(model) => all.push((place, &model.id)),
                }
            }
        }
        all
    }
}

/// Checks `spec` without its data, but for its bounds. [`parse_spec`] does this too; specs that come as JSON need it.
///
/// # Errors
/// The field that is invalid.
pub fn check_spec(spec: &SweepSpec) -> Result<(), SpecError> {
    let field = |field: String, problem: String| Err(SpecError::Field { field, problem });
    if spec.trials == 0 || spec.trials > TRIALS_MAX {
        return field("trials".into(), format!("must be 1 to {TRIALS_MAX}, is {}", spec.trials));
    }
    if !(0.0..=1.0).contains(&spec.coverage_min) {
        return field("coverage_min".into(), format!("must be 0 to 1, is {}", spec.coverage_min));
    }
    if spec.benchmarks.is_empty() {
        return field("benchmarks".into(), "is empty; name at least one benchmark".into());
    }
    if spec.models.is_empty() {
        return field("models".into(), "is empty; name at least one model as endpoint/model".into());
    }
    if let Some(budget) = spec.budget_usd
        && crate::Money::from_dollars(budget).is_none_or(|money| money == crate::Money::ZERO)
    {
        return field("budget_usd".into(), format!("must be a positive number of dollars, is {budget}"));
    }
    if spec.share.weight == 0 || spec.share.weight > WEIGHT_MAX {
        return field("share.weight".into(), format!("must be 1 to {WEIGHT_MAX}, is {}", spec.share.weight));
    }
    let known = || spec.endpoints.keys().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    for (place, model) in spec.all_models() {
        if !spec.endpoints.contains_key(&model.endpoint) {
            return field(
                place,
                format!(
                    "{model} names the endpoint {:?}, which `endpoints` does not list; listed: {}{}",
                    model.endpoint.as_str(),
                    known(),
                    did_you_mean(
                        model.endpoint.as_str(),
                        spec.endpoints.keys().map(EndpointName::as_str).chain(IMPLIED.iter().map(|(name, ..)| *name))
                    )
                ),
            );
        }
    }
    let mut seen = BTreeSet::new();
    for (position, model) in spec.models.iter().enumerate() {
        let place = format!("models[{position}]");
        if !seen.insert(&model.id) {
            return field(place, format!("{} is listed twice; use `trials` to repeat a model", model.id));
        }
        if !spec.endpoints[&model.id.endpoint].kind.chats() {
            return field(
                place,
                format!("{} is served by an endpoint that only answers evaluators' questions", model.id),
            );
        }
        if let Some(budget) = model.budget_usd
            && crate::Money::from_dollars(budget).is_none_or(|money| money == crate::Money::ZERO)
        {
            return field(format!("{place}.budget_usd"), format!("must be a positive number of dollars, is {budget}"));
        }
        check_parameters(&place, model)?;
    }
    for (name, benchmark) in &spec.benchmarks {
        cast::check_roles(&format!("benchmarks.{name}.roles"), &benchmark.roles, &spec.endpoints)?;
        agents::check_casts(&format!("benchmarks.{name}"), benchmark, spec)?;
        cast::check_judge(&format!("benchmarks.{name}"), benchmark, &spec.endpoints)?;
        audit::check_audit(&format!("benchmarks.{name}"), benchmark, spec)?;
        if benchmark.judge_price.as_ref().is_some_and(|price| !price.is_sane()) {
            return field(
                format!("benchmarks.{name}.judge_price"),
                "must be non-negative dollars per million tokens".into(),
            );
        }
        if benchmark.limit.is_some_and(|limit| limit.count() == 0) {
            return field(
                format!("benchmarks.{name}.limit"),
                "must be at least 1; leave it out to run all items".into(),
            );
        }
        if let Some(canaries) = benchmark.canaries {
            check_canaries(format!("benchmarks.{name}.canaries"), canaries, spec)?;
        }
    }
    if let Some(decide) = &spec.decide {
        decide::check_decide(decide, spec)?;
    }
    cast::check_agreement(spec)?;
    agents::check_agents(spec)?;
    for (name, endpoint) in &spec.endpoints {
        check_endpoint(&format!("endpoints.{name}"), endpoint)?;
    }
    Ok(())
}

/// Checks the number of items that every run asks.
fn check_canaries(field: String, canaries: u32, spec: &SweepSpec) -> Result<(), SpecError> {
    let problem = match canaries {
        1..=CANARIES_MAX if spec.decide.is_none() => return Ok(()),
        1..=CANARIES_MAX => {
            "does not go with `decide`, which asks items only until its question is answered".to_owned()
        }
        _ => format!("must be 1 to {CANARIES_MAX}, is {canaries}; leave it out for none"),
    };
    Err(SpecError::Field { field, problem })
}

/// Checks the price and the sampling parameters of one model.
fn check_parameters(place: &str, model: &ModelSpec) -> Result<(), SpecError> {
    let field =
        |name: &str, problem: &str| Err(SpecError::Field { field: format!("{place}.{name}"), problem: problem.into() });
    if model.price.as_ref().is_some_and(|price| !price.is_sane()) {
        return field("price", "must be non-negative dollars per million tokens");
    }
    if model.temperature.is_some_and(|t| !(0.0..=10.0).contains(&t)) {
        return field("temperature", "must be between 0 and 10");
    }
    if model.top_p.is_some_and(|p| !(0.0..=1.0).contains(&p)) {
        return field("top_p", "must be between 0 and 1");
    }
    Ok(())
}

fn check_endpoint(place: &str, endpoint: &EndpointSpec) -> Result<(), SpecError> {
    let field = |name: &str, problem: String| Err(SpecError::Field { field: format!("{place}.{name}"), problem });
    if !(1..=100_000).contains(&endpoint.limits.concurrency) {
        return field("limits.concurrency", format!("must be 1 to 100000, is {}", endpoint.limits.concurrency));
    }
    if endpoint.limits.requests_per_minute == Some(0) {
        return field("limits.requests_per_minute", "must be at least 1; leave it out for no limit".into());
    }
    if endpoint.limits.tokens_per_minute == Some(0) {
        return field("limits.tokens_per_minute", "must be at least 1; leave it out for no limit".into());
    }
    for (model, limits) in &endpoint.model_limits {
        if limits.concurrency == Some(0) || limits.requests_per_minute == Some(0) || limits.tokens_per_minute == Some(0)
        {
            return field(
                &format!("model_limits.{model}"),
                "must be at least 1 each; leave out what is not limited".into(),
            );
        }
    }
    if endpoint.kind == EndpointKind::Azure && endpoint.api_version.is_none() {
        return field("api_version", "is missing: Azure wants one, as 2024-10-21".into());
    }
    check_batch(endpoint, &field)?;
    if endpoint.retries.quarantine_after < 2 {
        return field("retries.quarantine_after", "must be at least 2".into());
    }
    if !(1..=100).contains(&endpoint.retries.attempts) {
        return field("retries.attempts", format!("must be 1 to 100, is {}", endpoint.retries.attempts));
    }
    if endpoint.timeouts.total_ms == 0 || endpoint.timeouts.connect_ms == 0 || endpoint.timeouts.first_byte_ms == 0 {
        return field("timeouts", "must all be at least 1 millisecond".into());
    }
    if endpoint.content.is_some() {
        return field("content", "is filled in by the plan; write `path` instead".into());
    }
    let needs_path = !endpoint.kind.chats();
    match (&endpoint.path, &endpoint.registered) {
        (_, Some(_)) if endpoint.kind != EndpointKind::Encoder => {
            return field("registered", "only belongs to endpoints of kind encoder".into());
        }
        (Some(_), Some(_)) => {
            return field("registered", "stands in place of path; leave out one of them".into());
        }
        (None, None) if needs_path => {
            return field("path", "is missing: the directory of the encoder, or the file of the verdicts".into());
        }
        (Some(_), None) if !needs_path => {
            return field("path", "only belongs to endpoints of kind encoder or recorded".into());
        }
        (Some(_) | None, None) | (None, Some(_)) => {}
    }
    if let Some(url) = &endpoint.base_url {
        if !endpoint.kind.takes_address() {
            return field("base_url", "only belongs to endpoints of models behind HTTP".into());
        }
        if !url.starts_with("http://") && !url.starts_with("https://") {
            // Not quoted, like everything that may hold a secret where it does not belong.
            return field("base_url", "must begin with http:// or https://".into());
        }
        if url.contains(['?', '#']) {
            return field(
                "base_url",
                "goes on after the path, with `?` or `#`; api_version is a field of its own, and a key belongs into the variable that \
                 api_key_env names"
                    .into(),
            );
        }
        if has_credentials(url) {
            return field(
                "base_url",
                "holds credentials; put the key into a variable and name it in api_key_env".into(),
            );
        }
    }
    for (map, headers) in [("headers", &endpoint.headers), ("headers_env", &endpoint.headers_env)] {
        if let Some(name) = headers.keys().find(|name| is_reserved_header(name)) {
            return field(
                &format!("{map}.{name}"),
                "says where a request goes or how it is framed, which a spec does not decide: leave it out, and name the host in base_url"
                    .into(),
            );
        }
    }
    if let Some(name) = endpoint.headers.keys().find(|name| is_secret_name(name)) {
        return field(
            &format!("headers.{name}"),
            format!(
                "may hold a secret, and specs are stored: put it into a variable and write headers_env: {{ {name}: VARIABLE }}"
            ),
        );
    }
    if let Some((name, variable)) = endpoint.headers_env.iter().find(|(_, variable)| !is_variable(variable)) {
        let problem = format!(
            "must be the name of an environment variable, never the secret itself; it has {} characters",
            variable.len()
        );
        return field(&format!("headers_env.{name}"), problem);
    }
    if let Some(name) = endpoint.api_key_env.as_deref().filter(|name| !is_variable(name)) {
        let problem = format!(
            "must be the name of an environment variable, never the key itself; it has {} characters",
            name.len()
        );
        return field("api_key_env", problem);
    }
    if let Some(name) = endpoint.body.iter().find_map(|(name, value)| secret_field(name, value)) {
        return field(
            &format!("body.{name}"),
            "may hold a secret, and specs are stored: name its variable in api_key_env or headers_env".into(),
        );
    }
    if let Some(region) = &endpoint.region
        && (region.is_empty() || !region.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'))
    {
        return field("region", format!("must be made of letters, digits and '-', is {region:?}"));
    }
    if endpoint.send_seed == Some(true) && !endpoint.kind.has_seed() {
        return field("send_seed", "cannot be true: requests of this kind have no field for a seed".into());
    }
    if let Some(simulation) = &endpoint.simulation {
        if endpoint.kind != EndpointKind::Simulated {
            return field("simulation", "only belongs to endpoints of kind simulated".into());
        }
        if let Err((name, problem)) = simulation.check() {
            return field(&format!("simulation.{name}"), problem);
        }
    }
    Ok(())
}

/// `true` if an address contains a user or a password. URL parsers skip slashes before the host, and treat backslashes as slashes.
fn has_credentials(url: &str) -> bool {
    let rest = url.split_once(':').map_or(url, |(_, rest)| rest).trim_start_matches(['/', '\\']);
    rest.split(['/', '\\', '?', '#']).next().is_some_and(|authority| authority.contains('@'))
}

/// `true` for names of variables as people choose them; keys have other characters, or are longer.
fn is_variable(name: &str) -> bool {
    const LENGTH_MAX: usize = 100;
    name.len() <= LENGTH_MAX
        && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The path of a text within `value` whose name indicates a secret.
fn secret_field(name: &str, value: &serde_json::Value) -> Option<String> {
    match value {
        serde_json::Value::String(_) => is_secret_name(name).then(|| name.to_owned()),
        serde_json::Value::Object(fields) => {
            fields.iter().find_map(|(inner, value)| secret_field(inner, value)).map(|inner| format!("{name}.{inner}"))
        }
        serde_json::Value::Array(values) => values.iter().find_map(|value| secret_field(name, value)),
        serde_json::Value::Null | serde_json::Value::Bool(_) | serde_json::Value::Number(_) => None,
    }
}

fn check_batch(
    endpoint: &EndpointSpec,
    field: &dyn Fn(&str, String) -> Result<(), SpecError>,
) -> Result<(), SpecError> {
    let offers = matches!(endpoint.kind, EndpointKind::Openai | EndpointKind::Anthropic | EndpointKind::Simulated);
    if endpoint.lane == Lane::Batch && !offers {
        return field("lane", "is batch, which only endpoints of kind openai, anthropic and simulated offer".into());
    }
    if endpoint.lane == Lane::Batch && endpoint.stream {
        return field("stream", "does not go with lane: batch".into());
    }
    match endpoint.batch {
        Some(_) if endpoint.lane == Lane::Live => field("batch", "only belongs to endpoints of lane: batch".into()),
        Some(batch) if !(1..=50_000).contains(&batch.requests_max) => {
            field("batch.requests_max", format!("must be 1 to 50000, is {}", batch.requests_max))
        }
        Some(batch) if batch.poll_ms == 0 => field("batch.poll_ms", "must be at least 1".into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
