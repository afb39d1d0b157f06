//! The table of events against the hostile endpoint: every event, in every way, on every wire, whole and streamed.

use regatta_hostile::{Event, Hostile, Wire, ways};
use regatta_proto::{AccountId, Cause, ErrorClass, Filtered, Money, Outcome};

use super::*;
use crate::errors::{Fault, rule};
use crate::events::{EVENTS, ProviderEvent};

/// Outcome of a call, as far as all wire formats must agree on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Came {
    /// `None` if it was answered.
    class: Option<ErrorClass>,
    /// The cost is known, possibly zero.
    cost_is_known: bool,
}

impl Came {
    fn fault(self) -> Option<Fault> {
        self.class.map(|class| rule(class).fault)
    }

    fn outcome(self, filtered: Filtered) -> Outcome {
        self.class.map_or(Outcome::Measured, |class| Outcome::of_failure(class, filtered))
    }
}

/// The rows of the table for an event of the hostile endpoint.
fn rows(event: Event) -> &'static [ProviderEvent] {
    match event {
        Event::PromptFiltered => &[ProviderEvent::PromptFiltered],
        Event::AnswerFiltered => &[ProviderEvent::AnswerFiltered],
        Event::Refused => &[ProviderEvent::Refused],
        Event::ContextOverflow => &[ProviderEvent::ContextOverflow],
        Event::OutputLimitTooLarge => &[ProviderEvent::OutputLimitTooLarge],
        Event::RequestTooLarge => &[ProviderEvent::RequestTooLarge],
        Event::UnknownParameter => &[ProviderEvent::UnknownParameter],
        Event::RequestRefused => &[ProviderEvent::RequestRefused],
        Event::CredentialsRefused => &[ProviderEvent::CredentialsRefused],
        Event::ModelUnknown => &[ProviderEvent::ModelUnknown],
        Event::OutOfCredit => &[ProviderEvent::OutOfCredit],
        Event::RateLimited => &[ProviderEvent::RateLimited],
        Event::ServerTrouble => &[ProviderEvent::ServerTrouble],
        Event::Unreadable => &[ProviderEvent::Unreadable],
        Event::AnswerCutOff => &[ProviderEvent::AnswerCutOff],
        Event::AnswerMalformed => &[ProviderEvent::AnswerMalformed],
        Event::UsageUnknown => &[ProviderEvent::UsageUnknown],
        Event::TierTold => &[ProviderEvent::TierUnpriced],
        Event::Answered => &[],
    }
}

fn spec_of(wire: Wire, base_url: String, stream: bool) -> EndpointSpec {
    let kind = match wire {
        Wire::OpenAi => EndpointKind::Openai,
        Wire::Responses => EndpointKind::OpenaiResponses,
        Wire::Azure => EndpointKind::Azure,
        Wire::Anthropic => EndpointKind::Anthropic,
        Wire::Gemini => EndpointKind::Gemini,
        Wire::Bedrock => EndpointKind::Bedrock,
    };
    let retries =
        Retries { attempts: 1, base_delay_ms: 1, max_delay_ms: 5, deadline_ms: 600_000, quarantine_after: 16 };
    let api_key_env = (kind != EndpointKind::Bedrock).then(|| "OPENAI_API_KEY".to_owned());
    EndpointSpec { base_url: Some(base_url), api_key_env, stream, retries, ..EndpointSpec::of_kind(kind) }
}

fn open_wire(wire: Wire, base_url: String, stream: bool) -> Bench {
    let (registry, store) = (Registry::new(), FakeStore::default());
    let env = |name: &str| match name {
        "AWS_DEFAULT_REGION" => Some("eu-central-2".to_owned()),
        name if name.ends_with("_KEY") || name.ends_with("_KEY_ID") => Some(KEY.to_owned()),
        _ => None,
    };
    let context = OpenContext { env: &env, ..store.context(&registry, "worker") };
    let endpoint = Endpoint::open(&"main".parse().unwrap(), &spec_of(wire, base_url, stream), &context).unwrap();
    Bench { endpoint, registry, interrupt: CancellationToken::new(), sweep: sweep() }
}

async fn came(wire: Wire, base_url: String, stream: bool) -> Came {
    let (bench, price, request) = (open_wire(wire, base_url, stream), Price::per_mtok(1.0, 2.0), request());
    let call = ChatCall { model: "m", payer: payer(&bench.sweep, Some(&price)), ..bench.call(&request) };
    match bench.endpoint.chat(call).await {
        Ok(call) => Came { class: None, cost_is_known: call.cost.is_some() },
        Err(CallError::Failed(failed)) => {
            let last = failed.tries.last().unwrap();
            Came { class: Some(last.class), cost_is_known: last.at_most.is_none() }
        }
        Err(CallError::Interrupted(_)) => unreachable!("nobody interrupts it"),
    }
}

