//! A benchmark that fails to play a model, as one whose program raises an exception.

use std::sync::Arc;

use regatta_benchmarks::{Dataset, Item, Persona, SelectError, Simulated, Unplayed};
use regatta_proto::{ChatRequest, ItemIndex, Reply, Role, SessionSeed, Setting};
use regatta_simulator::{Config, SimulatedSuite};

use crate::harness::{Harness, config, read};
use crate::three_items::{LONG, PLAIN, ThreeItems, gold};

/// Plays every item but [`LONG`].
struct Failing(ThreeItems);

impl Dataset for Failing {
    fn items(&self) -> &[Item] {
        self.0.items()
    }

    fn select(&self, setting: &Setting, tasks: &[String], limit: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        self.0.select(setting, tasks, limit)
    }
}

impl Simulated for Failing {
    fn try_simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        request: &ChatRequest,
    ) -> Result<Reply, Unplayed> {
        if self.items()[item.0 as usize].id.as_str() == LONG {
            return Err(Unplayed);
        }
        Ok(self.0.simulate(item, setting, role, persona, seed, request))
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        self.0.recognise(request)
    }
}

#[tokio::test]
async fn a_model_that_cannot_be_played_is_a_refusal_and_no_reply() {
    let simulated = SimulatedSuite {
        benchmark: "worfbench".parse().unwrap(),
        default_setting: Some("zero-shot".parse().unwrap()),
        suite: Arc::new(Failing(ThreeItems::new())),
    };
    let harness = Harness::start(Config { suites: vec![simulated], ..config() }).await;
    let answer = read(harness.ask("oracle", LONG)).await;
    assert_eq!(answer.status, 400);
    assert_eq!(answer.json()["error"]["message"], Unplayed.to_string());
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.content(), gold(PLAIN));
}
