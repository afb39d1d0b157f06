//! The form of filters.

use maud::{Markup, html};
use regatta_backends::{ScoreValue, Standing};
use regatta_catalog::Sweep;
use regatta_proto::{Cause, Flag};

use super::super::annotations;
use super::super::group::{self, Group, select};
use super::wanted::{ORDERS, Wanted};

/// The form; `value` is the value that is shown, of `values`.
pub(super) fn form(
    sweep: &Sweep,
    group: &Group<'_>,
    wanted: &Wanted,
    value: &str,
    values: &[ScoreValue],
    is_annotated: bool,
) -> Markup {
    let same = |text: String| (text.clone(), text);
    let values: Vec<_> = values.iter().map(|value| same(group::name_of(value))).collect();
    let word = |word: &str| (word.to_owned(), word.replace('_', " "));
    let any = |what: &str| (String::new(), what.to_owned());
    let outcomes: Vec<_> =
        std::iter::once(any("any outcome")).chain(Standing::ALL.map(|standing| word(standing.as_str()))).collect();
    let flags: Vec<_> = std::iter::once(any("any flags")).chain(Flag::ALL.map(|flag| word(flag.as_str()))).collect();
    let models: Vec<_> =
        std::iter::once(any("any model")).chain(group.models().iter().map(|model| same(model.to_string()))).collect();
    let causes: Vec<_> = std::iter::once(any("any cause")).chain(CAUSES.map(|cause| word(cause.as_str()))).collect();
    let orders: Vec<_> = ORDERS.map(|(name, text, _)| (name.to_owned(), text.to_owned())).to_vec();
    html! {
        form.filters method="get" {
            (group::selects(sweep, group))
            (select("value", "Value", value, &values))
            (select("model", "Model", &wanted.model, &models))
            (select("outcome", "Outcome", &wanted.outcome, &outcomes))
            (select("cause", "Cause", &wanted.cause, &causes))
            (select("flag", "Flag", &wanted.flag, &flags))
            label { span { "Value from" } input type="text" inputmode="decimal" size="5" name="low" value=(wanted.low); }
            label { span { "to" } input type="text" inputmode="decimal" size="5" name="high" value=(wanted.high); }
            label { span { "Id or task has" } input type="search" name="text" value=(wanted.text); }
            label { span { "Said has" } input type="search" name="said" value=(wanted.said); }
            @if is_annotated { (select("annotated", "Annotated", &wanted.annotated, &annotations::options())) }
            label { span { "Sample of" } input type="text" inputmode="numeric" size="5" name="sample" value=(wanted.sample); }
            label { span { "Seed" } input type="text" inputmode="numeric" size="5" name="seed" value=(wanted.seed); }
            (select("sort", "Order", &wanted.sort, &orders))
            button type="submit" { "Show" }
        }
    }
}

/// Causes that the filter offers.
const CAUSES: [Cause; 19] = [
    Cause::ContextLength,
    Cause::ContentFilter,
    Cause::EndpointUnavailable,
    Cause::RateLimited,
    Cause::Timeout,
    Cause::BadResponse,
    Cause::Auth,
    Cause::Quota,
    Cause::ModelNotFound,
    Cause::RequestRefused,
    Cause::Poison,
    Cause::Budget,
    Cause::CacheMiss,
    Cause::JudgeUnavailable,
    Cause::Cancelled,
    Cause::Undeliverable,
    Cause::TranscriptUnfit,
    Cause::AgentLost,
    Cause::Internal,
];
