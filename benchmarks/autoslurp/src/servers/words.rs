//! Words that the table of servers is written in.

use super::server::{Format, Intent, Rule, Slot};

pub(super) const fn slot(name: &'static str, format: Option<Format>) -> Slot {
    Slot { name, format, in_prompts: true, value_of: name }
}

pub(super) const fn free(name: &'static str) -> Slot {
    slot(name, None)
}

pub(super) const fn time(name: &'static str) -> Slot {
    slot(name, Some(Format::Time))
}

pub(super) const fn date_time(name: &'static str) -> Slot {
    slot(name, Some(Format::DateTime))
}

pub(super) const fn date(name: &'static str) -> Slot {
    slot(name, Some(Format::Date))
}

pub(super) const fn intent(name: &'static str, rule: Rule) -> Intent {
    Intent { name, in_prompts: true, rule }
}

pub(super) const fn always(name: &'static str, answer: &'static str) -> Intent {
    intent(name, Rule::Always(answer))
}

pub(super) const fn as_checked(name: &'static str) -> Intent {
    intent(name, Rule::AsChecked)
}

pub(super) const fn unless_any(name: &'static str, question: &'static str, answer: Option<&'static str>) -> Intent {
    intent(name, Rule::UnlessAny(question, answer))
}

pub(super) const fn unless_one_of(
    name: &'static str,
    slots: &'static [&'static str],
    question: &'static str,
    answer: &'static str,
) -> Intent {
    intent(name, Rule::UnlessOneOf(slots, question, answer))
}

pub(super) const fn unless_all_of(
    name: &'static str,
    slots: &'static [&'static str],
    question: &'static str,
    answer: &'static str,
) -> Intent {
    intent(name, Rule::UnlessAllOf(slots, question, answer))
}

impl Slot {
    pub(super) const fn left_out_of_prompts(self) -> Self {
        Self { in_prompts: false, ..self }
    }

    pub(super) const fn taken_from(self, other: &'static str) -> Self {
        Self { value_of: other, ..self }
    }
}

impl Intent {
    pub(super) const fn left_out_of_prompts(self) -> Self {
        Self { in_prompts: false, ..self }
    }
}
