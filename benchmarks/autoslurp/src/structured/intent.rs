//! Answer of the intent agent, and its score (docs/benchmarks/autoslurp.md §7.5).

use std::sync::LazyLock;

use regatta_pycompat as python;
use regex::Regex;

use super::slots::{Slot, between, text};
use super::tokens::tokens;

/// Names that are no slots.
const NO_SLOTS: [&str; 4] = ["iid", "domain", "slots", "intent"];

static INTENT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r#"intent['"]?\s*:([^,\n]*)"#).ok());
static SLOT: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r#"[,\n][\s{'"]*([A-Za-z]+(?:_[A-Za-z]+)*[0-9]?)['"]?\s*:"#).ok());

/// Intent and slots that the intent agent said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    pub(super) intent: Option<String>,
    pub(super) slots: Vec<Slot>,
}

/// Reads a JSON object with `intent` and `slots`, wherever it stands in the text; else what follows `intent:`.
pub(super) fn read(output: &str) -> Said {
    let said = object(output).unwrap_or_else(|| plain(output));
    let is_slot = |(name, _): &Slot| !NO_SLOTS.contains(&name.as_str());
    Said { intent: said.intent, slots: said.slots.into_iter().filter(is_slot).collect() }
}

fn object(output: &str) -> Option<Said> {
    let object = python::parse(output.get(output.find('{')?..=output.rfind('}')?)?)?.into_object()?;
    let intent = object.get("intent")?.as_str()?.trim().to_owned();
    let members = match object.get("slots") {
        Some(slots) => slots.as_object()?,
        // Without `slots`, they stand beside the intent.
        None => &object,
    };
    Some(Said {
        intent: Some(intent),
        slots: members.iter().map(|(name, value)| (name.to_owned(), text(value))).collect(),
    })
}

fn plain(output: &str) -> Said {
    let trimmed = |c: char| c.is_whitespace() || matches!(c, ',' | '\'' | '"' | '[' | ']' | '{' | '}');
    let Some(found) = INTENT.as_ref().and_then(|intent| intent.captures(output)) else { return Said::default() };
    let intent = found.get(1).map(|intent| intent.as_str().trim_matches(trimmed)).filter(|intent| !intent.is_empty());
    let rest = found.get(0).and_then(|whole| output.get(whole.end()..)).unwrap_or_default();
    Said { intent: intent.map(str::to_owned), slots: between(rest, SLOT.as_ref(), trimmed) }
}

/// Agreement of the intent agent with the gold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Agreement {
    /// Intent, names and values (Table 6).
    pub(super) strict: bool,
    /// Intent and values, whatever the slots are called (Table 7).
    pub(super) values: bool,
}

impl Agreement {
    /// Agreement of `said` with the gold; none without an intent. Slots may come in any order.
    pub(super) fn of(intent: &str, gold: &[Slot], said: Option<&Said>) -> Self {
        let Some(said) = said.filter(|said| said.intent.as_deref() == Some(intent)) else { return Self::default() };
        let (gold, said) = (named(gold), named(&said.slots));
        Self { strict: gold == said, values: values(gold) == values(said) }
    }
}

fn named(slots: &[Slot]) -> Vec<(&str, String)> {
    let mut named: Vec<_> = slots.iter().map(|(name, value)| (name.as_str(), tokens(value).join(" "))).collect();
    named.sort_unstable();
    named
}

fn values(named: Vec<(&str, String)>) -> Vec<String> {
    let mut values: Vec<_> = named.into_iter().map(|(_, value)| value).collect();
    values.sort_unstable();
    values
}
