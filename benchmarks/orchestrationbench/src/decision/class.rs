//! Classes of decisions: call or rejection, in the gold and in the answer (docs/benchmarks/orchestrationbench.md
//! §2.5, §4.2, §6).

use super::answer::{Answer, Name};
use super::arguments::Aggregated;
use super::crash::Crash;
use crate::data::Entry;

const AWAITING: &str = "AWAITING_USER_INPUT";
const VIOLATION: &str = "TOOL_CONSTRAINT_VIOLATION";

/// Class of a decision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Class {
    /// Tools are called.
    Call,
    /// Rejection that asks the user for missing information.
    AwaitingUserInput,
    /// Rejection because a rule of the tool forbids the call.
    ToolConstraintViolation,
    /// Rejection of no known type; occurs in the gold alone.
    GeneralRejection,
    /// Neither calls nor a rejection; used by the paper's evaluator alone.
    Failed,
}

impl Class {
    /// Name in result files.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Call => "FC",
            Self::AwaitingUserInput => AWAITING,
            Self::ToolConstraintViolation => VIOLATION,
            Self::GeneralRejection => "GENERAL_REJECTION",
            Self::Failed => "FAILED",
        }
    }

    /// Returns the rejection type that a text mentions.
    fn in_text(text: &str) -> Option<Self> {
        if text.contains(AWAITING) {
            Some(Self::AwaitingUserInput)
        } else {
            text.contains(VIOLATION).then_some(Self::ToolConstraintViolation)
        }
    }
}

/// The merged calls of an answer or of the gold.
#[derive(Debug, Clone, Default)]
pub(crate) struct Called {
    /// Tool names in order.
    pub(crate) names: Vec<Name>,
    /// Arguments over all calls.
    pub(crate) arguments: Aggregated,
}

impl Called {
    /// Returns the names that are texts, in order.
    pub(crate) fn tools(&self) -> impl Iterator<Item = &str> {
        self.names.iter().filter_map(Name::text)
    }
}

/// Gold of a step.
#[derive(Debug, Clone)]
pub(crate) enum Gold {
    /// Calls.
    Call(Called),
    /// A rejection.
    Rejection(Class),
}

impl Gold {
    /// Returns the class.
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Call(_) => Class::Call,
            Self::Rejection(class) => *class,
        }
    }
}

/// Determines the gold of a decision step from its label.
///
/// # Errors
/// If the gold's arguments are not an object: the official code crashes on them whatever the answer is.
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

/// The decision in an answer.
#[derive(Debug, Clone)]
pub(crate) enum Decided {
    /// Calls. To the official evaluator a blank answer is a call of a tool without a name.
    Call(Called),
    /// A rejection.
    Rejection(Class),
    /// Neither call nor rejection.
    Failed,
}

impl Decided {
    /// Returns the class.
    pub(crate) const fn class(&self) -> Class {
        match self {
            Self::Call(_) => Class::Call,
            Self::Rejection(class) => *class,
            Self::Failed => Class::Failed,
        }
    }
}

/// Classifies an answer as the official code does.
///
/// # Errors
/// If the official code crashes on the calls.
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

/// Classifies an answer by the paper's definition: any call counts as a call, and plain text as a failure.
///
/// # Errors
/// If the arguments of the calls cannot be merged; the class is a call all the same.
pub(crate) fn decided_by_paper(answer: Option<&Answer>) -> Result<Decided, Crash> {
    let Some(answer) = answer else { return Ok(Decided::Failed) };
    if answer.calls.is_empty() {
        let rejection = Class::in_text(answer.text.as_deref().unwrap_or_default());
        return Ok(rejection.map_or(Decided::Failed, Decided::Rejection));
    }
    let (names, arguments) = Aggregated::of_calls(&answer.calls)?;
    Ok(Decided::Call(Called { names, arguments }))
}
