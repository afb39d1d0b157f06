//! The same with the simulator's batch API, which somebody else wrote.

use std::collections::BTreeMap;

use regatta_proto::{BatchSettings, EndpointKind, Lane, SessionKey, SimulatedBatches, Simulation};

use super::{FOR_EVER_MS, MEASURED};
use crate::stage::Stage;

const SESSIONS: usize = 3;

/// Reply that each session got at a simulated endpoint.
async fn replies(kind: EndpointKind, lane: Lane, batch: SimulatedBatches) -> BTreeMap<SessionKey, String> {
    let (mut stage, server) = Stage::with(Simulation { batch, ..Simulation::default() }).await;
    let endpoint = &mut stage.route.endpoint;
    endpoint.kind = kind;
    endpoint.api_key_env = Some("none".to_owned());
    endpoint.lane = lane;
    if lane == Lane::Batch {
        endpoint.batch = Some(BatchSettings { requests_max: SESSIONS as u32, gather_ms: FOR_EVER_MS, poll_ms: 5 });
    }
    stage.publish((0..SESSIONS).map(|item| stage.job(0, item))).await;
    let mut reports = stage.reports().await;
    let worker = stage.start("w", |_| {}).await;
    let mut replies = BTreeMap::new();
    for _ in 0..SESSIONS {
        let outcome = reports.outcome().await;
        assert_eq!(outcome.outcome, MEASURED, "{kind:?}");
        let call = outcome.transcript.calls().next().unwrap();
        assert_eq!((call.lane, call.served.simulated), (lane, true), "{kind:?}");
        assert!(call.usage.input > 0 && call.usage.output > 0, "{kind:?}");
        replies.insert(outcome.key, call.reply.text.as_deref().unwrap().to_owned());
    }
    worker.leave().await;
    assert_eq!(stage.waiting().await, 0);
    server.shutdown().await;
    replies
}

#[tokio::test]
async fn a_session_is_answered_the_same_in_a_batch_as_live() {
    let at_once = SimulatedBatches { delay_ms: 10, ..SimulatedBatches::default() };
    for kind in [EndpointKind::Simulated, EndpointKind::Openai, EndpointKind::Anthropic] {
        let (batch, live) = (replies(kind, Lane::Batch, at_once).await, replies(kind, Lane::Live, at_once).await);
        assert_eq!(batch.len(), SESSIONS, "{kind:?}");
        assert_eq!(batch, live, "{kind:?}");
    }
}