/// Outcomes of every variant on every wire format, whole and streamed.
fn everything(event: Event) -> Vec<(Wire, usize, bool, String)> {
    let mut all = Vec::new();
    for wire in Wire::ALL {
        for (number, way) in ways(event, wire).iter().enumerate() {
            for stream in [false, true] {
                let place = format!("{} {}{}", wire.as_str(), way.name, if stream { ", streamed" } else { "" });
                all.push((wire, number, stream, place));
            }
        }
    }
    all
}

#[tokio::test]
async fn an_event_has_one_class_one_outcome_and_one_fault_whatever_the_wire() {
    let hostile = Hostile::start(0).await.unwrap();
    let mut differing = Vec::new();
    let told = |came: Came| {
        let outcomes = [Filtered::Wrong, Filtered::Missing].map(|filtered| came.outcome(filtered));
        (came, came.fault(), outcomes)
    };
    for event in Event::ALL {
        let class = rows(event).first().and_then(|row| row.rule().class);
        let cost_is_known = !matches!(event, Event::UsageUnknown | Event::TierTold | Event::Unreadable);
        let expected = Came { class, cost_is_known };
        for (wire, number, stream, place) in everything(event) {
            let came = came(wire, hostile.base_url(event, number, wire), stream).await;
            if told(came) != told(expected) {
                differing.push(format!("{} on {place}: {:?}", event.as_str(), told(came)));
            }
        }
    }
    assert!(differing.is_empty(), "{}", differing.join("\n"));
}

#[tokio::test]
async fn the_outcomes_of_filters_are_those_that_the_spec_chooses() {
    let of = |class, filtered| Came { class: Some(class), cost_is_known: true }.outcome(filtered);
    for row in EVENTS.iter().filter(|row| row.fault() == Some(Fault::Filter)) {
        let class = row.class.unwrap();
        assert_eq!(of(class, Filtered::Wrong), Outcome::ModelFailure { cause: Cause::ContentFilter }, "{}", row.word);
        assert_eq!(of(class, Filtered::Missing), Outcome::NotMeasured { cause: Cause::ContentFilter }, "{}", row.word);
    }
    for row in EVENTS.iter().filter(|row| row.fault().is_some_and(|fault| fault != Fault::Filter)) {
        let class = row.class.unwrap();
        assert_eq!(of(class, Filtered::Wrong), of(class, Filtered::Missing), "{}", row.word);
    }
}

#[tokio::test]
async fn every_wire_plays_every_event_that_it_can_say() {
    let silent: Vec<String> = Event::ALL
        .into_iter()
        .flat_map(|event| Wire::ALL.into_iter().map(move |wire| (event, wire)))
        .filter(|(event, wire)| ways(*event, *wire).is_empty())
        .map(|(event, wire)| format!("{} {}", event.as_str(), wire.as_str()))
        .collect();
    // Gemini has no field for a refusal, and four wires have no word for an answer that they cannot read.
    let malformed = ["openai", "openai_responses", "azure", "anthropic"].map(|wire| format!("answer_malformed {wire}"));
    assert_eq!(silent, [&["refused gemini".to_owned()], &malformed[..]].concat());
    let played: Vec<ProviderEvent> = Event::ALL.into_iter().flat_map(rows).copied().collect();
    let not_played: Vec<&str> = EVENTS.iter().filter(|row| !played.contains(&row.event)).map(|row| row.word).collect();
    assert_eq!(not_played, [""; 0]);
}

#[tokio::test]
async fn the_operator_is_told_what_to_set() {
    let hostile = Hostile::start(0).await.unwrap();
    for (wire, number, stream, place) in everything(Event::OutputLimitTooLarge) {
        let base_url = hostile.base_url(Event::OutputLimitTooLarge, number, wire);
        let detail = open_wire(wire, base_url, stream).tries().await.pop().unwrap().detail;
        assert!(detail.contains("max_tokens of the model"), "{place}: {detail}");
    }
    let detail = open_wire(Wire::OpenAi, hostile.base_url(Event::OutputLimitTooLarge, 0, Wire::OpenAi), false);
    let detail = detail.tries().await.pop().unwrap().detail;
    assert!(detail.contains("set max_tokens of the model to at most 3096"), "4096 hold 1000: {detail}");
}

