//! The world of one item, step by step: a call goes in, and outputs or a refusal come out
//! (docs/benchmarks/appbench.md §7, steps 1 and 3 to 5).

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use regatta_proto::Digest;
use regatta_pycompat::lower;

use super::refusal::Refusal;
use crate::data::{Api, Fixture, Inputs, Phone};
use crate::parse::paper::{collapse, normal};

/// Bytes that a call takes from a world's budget besides its own, so that empty calls are limited too.
const CALL_COST: usize = 64;

/// API, slot, and inputs in comparable form.
type FixtureKey = (Arc<str>, Arc<str>, String);

/// The phone as one item's plan finds it. Nothing in it depends on time or chance: outputs depend on the inputs and the item alone, and
/// only the ledger grows.
#[derive(Debug, Clone)]
pub struct World {
    phone: Arc<Phone>,
    /// Values that are the item's own.
    fixtures: Arc<HashMap<FixtureKey, Arc<str>>>,
    /// Calls with side effects, in the order in which they happened.
    ledger: Vec<Executed>,
    /// Bytes of inputs that may still be moved or hashed.
    budget: usize,
}

/// A call that was executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Executed {
    /// The app, as the phone spells it.
    pub app: Arc<str>,
    /// The API.
    pub api: Arc<str>,
    /// Arguments as they arrived, with white space collapsed.
    pub inputs: BTreeMap<Arc<str>, Arc<str>>,
    /// Deviations of the call from its API's description.
    pub warnings: Vec<Warning>,
    /// True if the call has a side effect.
    pub is_transactional: bool,
    /// `k=v|k=v`, values in the form in which they are compared.
    comparable: Arc<str>,
}

/// A deviation of a call from the description. Gold plans deviate too, so the call is executed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Warning {
    /// The description does not have this argument.
    UnknownArgument(Arc<str>),
    /// The description requires this argument.
    MissingArgument(Arc<str>),
}

impl Warning {
    /// As in the golden files.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::UnknownArgument(_) => "unknown_argument",
            Self::MissingArgument(_) => "missing_argument",
        }
    }

    /// The argument.
    #[must_use]
    pub const fn argument(&self) -> &Arc<str> {
        match self {
            Self::UnknownArgument(argument) | Self::MissingArgument(argument) => argument,
        }
    }
}

impl World {
    /// The world of an item with these fixtures. `budget` is in bytes of inputs that are moved or hashed, over all calls.
    pub(crate) fn new(phone: &Arc<Phone>, fixtures: &[Fixture], budget: usize) -> Self {
        let of_item = fixtures.iter().map(|fixture| {
            let inputs = fixture.inputs.iter().map(|(key, value)| (&**key, &**value));
            let sorted: BTreeMap<&str, &str> = inputs.collect();
            let key = (Arc::clone(&fixture.api), Arc::clone(&fixture.slot), comparable(sorted));
            (key, Arc::clone(&fixture.value))
        });
        Self { phone: Arc::clone(phone), fixtures: Arc::new(of_item.collect()), ledger: Vec::new(), budget }
    }

    /// Executes a call. Names of apps count in any case.
    ///
    /// # Errors
    /// Says why it is not executed; nothing has changed then but the budget.
    pub fn call(&mut self, app: &str, api: &str, inputs: BTreeMap<Arc<str>, Arc<str>>) -> Result<Executed, Refusal> {
        let bytes: usize = inputs.iter().map(|(key, value)| key.len() + value.len()).sum();
        self.spend(CALL_COST + app.len() + api.len() + bytes)?;
        let phone = Arc::clone(&self.phone);
        let owner = phone.app_by_lower_name(&lower(app)).ok_or(Refusal::UnknownApp)?;
        let described =
            owner.api(api).ok_or_else(|| if phone.has_api(api) { Refusal::Permission } else { Refusal::UnknownApi })?;
        let inputs: BTreeMap<Arc<str>, Arc<str>> = inputs
            .into_iter()
            .map(|(key, value)| {
                let collapsed = collapse(&value);
                (key, if *collapsed == *value { value } else { collapsed.into() })
            })
            .collect();
        let executed = Executed {
            app: Arc::clone(&owner.name),
            api: Arc::clone(&described.name),
            warnings: warnings(described, &inputs),
            is_transactional: described.is_transactional,
            comparable: comparable(inputs.iter().map(|(key, value)| (&**key, &**value))).into(),
            inputs,
        };
        if executed.is_transactional {
            self.ledger.push(executed.clone());
        }
        Ok(executed)
    }

    /// Value that a call returns in `slot`: the input of that name if it was given, else the item's fixture, else a text made from the
    /// call.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn output(&mut self, call: &Executed, slot: &str) -> Result<Arc<str>, Refusal> {
        if let Some(given) = call.inputs.get(slot).filter(|given| !given.is_empty()) {
            return Ok(Arc::clone(given));
        }
        self.spend(CALL_COST + call.comparable.len() + slot.len())?;
        let key = (Arc::clone(&call.api), Arc::from(slot), call.comparable.to_string());
        if let Some(value) = self.fixtures.get(&key) {
            return Ok(Arc::clone(value));
        }
        let digest = Digest::of(format!("{}|{slot}|{}", call.api, call.comparable).as_bytes());
        let first: String = digest.bytes().iter().take(4).map(|byte| format!("{byte:02x}")).collect();
        Ok(format!("{slot}:{first}").into())
    }

    /// All values that a call returns by its description, in described order.
    ///
    /// # Errors
    /// When the budget is used up.
    pub fn outputs(&mut self, call: &Executed) -> Result<Inputs, Refusal> {
        let phone = Arc::clone(&self.phone);
        let described = phone.app(&call.app).and_then(|app| app.api(&call.api));
        let slots = described.into_iter().flat_map(Api::returned_names);
        slots.map(|slot| Ok((Arc::clone(slot), self.output(call, slot)?))).collect()
    }

    /// The calls with side effects so far.
    #[must_use]
    pub fn ledger(&self) -> &[Executed] {
        &self.ledger
    }

    /// The phone.
    #[must_use]
    pub fn phone(&self) -> &Phone {
        &self.phone
    }

    fn spend(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.budget = self.budget.checked_sub(bytes).ok_or(Refusal::Exhausted)?;
        Ok(())
    }
}

impl Executed {
    /// Key for comparing two calls: app, API, inputs in comparable form.
    pub(crate) fn identity(&self) -> (&str, &str, &str) {
        (&self.app, &self.api, &self.comparable)
    }
}

/// `k=v|k=v` of inputs that come in the order of their keys.
pub(super) fn comparable<'a>(inputs: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    let mut text = String::new();
    for (at, (key, value)) in inputs.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "|" });
        text.push_str(key);
        text.push('=');
        text.push_str(&normal(value));
    }
    text
}

fn warnings(api: &Api, inputs: &BTreeMap<Arc<str>, Arc<str>>) -> Vec<Warning> {
    let unknown = inputs.keys().filter(|key| api.arguments().all(|slot| slot.name != **key));
    let missing = api.required.iter().filter(|slot| !inputs.contains_key(&slot.name));
    unknown
        .map(|key| Warning::UnknownArgument(Arc::clone(key)))
        .chain(missing.map(|slot| Warning::MissingArgument(Arc::clone(&slot.name))))
        .collect()
}
