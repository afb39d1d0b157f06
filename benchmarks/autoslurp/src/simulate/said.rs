//! Predictions of an intent agent, written and read.

use serde_json::Value;

use super::Slot;

/// Domain, intent and slots with values as spoken.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Said {
    /// The domain.
    pub(crate) domain: String,
    /// The intent; several are joined by `,` or `;`, as the gold has them.
    pub(crate) intent: String,
    /// Slots in the order of the gold; names may repeat.
    pub(crate) slots: Vec<Slot>,
}

impl Said {
    /// `domain:X,intent:Y,slot:value,…`, and a comma after the intent also where no slot follows: what reads logs looks for one.
    pub(crate) fn text(&self) -> String {
        format!("domain:{},intent:{},{}", self.domain, self.intent, listed(&self.slots))
    }

    /// Prediction in an intent agent's `output`, in this form, as JSON, or in one like it; `None` when it names no intent.
    pub(super) fn read(output: &str) -> Option<Self> {
        read_json(output).or_else(|| read_text(output))
    }
}

/// `name:value,name:value`.
pub(super) fn listed(slots: &[Slot]) -> String {
    let slots: Vec<String> = slots.iter().map(|(name, value)| format!("{name}:{value}")).collect();
    slots.join(",")
}

/// The pairs of such a list, or of lines. What has no name belongs to the value before it.
pub(super) fn pairs(text: &str) -> Vec<Slot> {
    let mut pairs: Vec<Slot> = Vec::new();
    for part in text.split([',', '\n']) {
        match part.split_once(':').map(|(name, value)| (name.trim(), value.trim())) {
            Some((name, value)) if is_name(name) => pairs.push((name.to_owned(), value.to_owned())),
            _ => match pairs.last_mut() {
                Some((_, value)) if !part.trim().is_empty() => *value = format!("{value},{part}"),
                _ => {}
            },
        }
    }
    pairs
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'_')
}

fn read_json(output: &str) -> Option<Said> {
    let Value::Object(object) = first_object(output)? else { return None };
    let text = |key: &str| object.get(key).and_then(Value::as_str);
    let slots = object.get("slots").and_then(Value::as_object).into_iter().flatten();
    let slots =
        slots.map(|(name, value)| (name.clone(), value.as_str().map_or_else(|| value.to_string(), str::to_owned)));
    Some(Said {
        domain: text("domain").unwrap_or_default().to_owned(),
        intent: text("intent")?.to_owned(),
        slots: slots.collect(),
    })
}

fn read_text(output: &str) -> Option<Said> {
    let (before, after) = output.split_once("intent:")?;
    let end = after.find([',', '\n']).unwrap_or(after.len());
    let (intent, rest) = after.split_at(end);
    let mut slots = pairs(&rest.replace("slots:", ""));
    slots.retain(|(name, _)| !matches!(name.as_str(), "iid" | "domain" | "slots"));
    let domain = pairs(before).into_iter().rfind(|(name, _)| name == "domain");
    Some(Said { domain: domain.map(|(_, value)| value).unwrap_or_default(), intent: intent.trim().to_owned(), slots })
}

/// The first JSON object in `text`, whatever stands around it. Nesting is bounded by the parser.
pub(super) fn first_object(text: &str) -> Option<Value> {
    let start = text.find('{')?;
    serde_json::Deserializer::from_str(&text[start..]).into_iter().next()?.ok()
}