#[tokio::test]
async fn a_withheld_answer_costs_what_it_billed() {
    let hostile = Hostile::start(0).await.unwrap();
    for wire in [Wire::OpenAi, Wire::Responses, Wire::Gemini, Wire::Bedrock] {
        let bench = open_wire(wire, hostile.base_url(Event::AnswerFiltered, 0, wire), false);
        let (price, request) = (Price::per_mtok(1.0, 2.0), request());
        let call = ChatCall { model: "m", payer: payer(&bench.sweep, Some(&price)), ..bench.call(&request) };
        let last = bench.tries_of(call).await.pop().unwrap();
        assert_eq!((last.cost, last.at_most), (Some(Money(14_000)), None), "{wire:?}: 10 at $1, 2 at $2 per million");
        assert_eq!(last.status, Some(200));
    }
}

/// Makes ten calls one after another, cycling through `models`. Returns the number of requests received, and the last class of each call.
async fn ten_calls(hostile: &Hostile, event: Event, number: usize, models: &[&str]) -> (usize, Vec<ErrorClass>) {
    let bench = open_wire(Wire::OpenAi, hostile.base_url(event, number, Wire::OpenAi), false);
    let request = request();
    let mut classes = Vec::new();
    for model in models.iter().cycle().take(10) {
        let tries = bench.tries_of(ChatCall { model, ..bench.call(&request) }).await;
        classes.push(tries.last().unwrap().class);
    }
    (hostile.seen(event, number, Wire::OpenAi), classes)
}

#[tokio::test]
async fn after_a_few_refusals_of_the_key_and_no_answer_the_rest_is_not_sent() {
    let hostile = Hostile::start(0).await.unwrap();
    let (sent, classes) = ten_calls(&hostile, Event::CredentialsRefused, 0, &["a", "b"]).await;
    assert_eq!((sent, classes), (3, vec![ErrorClass::Auth; 10]), "a 401 is about the key, whatever the model");
}

#[tokio::test]
async fn a_model_that_is_unknown_or_forbidden_is_held_by_itself() {
    let hostile = Hostile::start(0).await.unwrap();
    let (sent, classes) = ten_calls(&hostile, Event::ModelUnknown, 0, &["a", "b"]).await;
    assert_eq!((sent, classes), (6, vec![ErrorClass::NotFound; 10]), "three of each");
    let (sent, classes) = ten_calls(&hostile, Event::CredentialsRefused, 1, &["a", "b"]).await;
    assert_eq!((sent, classes), (6, vec![ErrorClass::Auth; 10]), "a 403 is about what is asked for");
}

#[tokio::test]
async fn what_is_held_is_sent_again_by_whoever_opens_the_endpoint_anew() {
    let hostile = Hostile::start(0).await.unwrap();
    for resumed in 1..=2 {
        let (sent, _) = ten_calls(&hostile, Event::CredentialsRefused, 0, &["a"]).await;
        assert_eq!(sent, 3 * resumed, "as `resume` does");
    }
}

#[tokio::test]
async fn an_account_pays_the_worst_case_of_an_answer_whose_cost_is_unknown() {
    let hostile = Hostile::start(0).await.unwrap();
    let (price, request) = (Price::per_mtok(1.0, 2.0), request());
    for (event, number) in [(Event::UsageUnknown, 0), (Event::UsageUnknown, 1), (Event::TierTold, 0)] {
        let (store, registry, poor) =
            (FakeStore::default(), Registry::new(), AccountId { sweep: sweep(), model: None });
        store.budget(&poor, Money(1_000_000_000));
        let env = |name: &str| (name == "OPENAI_API_KEY").then(|| KEY.to_owned());
        let context = OpenContext { env: &env, ..store.context(&registry, "worker") };
        let spec = spec_of(Wire::OpenAi, hostile.base_url(event, number, Wire::OpenAi), false);
        let endpoint = Endpoint::open(&"main".parse().unwrap(), &spec, &context).unwrap();
        let bench = Bench { endpoint, registry, interrupt: CancellationToken::new(), sweep: sweep() };
        let payer = Payer { accounts: std::slice::from_ref(&poor), ..payer(&bench.sweep, Some(&price)) };
        let call = bench.endpoint.chat(ChatCall { payer, ..bench.call(&request) }).await.unwrap();
        context.budget_leases.close().await;
        let (spent, maybe_spent, _) = store.account(&poor);
        assert_eq!((call.cost, spent), (None, Money::ZERO), "{event:?} {number}");
        assert_eq!(maybe_spent, crate::worst_case(&request, &price), "{event:?} {number}");
    }
}
