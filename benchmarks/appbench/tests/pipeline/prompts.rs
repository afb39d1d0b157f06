//! The exact texts that models see, held against the digests of the official ones (docs/benchmarks/appbench.md §3).

use regatta_benchmark_testing::answered;
use regatta_benchmarks::{Step, Suite};
use regatta_proto::{ChatRequest, ChatRole, Digest, Finish, ItemIndex, Reply, Role, Transcript};

use crate::harness::{miniature, published, setting};

fn asked(suite: &dyn Suite, item: u32, name: &str, transcript: &Transcript) -> ChatRequest {
    match suite.next(ItemIndex(item), &setting(name), transcript) {
        Step::Ask(Role::Agent, request) => request,
        other => panic!("{other:?}"),
    }
}

fn after(suite: &dyn Suite, item: u32, name: &str, replies: &[&str]) -> Transcript {
    let mut transcript = Transcript::default();
    for reply in replies {
        let request = asked(suite, item, name, &transcript);
        transcript.events.push(answered(Role::Agent, request, Reply::of_text(Some(reply), Finish::Stop)));
    }
    transcript
}

fn hex(text: &str) -> String {
    Digest::of(text.as_bytes()).bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn the_flat_prompt_with_the_official_template_is_the_official_text() {
    let Some(suite) = published() else { return };
    let request = asked(&*suite, 0, "flat", &Transcript::default());
    let system = &request.messages[0].content;
    assert_eq!(system.chars().count(), 37_222);
    assert_eq!(hex(system), "cbf9c9897c467dd843723ce69dde468ed5886a3a2393cdddf2db928a9ee3ea49");
    assert_eq!(request.messages.len(), 2);
    assert_eq!(request.messages[1].role, ChatRole::User);
}

#[test]
fn after_a_selection_only_the_chosen_apps_are_described_in_phone_order() {
    let Some(suite) = published() else { return };
    let transcript = after(&*suite, 0, "hierarchical", &["[Weather, Trains]"]);
    let system = asked(&*suite, 0, "hierarchical", &transcript).messages[0].content.clone();
    assert_eq!(system.chars().count(), 6448);
    assert_eq!(hex(&system), "cb63a8d0438587c40926679507c61897d8049953c236c8515fda46f5460ae39f");
}

#[test]
fn an_answer_that_selects_nothing_is_asked_for_again_and_five_such_answers_end_the_session() {
    let suite = miniature();
    for failed in 0..5 {
        let transcript = after(&*suite, 0, "hierarchical", &vec!["?"; failed]);
        let first = asked(&*suite, 0, "hierarchical", &Transcript::default());
        assert_eq!(asked(&*suite, 0, "hierarchical", &transcript), first, "after {failed}");
    }
    let transcript = after(&*suite, 0, "hierarchical", &["?"; 5]);
    assert_eq!(suite.next(ItemIndex(0), &setting("hierarchical"), &transcript), Step::Done);
}

#[test]
fn demonstrations_come_between_the_rules_and_the_request_and_use_the_same_apps() {
    let suite = miniature();
    let plain = asked(&*suite, 0, "flat", &Transcript::default()).messages;
    let shown = asked(&*suite, 0, "flat/2-shot", &Transcript::default()).messages;
    assert_eq!(shown.len(), plain.len() + 4);
    assert_eq!((shown.first(), shown.last()), (plain.first(), plain.last()));
    let roles: Vec<ChatRole> = shown[1..5].iter().map(|message| message.role).collect();
    assert_eq!(roles, [ChatRole::User, ChatRole::Assistant, ChatRole::User, ChatRole::Assistant]);
    assert!(shown[1..5].iter().all(|message| message.content != plain[1].content), "never the item itself");
    assert!(shown[2].content.ends_with("] \n"));
    assert_eq!(asked(&*suite, 0, "flat/2-shot", &Transcript::default()).messages, shown, "the same every time");
}

#[test]
fn a_request_is_recognised_by_its_instruction_in_every_setting() {
    let suite = miniature();
    for name in ["flat", "flat/3-shot", "hierarchical", "tools"] {
        for item in [0, 3, 7] {
            let request = asked(&*suite, item, name, &Transcript::default());
            assert_eq!(suite.recognise(&request), Some(ItemIndex(item)), "{name}");
        }
    }
}
