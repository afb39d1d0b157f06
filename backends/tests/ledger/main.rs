//! Rules that every ledger obeys, checked with SQLite and PostgreSQL.
//!
//! `REGATTA_TEST_POSTGRES_URL` names a running server; otherwise a private one is started.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test tells what went wrong by failing")]

#[cfg(not(feature = "cluster"))]
compile_error!("the conformance suites need every implementation: scripts/test -p regatta-backends");

mod attempts;
mod identity;
mod judging;
mod laws;
mod leading;
mod opening;
mod oracle;
mod own_partitions;
mod planning;
mod recording;
mod resume;
mod schedules;
mod server;
mod silence;
mod steering;
mod storage;
mod transitions;
mod views;
mod world;

use world::World;

macro_rules! conformance {
    ($($module:ident::$rule:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$module::$rule(super::World::sqlite().await).await;
            })*
        }
        mod postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $rule() {
                super::$module::$rule(super::World::postgres().await).await;
            })*
        }
    };
}

conformance![
    opening::opening_again_finds_everything_as_it_was,
    opening::a_ledger_of_the_first_version_is_brought_up_to_date,
    opening::verdicts_of_a_ledger_that_knew_judges_by_their_names_are_asked_for_again,
    opening::a_ledger_that_is_one_version_older_is_brought_up_to_date,
    opening::a_ledger_that_is_one_version_newer_is_used_where_that_only_added_something,
    opening::a_newer_ledger_that_admits_no_older_program_is_refused,
    opening::many_processes_may_open_at_once,
    opening::handles_share_one_store,
    opening::an_unknown_sweep_is_an_error_and_not_an_empty_answer,
    planning::a_sweep_is_created_once_and_left_alone_afterwards,
    planning::of_several_who_create_a_sweep_at_once_one_does,
    planning::a_shard_of_an_unknown_cell_is_refused_and_nothing_is_kept,
    planning::sweeps_are_listed_newest_first,
    planning::sweeps_come_in_pages_whatever_is_added_and_removed_meanwhile,
    planning::a_state_changes_only_from_the_states_named,
    planning::of_several_who_change_a_state_at_once_one_does,
    planning::an_end_is_kept_and_forgotten_by_a_resume,
    planning::a_budget_is_only_ever_raised,
    steering::no_shard_of_a_paused_sweep_is_claimed_until_it_goes_on,
    steering::only_a_sweep_that_runs_is_steered,
    steering::a_pause_ends_with_the_run_that_was_paused,
    steering::a_budget_is_raised_while_the_sweep_runs,
    steering::a_sweep_whose_budget_was_raised_does_not_end_by_the_one_of_before,
    steering::a_budget_that_cannot_be_raised_leaves_a_pause_as_it_is,
    steering::limits_of_endpoints_are_kept_apart_and_outlive_a_resume,
    planning::documents_that_are_written_are_those_of_a_generation,
    planning::shards_come_in_order_by_queue_until_they_are_dispatched,
    planning::shards_beyond_what_is_released_are_not_dispatched_until_it_is,
    planning::confirming_a_shard_counts_what_was_dispatched,
    planning::shards_in_doubt_are_planned_again_and_no_others,
    planning::an_ended_sweep_is_removed_with_all_that_is_its_own,
    planning::a_sweep_whose_removal_has_begun_is_not_resumed_and_its_id_is_not_used_again,
    planning::of_who_removes_a_sweep_and_who_resumes_it_at_once_one_succeeds,
    planning::metrics_of_a_cell_are_replaced_as_a_whole,
    recording::the_first_attempt_counts_and_later_ones_are_waste,
    recording::a_repeated_report_changes_nothing,
    recording::first_waste_and_repeat_are_told_apart_within_a_batch,
    recording::of_two_scorers_one_records_a_session_first,
    leading::one_coordinator_leads_at_a_time,
    leading::a_lead_that_is_not_renewed_goes_to_whoever_asks_under_a_higher_term,
    leading::who_resigns_is_followed_at_once_and_nobody_else_can_resign_for_it,
    leading::of_several_who_want_to_lead_at_once_one_does,
    leading::a_leader_whose_term_is_over_changes_nothing,
    leading::a_shard_is_claimed_and_confirmed_once,
    leading::no_shard_of_a_cancelled_sweep_is_claimed,
    leading::a_resume_voids_what_its_coordinator_was_about_to_do,
    leading::sessions_that_a_worker_tells_of_are_known_to_run_until_they_end,
    leading::nothing_counts_as_under_way_whose_workers_are_forgotten,
    leading::a_session_that_was_handed_over_may_be_under_way_until_who_has_it_can_have_told_of_it,
    leading::a_batch_that_a_worker_tells_of_tells_of_all_its_sessions,
    leading::a_sweep_that_has_ended_is_alive_while_workers_tell_of_something_of_it,
    leading::questions_that_a_worker_tells_of_are_those_of_their_sweep,
    leading::an_older_echo_changes_nothing,
    leading::an_echo_of_a_partition_that_there_cannot_be_is_refused,
    leading::an_echo_is_heard_when_all_partitions_have_answered_the_same_question,
    leading::a_sweep_is_quiet_since_it_last_moved_whoever_asks,
    recording::a_session_is_read_back_as_it_was_recorded,
    recording::an_attempt_is_read_back_as_it_was_recorded,
    recording::what_endpoints_say_is_kept_to_the_letter,
    recording::a_batch_with_an_unknown_cell_is_refused_as_a_whole,
    recording::what_is_told_of_sweeps_and_cells_that_do_not_exist_is_left_out,
    recording::a_number_no_column_can_hold_is_refused,
    recording::empty_batches_are_nothing,
    attempts::a_running_attempt_is_known_until_it_ends,
    attempts::the_attempt_that_runs_for_longest_is_found,
    attempts::an_overtaken_progress_report_is_ignored,
    attempts::what_a_line_of_a_batch_may_cost_is_told_of_by_whoever_knows_of_the_most,
    attempts::progress_never_touches_an_attempt_that_ended,
    attempts::a_hand_over_counts_once_and_is_not_waste,
    attempts::an_attempt_knows_better_than_its_successor_what_it_has_spent,
    attempts::an_attempt_that_is_taken_over_has_spent_the_more_of_checkpoint_and_progress,
    attempts::a_result_after_a_hand_over_of_the_same_attempt_still_counts,
    attempts::attempts_that_never_ended_are_lost_and_wasted,
    attempts::a_call_of_unknown_price_that_was_in_flight_is_an_unknown_call_and_no_free_one,
    attempts::a_lost_attempt_that_reports_after_all_counts,
    attempts::an_attempt_of_a_closed_sweep_of_which_nobody_had_heard_is_lost,
    attempts::a_lost_attempt_that_is_heard_of_runs_if_its_sweep_does,
    attempts::what_may_have_been_spent_is_counted_beside_what_was,
    recording::each_call_is_counted_once,
    recording::calls_that_several_scorers_add_at_once_all_count,
    recording::what_sessions_cost_is_told_of_those_whose_price_is_known_and_was_paid,
    recording::recorded_items_and_highest_attempts_are_found,
    judging::the_first_verdict_stays,
    judging::verdicts_of_different_judges_are_apart,
    judging::a_question_is_claimed_once,
    judging::of_several_who_claim_a_question_at_once_one_does,
    judging::a_question_without_an_answer_may_be_claimed_again_and_an_answered_one_not,
    judging::a_question_that_is_answered_while_others_claim_it_is_not_asked_again,
    judging::a_released_question_may_be_claimed_again,
    silence::a_question_is_silent_a_while_after_it_was_claimed_and_last_told_of,
    silence::no_question_is_silent_while_a_worker_holds_some_that_it_does_not_name,
    silence::a_question_is_in_doubt_until_it_is_confirmed_or_a_worker_tells_of_it,
    silence::silent_questions_are_released_by_who_leads_unless_somebody_told_of_them,
    silence::with_what_was_dispatched_the_questions_are_released_that_were_silent_and_no_others,
    judging::judges_costs_are_counted_once_an_attempt,
    judging::each_judge_has_its_own_costs,
    judging::of_two_scorers_with_the_same_judge_report_one_counts,
    judging::sessions_wait_for_their_questions,
    judging::a_session_is_settled_once,
    judging::a_session_may_wait_for_more_than_it_did_at_first,
    judging::settling_keeps_the_outcome_or_says_why_not,
    judging::the_transcript_is_kept_only_for_an_unavailable_judge,
    resume::unmeasured_sessions_run_again,
    resume::a_session_without_a_judge_only_asks_again,
    resume::sessions_that_never_ran_are_planned_again,
    resume::a_complete_sweep_has_nothing_to_resume,
    resume::a_session_that_runs_again_has_one_result,
    resume::a_session_that_the_budget_ended_is_continued,
    resume::a_session_that_the_budget_ended_before_any_answer_begins_anew,
    resume::a_continued_session_that_fails_otherwise_begins_anew,
    resume::a_session_whose_judge_the_budget_ended_keeps_its_answers,
    resume::a_sweep_runs_again_with_its_new_budget_or_nothing_of_it_is_changed,
    resume::questions_stay_claimed_until_nobody_waits_for_their_answers,
    resume::other_sweeps_are_not_touched,
    resume::sessions_that_begin_anew_are_charged_to_their_owner,
    schedules::a_schedule_is_written_once_and_replaced_only_on_demand,
    schedules::a_schedule_is_replaced_only_as_it_was_seen,
    schedules::a_pause_moves_the_clock_when_it_ends,
    schedules::ticks_are_decided_once,
    schedules::a_tick_that_somebody_asks_for_is_added_once,
    schedules::a_tick_is_started_once_and_never_beside_another_of_its_schedule,
    schedules::a_leader_whose_term_is_over_decides_starts_and_ends_nothing,
    schedules::a_tick_ends_once_with_what_it_cost_and_its_notices,
    schedules::a_sweep_that_is_resumed_has_its_tick_run_again,
    schedules::the_tick_of_a_sweep_that_was_resumed_meanwhile_goes_on,
    schedules::a_notice_waits_until_it_is_sent_or_given_up,
    schedules::a_schedule_that_is_deleted_takes_its_ticks_with_it,
    views::items_are_found_by_what_their_sessions_are,
    views::a_filter_is_about_one_session_with_all_that_it_asks_for,
    views::items_are_ordered_and_paged,
    views::sessions_are_listed_with_one_value,
    views::items_have_the_mean_of_the_sessions_that_have_the_value,
    views::a_session_is_read_alone_with_its_attempts,
    views::endings_flags_days_and_means_are_counted_by_cell,
    transitions::a_row_begins_in_a_state_that_is_drawn_for_it_and_in_no_other,
    transitions::a_transition_that_is_not_drawn_cannot_be_written,
    identity::a_token_is_found_by_its_digest_alone,
    identity::a_token_of_a_known_id_or_digest_is_not_kept_again,
    identity::a_revoked_token_stays_revoked_from_the_first_time_on,
    identity::an_owner_has_so_many_tokens_that_can_be_used,
    identity::tokens_and_owners_come_in_pages_that_miss_nothing,
    identity::a_sweep_has_its_owner_and_is_charged_once,
    identity::what_leads_beyond_a_quota_is_refused_as_a_whole,
    identity::an_adaptive_sweep_is_charged_for_all_it_may_release,
    identity::what_was_granted_cannot_be_counted_over,
    identity::a_token_is_kept_with_its_quota_or_not_at_all,
    identity::of_two_submissions_at_once_one_slips_through_a_quota_for_one,
    identity::a_quota_of_money_admits_no_sweep_without_a_budget,
    identity::the_lower_of_two_quotas_counts,
    identity::a_raised_budget_is_granted_once_however_often_it_is_asked_for,
    identity::what_was_granted_stays_granted_when_a_sweep_is_removed,
    identity::the_audit_log_is_read_newest_first_with_its_results,
    identity::a_schedule_keeps_its_owner,
    storage::an_object_is_charged_once_to_each_owner_who_uses_it,
    storage::a_small_object_is_charged_as_a_block,
    storage::what_leads_beyond_a_storage_quota_is_refused_as_a_whole,
    storage::quotas_of_an_owner_are_set_apart,
    storage::of_uploads_at_once_none_slips_beyond_a_storage_quota,
    storage::of_several_who_store_the_same_at_once_each_is_charged_once,
    storage::an_upload_that_fails_gives_its_charge_back_unless_another_of_the_same_succeeds,
    storage::a_removal_credits_all_owners,
    storage::what_was_used_since_it_was_read_is_not_removed,
    storage::an_object_that_is_being_removed_is_not_referred_to_and_stored_again_once_it_is_gone,
    storage::an_owner_who_refers_to_an_object_no_more_is_credited_and_it_stays,
    storage::a_sweep_is_created_only_with_inputs_that_are_there,
    storage::a_schedule_is_written_only_with_inputs_that_are_there,
    storage::of_a_removal_and_a_submission_at_once_one_fails,
    storage::idle_objects_are_read_by_key_page_by_page,
    storage::owners_are_charged_the_sum_of_their_uses_whatever_happens,
    laws::counters_equal_a_recount_whatever_happens,
];

#[test]
fn calls_may_be_spawned() {
    fn sendable(_: impl Send) {}
    fn all(ledger: &regatta_backends::Ledger, sweep: &regatta_proto::SweepId, cell: regatta_proto::CellIndex) {
        sendable(ledger.record(vec![]));
        sendable(ledger.record_progress(vec![]));
        sendable(ledger.save_judged(vec![]));
        sendable(ledger.settle(vec![]));
        sendable(ledger.sweeps());
        sendable(ledger.next_shards(sweep, "q", 1));
        sendable(ledger.sessions(sweep, cell));
        sendable(ledger.highest_attempt(sweep, cell, &[]));
        sendable(ledger.save_metrics(sweep, vec![]));
        sendable(ledger.reopen_unmeasured(sweep, regatta_backends::Quota::default()));
        sendable(ledger.call_sums(sweep));
        sendable(ledger.endings(sweep));
        sendable(ledger.cost_moments(sweep));
        sendable(ledger.continuations(sweep, cell, &[]));
        sendable(ledger.resume(sweep, regatta_proto::SweepState::Cancelled, None, regatta_backends::Quota::default()));
    }
    let _ = all;
}
