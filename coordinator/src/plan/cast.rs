//! Checks that every role of a benchmark's sessions can be played: roles, members of teams, judges, live endpoints.

use std::collections::BTreeMap;

use regatta_benchmarks::{NoVerdicts, Persona, Scoring, Sessions, Suite, Tables, listed_items, select_items};
use regatta_proto::{
    BenchmarkLock, BenchmarkName, BenchmarkSpec, EndpointKind, Evaluator, ItemIndex, Judge, Lane, MemberName, ModelRef,
    ModelSpec, Question, Role, RoleModels, Setting, SweepSpec,
};

use super::{PlanError, field};
use crate::estimate::play;

/// Items of each setting that are played to see whether a judge is needed.
const ITEMS_TRIED: usize = 16;
/// Simulated models that play them: some benchmarks have nothing to judge in gold answers, others nothing in noisy ones.
const PERSONAS: [Persona; 2] = [Persona::Oracle, Persona::Noisy(0.5)];

/// Every role that sessions need has a model, and no other has.
pub(super) fn check_roles(
    place: &str,
    suite: &dyn Sessions,
    settings: &[Setting],
    roles: &RoleModels,
) -> Result<(), PlanError> {
    for setting in settings {
        let mut needed = suite.roles(setting).into_iter().filter(|role| !matches!(role, Role::Agent | Role::Judge));
        if let Some(role) = needed.find(|role| roles.get(*role).is_none()) {
            return field(
                format!("{place}.roles.{role}"),
                format!("is missing: {setting} needs a model that plays the {role}; write it as endpoint/model"),
            );
        }
    }
    for (role, model) in roles.iter() {
        if !settings.iter().any(|setting| suite.roles(setting).contains(&role)) {
            let names: Vec<&str> = settings.iter().map(Setting::as_str).collect();
            return field(
                format!("{place}.roles.{role}"),
                format!(
                    "{model} has nothing to play: no session of {} has that role; leave it out",
                    names.join(", "),
                    model = model.id
                ),
            );
        }
    }
    Ok(())
}

/// Every cast that a setting names gives models to members that its sessions have.
pub(super) fn check_members(
    place: &str,
    suite: &dyn Sessions,
    settings: &[Setting],
    casts: &BTreeMap<String, BTreeMap<MemberName, ModelSpec>>,
) -> Result<(), PlanError> {
    for setting in settings {
        let Some((cast, models)) = setting.cast().and_then(|name| casts.get_key_value(name)) else { continue };
        let members = suite.members(setting);
        // What members somebody else's agent has, is for that agent to say.
        if setting.external().is_some() && members.is_empty() {
            continue;
        }
        if let Some(stranger) = models.keys().find(|member| !members.contains(member)) {
            let known: Vec<&str> = members.iter().map(|member| member.as_str()).collect();
            let known = if known.is_empty() { "none" } else { &known.join(", ") };
            return field(
                format!("{place}.casts.{cast}.{stranger}"),
                format!("is no member of the teams of {setting}; members: {known}"),
            );
        }
    }
    Ok(())
}

/// Sessions with several models are conversations, and those of external agents ask at once; no batch API can hold either.
pub(super) fn check_lanes(
    benchmark: &BenchmarkName,
    locked: &BenchmarkLock,
    suite: &dyn Sessions,
    spec: &SweepSpec,
) -> Result<(), PlanError> {
    let is_conversation = |setting: &&Setting| {
        let has_roles = suite.roles(setting).iter().any(|role| *role != Role::Agent);
        has_roles || setting.cast().is_some() || setting.external().is_some()
    };
    let Some(setting) = locked.settings.iter().find(is_conversation) else { return Ok(()) };
    let what = match setting.external() {
        Some(_) => "those of an external agent, which waits for its answers",
        None => "conversations of several models",
    };
    for (position, model) in spec.models.iter().enumerate() {
        let lane = spec.endpoints.get(&model.id.endpoint).map(|endpoint| endpoint.lane);
        if lane == Some(Lane::Batch) {
            return field(
                format!("models[{position}]"),
                format!(
                    "{} is served by the batch lane, which answers single calls, but sessions of {benchmark} {setting} are \
                     {what}; name a live endpoint, or run that setting in a sweep of its own",
                    model.id
                ),
            );
        }
    }
    Ok(())
}

