//! Fields of a JSON object against those of the gold.

use serde_json::{Map, Value};

/// Fields counted, those of objects in objects by themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counts {
    /// There with the gold's value.
    pub(super) right: usize,
    /// In the answer.
    pub(super) predicted: usize,
    /// In the gold.
    pub(super) gold: usize,
}

impl Counts {
    /// `true` if all is right, and nothing else is there.
    pub(super) fn is_all(self) -> bool {
        self.right == self.gold && self.predicted == self.gold
    }
}

/// Fields of `answer` that are as in `gold`; none where the answer is no object.
pub(super) fn count(answer: Option<&Map<String, Value>>, gold: &Map<String, Value>) -> Counts {
    let counts = Counts { gold: leaves(gold), ..Counts::default() };
    match answer {
        Some(answer) => Counts { right: right(answer, gold), predicted: leaves(answer), ..counts },
        None => counts,
    }
}

/// Fields that are no objects with fields.
pub(super) fn leaves(object: &Map<String, Value>) -> usize {
    let of = |value: &Value| value.as_object().filter(|inner| !inner.is_empty()).map_or(1, leaves);
    object.values().map(of).sum()
}

fn right(answer: &Map<String, Value>, gold: &Map<String, Value>) -> usize {
    let of = |(name, gold): (&String, &Value)| match (answer.get(name), gold) {
        (Some(Value::Object(answer)), Value::Object(gold)) if !gold.is_empty() => right(answer, gold),
        (Some(answer), gold) => usize::from(is_same(answer, gold)),
        (None, _) => 0,
    };
    gold.iter().map(of).sum()
}

/// Equal values: texts without the spaces around, numbers by what they are worth.
pub(super) fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::String(one), Value::String(other)) => one.trim() == other.trim(),
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| is_same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let same = |(name, value): (&String, &Value)| other.get(name).is_some_and(|other| is_same(value, other));
            one.len() == other.len() && one.iter().all(same)
        }
        (one, other) => one == other,
    }
}
