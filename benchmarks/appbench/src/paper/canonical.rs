//! Canonical forms of calls (docs/benchmarks/appbench.md §6): two calls are the same when their forms are, whatever variables are called.
//!
//! A form holds the forms of the calls that it depends on, so written out it can be exponentially long in the plan. Forms are numbered
//! instead, equal ones alike; then each takes the space of its call.

use std::collections::HashMap;

use crate::data::{Api, Phone};
use crate::parse::paper::{Argument, Call, normal};

/// A form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    /// A call that cannot be read, as written.
    Unparseable(String),
    /// App in lower case, API, arguments by key.
    Call(String, String, Vec<(String, Value)>),
}

/// An argument of a form.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Value {
    Literal(String),
    /// Value that the call of this form (by its number) returns in this slot.
    Returned(String, usize),
}

/// All forms so far, by number.
#[derive(Debug, Default)]
pub(super) struct Forms(HashMap<Form, usize>);

impl Forms {
    /// Numbers of the forms of a plan's calls. Numbers from one [`Forms`] are equal where the forms are.
    pub(super) fn of_plan<'c>(
        &mut self,
        phone: &Phone,
        calls: impl Iterator<Item = (&'c str, (&'c str, Option<&'c Call>))>,
    ) -> Vec<usize> {
        // By returned name, the slot and form of the latest call that returns it.
        let mut bound: HashMap<&str, (String, usize)> = HashMap::new();
        let mut numbers = Vec::new();
        for (app, (text, call)) in calls {
            let Some(call) = call else {
                numbers.push(self.number(Form::Unparseable(text.to_owned())));
                continue;
            };
            let value = |argument: &Argument| match argument {
                Argument::Name(name) => bound
                    .get(name.as_str())
                    .map_or_else(|| Value::Literal(normal(name)), |(slot, form)| Value::Returned(slot.clone(), *form)),
                Argument::Literal(text) => Value::Literal(normal(text)),
            };
            let arguments = call.arguments.iter().map(|(key, argument)| (key.clone(), value(argument))).collect();
            let number = self.number(Form::Call(app.to_owned(), call.name.clone(), arguments));
            numbers.push(number);
            let api = phone.description(app, &call.name);
            // A name that is returned twice takes its first position.
            for (position, name) in call.returned.iter().enumerate().rev() {
                bound.insert(name, (slot_of(api, call.returned.len(), position, name).to_owned(), number));
            }
        }
        numbers
    }

    fn number(&mut self, form: Form) -> usize {
        let next = self.0.len();
        *self.0.entry(form).or_insert(next)
    }
}

/// The described name of what a call returns at `position` under `name`, where it returns `count` names.
pub(crate) fn slot_of<'s>(api: Option<&'s Api>, count: usize, position: usize, name: &'s str) -> &'s str {
    let Some(api) = api else { return name };
    if api.returns.iter().any(|slot| *slot.name == *name) || api.returns.len() != count {
        return name;
    }
    api.returns.get(position).map_or(name, |slot| &slot.name)
}