/// There is a judge where the evaluators ask for one, and it can answer what they ask.
pub(super) fn check_judge(
    name: &BenchmarkName,
    suite: &dyn Suite,
    wanted: &BenchmarkSpec,
    spec: &SweepSpec,
    settings: &[Setting],
    evaluators: &[Evaluator],
) -> Result<(), PlanError> {
    if wanted.audit.is_some() {
        check_audited(name, suite, settings, evaluators)?;
    }
    let Some(model) = spec.models.first() else { return Ok(()) };
    let place = format!("benchmarks.{name}");
    let first = || {
        let select = |setting| {
            let selected = select_items(suite, name, setting, &wanted.tasks, wanted.limit, spec.seed).ok()?;
            Some(listed_items(suite.items(), selected, &wanted.items))
        };
        settings.iter().find_map(|setting| first_question(suite, setting, &select(setting)?, &model.id, evaluators))
    };
    let question = suite.example_question(evaluators).or_else(first);
    let Some(question) = question else { return Ok(()) };
    let kind = |judge: &ModelRef| spec.endpoints.get(&judge.endpoint).map(|endpoint| endpoint.kind);
    let missing = |problem: &str| field(format!("{place}.judge"), problem);
    match (&question, &wanted.judge) {
        (Question::Similarity { .. }, None) => missing(
            "is missing: the evaluators ask for verdicts; name who answers as endpoint/model, for instance an endpoint of kind \
             encoder, openai (embeddings) or recorded",
        ),
        (Question::Judgement { .. }, None) => missing(
            "is missing: the evaluators ask for verdicts in words; name the chat model that gives them as endpoint/model, or an \
             endpoint of kind recorded",
        ),
        (Question::Similarity { .. } | Question::Judgement { .. }, Some(judge)) => {
            check_answers(&format!("{place}.judge"), &question, judge, kind)?;
            let Some(audit) = &wanted.audit else { return Ok(()) };
            check_answers(&format!("{place}.audit.judge"), &question, &audit.judge, kind)
        }
    }
}

/// An audit corrects what a judge decides, so there must be some.
fn check_audited(
    name: &BenchmarkName,
    suite: &dyn Tables,
    settings: &[Setting],
    evaluators: &[Evaluator],
) -> Result<(), PlanError> {
    let is_judged = |setting, evaluator| {
        suite.metrics(setting, evaluator).iter().any(|metric| suite.is_judged_metric(evaluator, metric))
    };
    if settings.iter().any(|setting| evaluators.iter().any(|evaluator| is_judged(setting, *evaluator))) {
        return Ok(());
    }
    field(
        format!("benchmarks.{name}.audit"),
        format!(
            "has nothing to correct: {name} declares no metric that a judge's verdict can change; a benchmark with a program declares \
             such values as `judged: true`; leave the audit out otherwise"
        ),
    )
}

/// The judge at `place`, whose models are at endpoints of a `kind`, can answer `question`.
fn check_answers(
    place: &str,
    question: &Question,
    judge: &Judge,
    kind: impl Fn(&ModelRef) -> Option<EndpointKind>,
) -> Result<(), PlanError> {
    match (question, judge) {
        (Question::Similarity { .. }, Judge::Panel(_)) => field(
            place.to_owned(),
            "is a panel, but the evaluators ask for similarities, which one model computes; name one as endpoint/model",
        ),
        (Question::Judgement { .. }, Judge::Plain(judge)) if kind(judge) == Some(EndpointKind::Encoder) => field(
            place.to_owned(),
            format!("{judge} is an encoder, but the evaluators ask for verdicts in words; name a chat model"),
        ),
        (Question::Similarity { .. } | Question::Judgement { .. }, _) => Ok(()),
    }
}

/// A question that the evaluators ask about one of the first of `items`.
fn first_question(
    suite: &dyn Suite,
    setting: &Setting,
    items: &[ItemIndex],
    model: &ModelRef,
    evaluators: &[Evaluator],
) -> Option<Question> {
    let ask = |item: ItemIndex, persona| {
        let transcript = play(suite, setting, item, persona, model, |_, _, _| {});
        match suite.score_session(item, setting, evaluators, &transcript, &NoVerdicts) {
            Scoring::Needs(questions) => questions.into_iter().next(),
            Scoring::Scored(_) | Scoring::Unfit(_) | Scoring::Failed(_) => None,
        }
    };
    items.iter().take(ITEMS_TRIED).find_map(|item| PERSONAS.into_iter().find_map(|persona| ask(*item, persona)))
}

#[cfg(test)]
mod tests;
