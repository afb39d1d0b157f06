//! Facts derived of an item from its gold plan and the descriptions: flags and fixtures (docs/benchmarks/appbench.md §2.4, §7).

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::entry::{Entry, Fixture, Flag};
use super::phone::Phone;
use crate::parse::paper::{Argument, Call, call};

/// Adds the flags that can be computed, and the fixtures, to an item.
pub(super) fn derive(entry: &mut Entry, phone: &Phone) {
    let plan: Vec<Option<Call>> =
        entry.gold.api_results.iter().map(|text| call(text, |name| phone.has_api(name))).collect();
    let mut flags = flags_of_calls(entry, phone, &plan);
    let (fixtures, of_dependencies) = follow_dependencies(entry, &plan);
    flags.extend(of_dependencies);
    let mut names = HashSet::new();
    if plan.iter().flatten().any(|call| !names.insert(&call.name)) {
        flags.insert(Flag::RepeatedApi);
    }
    if entry.gold.used_app.len() != entry.gold.api_results.len() {
        flags.insert(Flag::LengthMismatch);
    }
    entry.flags.extend(flags);
    entry.fixtures = fixtures;
}

/// Flags of each call by itself, from its description and its true form.
fn flags_of_calls(entry: &Entry, phone: &Phone, plan: &[Option<Call>]) -> BTreeSet<Flag> {
    let mut flags = BTreeSet::new();
    for (at, call) in plan.iter().enumerate() {
        let Some(call) = call else { continue };
        let app = entry.gold.used_app.get(at).and_then(|app| phone.app(app));
        if let Some(api) = app.and_then(|app| app.api(&call.name)) {
            if call.arguments.keys().any(|key| api.arguments().all(|slot| *slot.name != **key)) {
                flags.insert(Flag::ArgumentNotInDescription);
            }
            if api.required.iter().any(|slot| !call.arguments.contains_key(&*slot.name)) {
                flags.insert(Flag::RequiredArgumentAbsent);
            }
            if !api.returned_names().map(|name| &**name).eq(call.returned.iter().map(String::as_str)) {
                flags.insert(Flag::ReturnsDifferFromDescription);
            }
        }
        let listed = entry.gold.result_arguments.get(at);
        if listed.is_some_and(|names| !names.iter().map(|name| &**name).eq(call.returned.iter().map(String::as_str))) {
            flags.insert(Flag::ResultArgumentsMismatch);
        }
        let Some(truth) = entry.gold.used_api.get(at) else { continue };
        if *truth.api != *call.name {
            flags.insert(Flag::UsedApiNameMismatch);
        }
        let differs = |(key, value): (&String, &Argument)| match value {
            Argument::Literal(text) => truth.input(key).is_none_or(|value| **value != **text),
            Argument::Name(_) => false,
        };
        if call.arguments.iter().any(differs) {
            flags.insert(Flag::LiteralDiffersFromUsedApi);
        }
    }
    flags
}

/// Follows every dependency to the call that returns its value: a call that was given the value merely echoes it, any other one has to
/// produce it.
fn follow_dependencies(entry: &Entry, plan: &[Option<Call>]) -> (Vec<Fixture>, BTreeSet<Flag>) {
    let (mut fixtures, mut flags): (Vec<Fixture>, _) = (Vec::new(), BTreeSet::new());
    for (at, (call, written)) in plan.iter().zip(&entry.gold.api_results).enumerate() {
        let Some(call) = call else { continue };
        for (key, value) in &call.arguments {
            // The one dependency that is no name is a number without quotes; no call returns it.
            let name = match value {
                Argument::Name(name) => name,
                Argument::Literal(text) if !written.contains(&format!("#{key}='")) => text,
                Argument::Literal(_) => continue,
            };
            let returns = |call: &Option<Call>| call.as_ref().is_some_and(|call| call.returned.contains(name));
            let Some(producer) = plan.iter().take(at).rposition(returns) else {
                flags.insert(Flag::UnresolvedVariable);
                continue;
            };
            let truth = entry.gold.used_api.get(at).and_then(|truth| truth.input(key));
            let given = entry.gold.used_api.get(producer);
            match given.and_then(|given| given.input(key)) {
                Some(echo) if Some(echo) == truth => {}
                Some(_) => {
                    flags.insert(Flag::DependencyConflict);
                }
                None => {
                    let (Some(given), Some(value), Some(Some(api))) = (given, truth, plan.get(producer)) else {
                        continue;
                    };
                    if fixtures.iter().any(|known| known.call == producer && *known.slot == **key) {
                        continue;
                    }
                    fixtures.push(Fixture {
                        call: producer,
                        api: api.name.as_str().into(),
                        inputs: given.inputs.clone(),
                        slot: key.as_str().into(),
                        value: Arc::clone(value),
                    });
                }
            }
        }
    }
    (fixtures, flags)
}
