//! Simulated servers as data: accepted requests and their answers.

/// Answer of a server that carried out the request.
pub(crate) const OK: &str = "operated successfully";
/// Answer of a server to a time that it cannot read.
pub(crate) const TIME_FORMAT: &str = "time format not right";
/// Answer of a server to a date that it cannot read.
pub(crate) const DATE_FORMAT: &str = "date format not right";

/// One of the simulated servers (docs/benchmarks/autoslurp.md §2.5).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Server {
    /// Name of the server, which is the domain that it serves.
    pub(crate) name: &'static str,
    /// Port that prompts give for the server.
    pub(crate) port: u16,
    /// The server's only path.
    pub(crate) path: &'static str,
    /// Slots that it copies from a request, in the order in which it looks.
    pub(crate) slots: &'static [Slot],
    /// Intents that it knows.
    pub(crate) intents: &'static [Intent],
    /// Answer to any other intent; each server has its own spelling.
    pub(crate) unknown_intent: &'static str,
    /// The constant `msg` of its answers.
    pub(super) message: &'static str,
    /// True if formats are checked before the intent, so that the answer to the intent may hide a wrong format.
    pub(super) checks_first: bool,
}

/// A slot of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Slot {
    /// Name of the slot in requests.
    pub(crate) name: &'static str,
    /// The format that its value must have.
    pub(crate) format: Option<Format>,
    /// True if the lists of servers in official prompts name the slot.
    pub(crate) in_prompts: bool,
    /// The slot whose value it gets, when that is another one.
    pub(super) value_of: &'static str,
}

/// A format that values are checked for. Only their beginning is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// `10:00`.
    Time,
    /// `10:00` after any number of dates, each with one space.
    DateTime,
    /// `2025-05-28`.
    Date,
}

/// A request that a server knows, with its answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Intent {
    /// Name of the intent in requests.
    pub(crate) name: &'static str,
    /// True if the lists of servers in official prompts name the intent.
    pub(crate) in_prompts: bool,
    /// Choice of the answer.
    pub(super) rule: Rule,
}

/// Rule by which the answer to an intent is chosen.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// Always this.
    Always(&'static str),
    /// The result of the checks of formats.
    AsChecked,
    /// The first when the request has no slot at all, else the second (or what the checks came to).
    UnlessAny(&'static str, Option<&'static str>),
    /// The first when the request has none of these, else the second.
    UnlessOneOf(&'static [&'static str], &'static str, &'static str),
    /// The first when the request lacks one of these, else the second.
    UnlessAllOf(&'static [&'static str], &'static str, &'static str),
}

impl Server {
    /// True if it takes a slot of this name.
    pub(crate) fn accepts(&self, slot: &str) -> bool {
        self.slots.iter().any(|accepted| accepted.name == slot)
    }

    /// The intent of this name, if it knows it.
    pub(crate) fn intent(&self, name: &str) -> Option<&'static Intent> {
        self.intents.iter().find(|intent| intent.name == name)
    }
}

impl Format {
    /// Answer of a server to a value without this format.
    pub(crate) const fn complaint(self) -> &'static str {
        match self {
            Self::Time | Self::DateTime => TIME_FORMAT,
            Self::Date => DATE_FORMAT,
        }
    }
}
