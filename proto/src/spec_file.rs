//! Reading a spec: `${VAR}` substitution, YAML, and the checks that need no data.

mod agents;
mod audit;
mod bounds;
mod cast;
mod decide;
mod endpoint;
mod error;
mod implied;
mod items;
mod substitution;

use std::collections::BTreeSet;

use crate::yaml::read_yaml;
use crate::{BenchmarkSpec, EndpointName, Judge, ModelRef, SweepSpec, did_you_mean};

pub use self::bounds::check_bounds;
use self::bounds::{CANARIES_MAX, TRIALS_MAX, WEIGHT_MAX};
use self::endpoint::check_endpoint;
pub use self::error::SpecError;
use self::implied::IMPLIED;
pub use self::implied::{add_implied_endpoints, implied_access, implied_endpoint, implied_endpoints};
pub use self::substitution::substitute;

/// Largest spec accepted, in bytes.
const SPEC_BYTES_MAX: usize = 1 << 20;

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
    check_numbers(spec)?;
    check_references(spec)?;
    check_models(spec)?;
    for (name, benchmark) in &spec.benchmarks {
        check_benchmark(&format!("benchmarks.{name}"), benchmark, spec)?;
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

fn field<T>(field: String, problem: impl Into<String>) -> Result<T, SpecError> {
    Err(SpecError::Field { field, problem: problem.into() })
}

/// Checks the numbers of the whole sweep, and that there is something to run.
fn check_numbers(spec: &SweepSpec) -> Result<(), SpecError> {
    if spec.trials == 0 || spec.trials > TRIALS_MAX {
        return field("trials".into(), format!("must be 1 to {TRIALS_MAX}, is {}", spec.trials));
    }
    if !(0.0..=1.0).contains(&spec.coverage_min) {
        return field("coverage_min".into(), format!("must be 0 to 1, is {}", spec.coverage_min));
    }
    if spec.benchmarks.is_empty() {
        return field("benchmarks".into(), "is empty; name at least one benchmark");
    }
    if spec.models.is_empty() {
        return field("models".into(), "is empty; name at least one model as endpoint/model");
    }
    if let Some(budget) = spec.budget_usd
        && crate::Money::from_dollars(budget).is_none_or(|money| money == crate::Money::ZERO)
    {
        return field("budget_usd".into(), format!("must be a positive number of dollars, is {budget}"));
    }
    if spec.share.weight == 0 || spec.share.weight > WEIGHT_MAX {
        return field("share.weight".into(), format!("must be 1 to {WEIGHT_MAX}, is {}", spec.share.weight));
    }
    Ok(())
}

/// Checks that every model is at an endpoint of the spec.
fn check_references(spec: &SweepSpec) -> Result<(), SpecError> {
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
    Ok(())
}

fn check_models(spec: &SweepSpec) -> Result<(), SpecError> {
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
        cast::check_parameters(&place, model)?;
    }
    Ok(())
}

fn check_benchmark(place: &str, benchmark: &BenchmarkSpec, spec: &SweepSpec) -> Result<(), SpecError> {
    cast::check_roles(&format!("{place}.roles"), &benchmark.roles, &spec.endpoints)?;
    agents::check_casts(place, benchmark, spec)?;
    cast::check_judge(place, benchmark, &spec.endpoints)?;
    audit::check_audit(place, benchmark, spec)?;
    if benchmark.judge_price.as_ref().is_some_and(|price| !price.is_sane()) {
        return field(format!("{place}.judge_price"), "must be non-negative dollars per million tokens");
    }
    items::check_items(place, benchmark)?;
    if benchmark.limit.is_some_and(|limit| limit.count() == 0) {
        return field(format!("{place}.limit"), "must be at least 1; leave it out to run all items");
    }
    if let Some(canaries) = benchmark.canaries {
        check_canaries(format!("{place}.canaries"), canaries, spec)?;
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

#[cfg(test)]
mod tests;
