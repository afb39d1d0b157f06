//! Gold slots, as spoken and as they go into requests.

use jiff::civil::Date;

use super::Slot;
use crate::{official, structured};

/// The slots of a row as they stand in the data.
pub(super) fn spoken(slots: &str) -> Vec<Slot> {
    structured::gold_slots(slots)
}

/// The slots of a row as the official evaluator resolves them on the day `today`.
pub(super) fn on_day(slots: &str, today: Date) -> Vec<Slot> {
    structured::gold_slots(&official::resolve(None, slots, today))
}

/// Slots in the form that the data has them in.
pub(super) fn as_in_data(slots: &[Slot]) -> String {
    let slots: Vec<String> = slots.iter().map(|(name, value)| format!("'{name}:{value}'")).collect();
    format!("[{}]", slots.join(", "))
}
