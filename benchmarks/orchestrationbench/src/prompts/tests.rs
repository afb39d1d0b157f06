//! Snapshots of the prompts.

use super::*;

#[test]
fn the_prompts_of_both_languages() {
    insta::assert_snapshot!("planning_en", planning(Language::En));
    insta::assert_snapshot!("decision_ko", decision(Language::Ko));
    insta::assert_snapshot!("judge", judge());
}

#[test]
fn every_mark_is_there_once() {
    let planning = planning(Language::Ko);
    for mark in [marks::AGENT_CARDS, marks::SYSTEM_INFO, marks::WORKFLOWS] {
        assert_eq!(planning.matches(mark).count(), 1, "{mark}");
    }
    for mark in [marks::SYSTEM_INFO, marks::TOOL_DESCRIPTION] {
        assert_eq!(judge().matches(mark).count(), 1, "{mark}");
    }
    assert!(!decision(Language::En).contains("%%"));
}

#[test]
fn what_the_evaluators_look_for_is_asked_for_by_its_name() {
    let planning = planning(Language::En);
    for word in
        ["pending", "running", "waiting_for_input", "completed", "paused", "independent", "dependent", "interrupt"]
    {
        assert!(planning.contains(&format!("\"{word}\"")), "{word}");
    }
    for field in ["agent_id", "refined_query", "depends_on", "steps", "status", "type", "SUCCESS"] {
        assert!(planning.contains(&format!("\"{field}\"")), "{field}");
    }
    let decision = decision(Language::Ko);
    assert!(decision.contains("AWAITING_USER_INPUT") && decision.contains("TOOL_CONSTRAINT_VIOLATION"));
    assert!(["tp_count", "fp_count", "fn_count"].into_iter().all(|field| judge().contains(field)));
}
