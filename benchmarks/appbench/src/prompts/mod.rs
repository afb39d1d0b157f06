//! Prompts of the model (docs/benchmarks/appbench.md §3.1, §3.2). The instructions are our own words; the official template is used where
//! the user's copy of the benchmark brings it.

/// Placeholder for the descriptions of the apps, the same as in the official template.
const APPS_FIELD: &str = "{app_api_list}";

/// Instructions for writing a plan.
const PLANNING: &str = include_str!("planning.txt");
/// Instructions for choosing apps.
const SELECTION: &str = include_str!("selection.txt");
/// Instructions for working with tools.
const STEPWISE: &str = include_str!("stepwise.txt");

/// The system message of a plan call. `blocks` describes the apps and their APIs, one block after the other, each as `App: description`
/// with a blank line behind it. `official` is the published template.
pub(crate) fn planning(official: Option<&str>, blocks: &str) -> String {
    official.unwrap_or(PLANNING.trim_end()).replace(APPS_FIELD, blocks)
}

/// The system message of an app selection. `apps` has one line an app, with its description.
pub(crate) fn selection(apps: &str) -> String {
    SELECTION.trim_end().replace(APPS_FIELD, apps)
}

/// The system message of a session with tools.
pub(crate) fn stepwise() -> &'static str {
    STEPWISE.trim_end()
}

#[cfg(test)]
mod tests {
    use super::*;

    const BLOCKS: &str =
        "Kites: {'desc': 'rent a kite', 'APIs': {}} \n\n Tides: {'desc': 'when the water comes', 'APIs': {}} \n\n ";

    #[test]
    fn a_plan_is_asked_for_with_the_rules_of_its_form() {
        insta::assert_snapshot!("planning", planning(None, BLOCKS));
    }

    #[test]
    fn apps_are_asked_for_with_their_descriptions() {
        insta::assert_snapshot!("selection", selection("Kites: rent a kite \n\n Tides: when the water comes \n\n "));
    }

    #[test]
    fn the_official_template_has_nothing_but_its_field_replaced() {
        assert_eq!(planning(Some("All: {app_api_list} {x}"), "A"), "All: A {x}");
    }
}
