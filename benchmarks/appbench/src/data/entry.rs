//! An item: an instruction and its gold plan (docs/benchmarks/appbench.md §2.2), with what is known about it (§2.4, §7).

use std::collections::BTreeSet;
use std::sync::Arc;

use regatta_proto::ItemId;

use super::split::Split;

/// Arguments by name, in the order of the file.
pub(crate) type Inputs = Vec<(Arc<str>, Arc<str>)>;

/// One item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// `SPLIT-INDEX`, three digits, counted from 0 in the order of the file.
    pub(crate) id: ItemId,
    /// Category of the instruction.
    pub(crate) split: Split,
    /// The user's instruction, as written.
    pub(crate) input: Arc<str>,
    /// The gold plan.
    pub(crate) gold: Gold,
    /// Oddities of the item.
    pub(crate) flags: BTreeSet<Flag>,
    /// The first item of the split with the same instruction.
    pub(crate) duplicate_of: Option<ItemId>,
    /// Values that earlier calls must return so that later ones can be made.
    pub(crate) fixtures: Vec<Fixture>,
}

/// A gold plan, as in the test files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gold {
    /// The app of each call.
    pub(crate) used_app: Vec<Arc<str>>,
    /// Each call with the true values of its arguments.
    pub(crate) used_api: Vec<TrueCall>,
    /// The names that each call returns.
    pub(crate) result_arguments: Vec<Vec<Arc<str>>>,
    /// The calls as text. One item has more of them than apps.
    pub(crate) api_results: Vec<Arc<str>>,
    /// All returned names in any order; nothing uses them.
    pub(crate) middle_arguments: Vec<Arc<str>>,
    /// Values that the user gave, by argument name without `#`.
    pub(crate) user_aware_arguments: Inputs,
}

/// A call with the true values of its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TrueCall {
    /// The API.
    pub(crate) api: Arc<str>,
    /// Arguments of the call with their true values.
    pub(crate) inputs: Inputs,
}

impl TrueCall {
    /// The value of an argument.
    pub(crate) fn input(&self, name: &str) -> Option<&Arc<str>> {
        self.inputs.iter().find(|(key, _)| **key == *name).map(|(_, value)| value)
    }
}

/// A value that an API returns to certain inputs in one item (docs/benchmarks/appbench.md §7).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fixture {
    /// The position of the gold call that returns it.
    pub(crate) call: usize,
    /// The API.
    pub(crate) api: Arc<str>,
    /// The inputs it was called with.
    pub(crate) inputs: Inputs,
    /// Name of the returned argument.
    pub(crate) slot: Arc<str>,
    /// Value that is returned.
    pub(crate) value: Arc<str>,
}

/// An oddity of an item (docs/benchmarks/appbench.md §2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Flag {
    /// A gold argument is not in the description of its API.
    ArgumentNotInDescription,
    /// A gold dependency points to a value that differs from the true one.
    DependencyConflict,
    /// An earlier item of the split has the same instruction.
    DuplicateInput,
    /// The instruction is a leaked prompt or a phrase of an assistant. A person's judgement, so it is only known from `plans.jsonl`.
    InputIsNotAnInstruction,
    /// There are more calls than apps, or the other way round.
    LengthMismatch,
    /// A literal of the plan differs from the true value.
    LiteralDiffersFromUsedApi,
    /// The plan calls an API more than once.
    RepeatedApi,
    /// A gold call lacks an argument that its description requires.
    RequiredArgumentAbsent,
    /// `result_arguments` are not the names that the call returns.
    ResultArgumentsMismatch,
    /// A call returns other names than described.
    ReturnsDifferFromDescription,
    /// No earlier call returns what an argument needs.
    UnresolvedVariable,
    /// A call has another API in `api_results` than in `used_api`.
    UsedApiNameMismatch,
}

impl Flag {
    /// All of them, in the order of their names.
    pub(crate) const ALL: [Self; 12] = [
        Self::ArgumentNotInDescription,
        Self::DependencyConflict,
        Self::DuplicateInput,
        Self::InputIsNotAnInstruction,
        Self::LengthMismatch,
        Self::LiteralDiffersFromUsedApi,
        Self::RepeatedApi,
        Self::RequiredArgumentAbsent,
        Self::ResultArgumentsMismatch,
        Self::ReturnsDifferFromDescription,
        Self::UnresolvedVariable,
        Self::UsedApiNameMismatch,
    ];

    /// As in `plans.jsonl`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::ArgumentNotInDescription => "argument_not_in_description",
            Self::DependencyConflict => "dependency_conflict",
            Self::DuplicateInput => "duplicate_input",
            Self::InputIsNotAnInstruction => "input_is_not_an_instruction",
            Self::LengthMismatch => "length_mismatch",
            Self::LiteralDiffersFromUsedApi => "literal_differs_from_used_api",
            Self::RepeatedApi => "repeated_api",
            Self::RequiredArgumentAbsent => "required_argument_absent",
            Self::ResultArgumentsMismatch => "result_arguments_mismatch",
            Self::ReturnsDifferFromDescription => "returns_differ_from_description",
            Self::UnresolvedVariable => "unresolved_variable",
            Self::UsedApiNameMismatch => "used_api_name_mismatch",
        }
    }

    /// The flag of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|flag| flag.as_str() == name)
    }
}
