//! Checks of roles and judges.

use std::collections::BTreeMap;

use super::{SpecError, field};
use crate::{
    BenchmarkSpec, EndpointKind, EndpointName, EndpointSpec, Judge, Lane, ModelRef, ModelSpec, RoleModels, SweepSpec,
};

/// Most members of a panel.
const MEMBERS_MAX: usize = 32;
/// Most repetitions of a question to one member.
const REPEATS_MAX: u8 = 100;

type Endpoints = BTreeMap<EndpointName, EndpointSpec>;

/// Checks that the models of roles can be called live, and have only fields that apply to them.
pub(super) fn check_roles(place: &str, roles: &RoleModels, endpoints: &Endpoints) -> Result<(), SpecError> {
    for (role, model) in roles.iter() {
        check_player(&format!("{place}.{role}"), model, endpoints)?;
    }
    Ok(())
}

/// Checks that a model other than the one under test can be called live, and has only fields that apply to it.
pub(super) fn check_player(place: &str, model: &ModelSpec, endpoints: &Endpoints) -> Result<(), SpecError> {
    let Some(endpoint) = endpoints.get(&model.id.endpoint) else { return Ok(()) };
    if !endpoint.kind.chats() {
        return field(
            place.to_owned(),
            format!("{} is served by an endpoint that only answers evaluators' questions", model.id),
        );
    }
    if endpoint.lane == Lane::Batch {
        return field(
            place.to_owned(),
            format!(
                "{} is served by the batch lane, which cannot take part in conversations; name a live endpoint",
                model.id
            ),
        );
    }
    check_supporting(place, model)
}

/// Refuses fields that apply only to models under test.
fn check_supporting(place: &str, model: &ModelSpec) -> Result<(), SpecError> {
    if model.budget_usd.is_some() {
        return field(
            format!("{place}.budget_usd"),
            "only belongs to models under test; the sweep's budget covers this one",
        );
    }
    if model.family.is_some() {
        return field(format!("{place}.family"), "only belongs to models under test");
    }
    check_parameters(place, model)
}

/// Checks that a judge is one model with one price, or a panel of more than one answer.
pub(super) fn check_judge(place: &str, benchmark: &BenchmarkSpec, endpoints: &Endpoints) -> Result<(), SpecError> {
    let Some(judge) = &benchmark.judge else { return Ok(()) };
    let price_place = || format!("{place}.judge_price");
    match judge {
        Judge::Model(model) if model.price.is_some() && benchmark.judge_price.is_some() => {
            return field(price_place(), "is given twice; the judge itself has a price");
        }
        Judge::Panel(_) if benchmark.judge_price.is_some() => {
            return field(price_place(), "does not go with a panel; give each member its `price`");
        }
        Judge::Plain(_) | Judge::Model(_) | Judge::Panel(_) => {}
    }
    check_members(&format!("{place}.judge"), judge, endpoints)
}

/// Checks that the judge at `judge_place` is one model, or a panel of more than one answer.
pub(super) fn check_members(judge_place: &str, judge: &Judge, endpoints: &Endpoints) -> Result<(), SpecError> {
    match judge {
        Judge::Plain(_) => Ok(()),
        Judge::Model(model) => check_supporting(judge_place, model),
        Judge::Panel(panel) => {
            if !(1..=MEMBERS_MAX).contains(&panel.panel.len()) {
                return field(format!("{judge_place}.panel"), format!("must have 1 to {MEMBERS_MAX} members"));
            }
            if panel.panel.len() == 1 && panel.repeats == 1 {
                return field(
                    format!("{judge_place}.panel"),
                    "has one member that is asked once; write that as the judge, or give it `repeats`",
                );
            }
            if !(1..=REPEATS_MAX).contains(&panel.repeats) {
                return field(
                    format!("{judge_place}.repeats"),
                    format!("must be 1 to {REPEATS_MAX}, is {}", panel.repeats),
                );
            }
            if panel.swap && panel.repeats == 1 {
                return field(
                    format!("{judge_place}.swap"),
                    "needs `repeats` of at least 2: who is asked once sees one order only",
                );
            }
            for (position, member) in panel.panel.iter().enumerate() {
                let place = format!("{judge_place}.panel[{position}]");
                if panel.panel[..position].iter().any(|earlier| earlier.id == member.id) {
                    return field(place, format!("{} is listed twice; use `repeats` to ask it again", member.id));
                }
                let kind = endpoints.get(&member.id.endpoint).map(|endpoint| endpoint.kind);
                if kind == Some(EndpointKind::Encoder) {
                    return field(place, format!("{} is an encoder, which says nothing in words", member.id));
                }
                check_supporting(&place, member)?;
            }
            Ok(())
        }
    }
}

/// Checks that a judge has the same settings wherever it is named, because verdicts are stored by judge.
pub(super) fn check_agreement(spec: &SweepSpec) -> Result<(), SpecError> {
    let mut judges: BTreeMap<ModelRef, (ModelSpec, String)> = BTreeMap::new();
    for (name, benchmark) in &spec.benchmarks {
        for (place, judge) in benchmark.named_judges(&format!("benchmarks.{name}")) {
            for mut member in judge.members() {
                if benchmark.judge.as_ref() == Some(judge) {
                    member.price = member.price.or_else(|| benchmark.judge_price.clone());
                }
                match judges.get(&member.id) {
                    Some((earlier, elsewhere)) if *earlier != member => {
                        return field(
                            place,
                            format!("gives {} other parameters than {elsewhere} does; give it the same", member.id),
                        );
                    }
                    _ => drop(judges.insert(member.id.clone(), (member, place.clone()))),
                }
            }
        }
    }
    Ok(())
}

/// Checks the price and the sampling parameters of one model.
pub(super) fn check_parameters(place: &str, model: &ModelSpec) -> Result<(), SpecError> {
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
