//! Call or reject: what the gold says and what was answered (docs/benchmarks/orchestrationbench.md §2.5, §4.2, §6).

use super::answer::{Answer, Name};
use super::arguments::Aggregated;
use super::crash::Crash;
use crate::data::Entry;

const AWAITING: &str = "AWAITING_USER_INPUT";
const VIOLATION: &str = "TOOL_CONSTRAINT_VIOLATION";

/// What a decision is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Tools are called.
    Call,
    /// The user is asked for what is missing.
    AwaitingUserInput,
    /// A rule of the tool forbids it.
    ToolConstraintViolation,
    /// A rejection of no known kind; of the gold alone.
    GeneralRejection,
    /// Neither calls nor a rejection; by the paper alone.
    Failed,
}

impl Class {
    /// As in results.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Call => "FC",
            Self::AwaitingUserInput => AWAITING,
            Self::ToolConstraintViolation => VIOLATION,
            Self::GeneralRejection => "GENERAL_REJECTION",
            Self::Failed => "FAILED",
        }
    }

    /// The rejection that a text says it is.
    fn in_text(text: &str) -> Option<Self> {
        if text.contains(AWAITING) {
            Some(Self::AwaitingUserInput)
        } else {
            text.contains(VIOLATION).then_some(Self::ToolConstraintViolation)
        }
    }
}

/// Calls, put together.
#[derive(Debug, Clone, Default)]
pub(crate) struct Called {
    /// Tools, in order.
    pub(crate) names: Vec<Name>,
    /// Arguments over all calls.
    pub(crate) arguments: Aggregated,
}

impl Called {
    /// Names that are texts, in order.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(Name::text)
    }
}

/// What the gold of a step is.
#[derive(Debug, Clone)]
pub(crate) enum Gold {
    /// Calls.
    Call(Called),
    /// A rejection.
    Rejection(Class),
}

impl Gold {
    /// What it is.
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Call(_) => Class::Call,
            Self::Rejection(class) => *class,
        }
    }
}

/// The gold of a decision step, from its label.
///
/// # Errors
/// When the gold's arguments are no object: the official code crashes on them whatever was answered.
pub(crate) fn gold(entry: Option<&Entry>) -> Result<Gold, Crash> {
    let Some(entry) = entry else { return Ok(Gold::Rejection(Class::GeneralRejection)) };
    if entry.calls.is_empty() {
        let text = entry.content.text().map_or("", |text| text);
        return Ok(Gold::Rejection(Class::in_text(text).unwrap_or(Class::GeneralRejection)));
    }
    let mut called = Called::default();
    for call in &entry.calls {
        called.arguments.add_text(&call.arguments)?;
        called.names.push(Name::Text(call.name.to_string()));
    }
    Ok(Gold::Call(called))
}

/// What was decided.
#[derive(Debug, Clone)]
pub(crate) enum Decided {
    /// Calls; officially a blank answer is one, of the tool without a name.
    Call(Called),
    /// A rejection.
    Rejection(Class),
    /// Neither.
    Failed,
}

impl Decided {
    /// What it is.
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Call(_) => Class::Call,
            Self::Rejection(class) => *class,
            Self::Failed => Class::Failed,
        }
    }
}

/// What the official code takes an answer for.
///
/// # Errors
/// On calls that it crashes on.
pub(crate) fn decided(answer: &Answer) -> Result<Decided, Crash> {
    if answer.calls.is_empty() {
        let rejection = Class::in_text(answer.text.as_deref().unwrap_or_default());
        let nothing = Called { names: vec![Name::Text(String::new())], arguments: Aggregated::default() };
        return Ok(rejection.map_or(Decided::Call(nothing), Decided::Rejection));
    }
    let (names, arguments) = Aggregated::of_calls(&answer.calls)?;
    Ok(if arguments.has(AWAITING) {
        Decided::Rejection(Class::AwaitingUserInput)
    } else if arguments.has(VIOLATION) {
        Decided::Rejection(Class::ToolConstraintViolation)
    } else {
        Decided::Call(Called { names, arguments })
    })
}

/// What the paper's definition takes an answer for: any call is one, and plain text is a failure.
///
/// # Errors
/// When calls cannot be put together. They are calls all the same.
pub(crate) fn decided_by_paper(answer: Option<&Answer>) -> Result<Decided, Crash> {
    let Some(answer) = answer else { return Ok(Decided::Failed) };
    if answer.calls.is_empty() {
        let rejection = Class::in_text(answer.text.as_deref().unwrap_or_default());
        return Ok(rejection.map_or(Decided::Failed, Decided::Rejection));
    }
    let (names, arguments) = Aggregated::of_calls(&answer.calls)?;
    Ok(Decided::Call(Called { names, arguments }))
}
