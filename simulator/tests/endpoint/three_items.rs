//! A minimal benchmark.

use regatta_benchmarks::{Dataset, Item, Persona, SelectError, Simulated};
use regatta_proto::{ChatRequest, ItemIndex, Reply, Role, SessionSeed, Setting, ToolCall, rng};

/// Three items whose prompts say `Task: <id>` and whose gold is `gold of <id>`, followed by the setting where it is not the default. In
/// `calling` and `saying-and-calling` the agent calls tools.
pub(crate) struct ThreeItems(Vec<Item>);

pub(crate) const PLAIN: &str = "os_1";
pub(crate) const ODD: &str = "café 100%/ü";
pub(crate) const LONG: &str = "long";

pub(crate) fn gold(id: &str) -> String {
    if id == LONG { "gold of long, ".repeat(40) } else { format!("gold of {id}") }
}

pub(crate) fn look() -> ToolCall {
    ToolCall { id: "call_1".into(), name: "look".into(), arguments: r#"{"at": "문", "times": 2}"#.into() }
}

/// A call whose arguments are no JSON.
pub(crate) fn take() -> ToolCall {
    ToolCall { id: "call_2".into(), name: "take".into(), arguments: "{key: 열쇠".into() }
}

pub(crate) fn prompt(id: &str) -> String {
    format!("Task: {id}")
}

impl ThreeItems {
    pub(crate) fn new() -> Self {
        let item = |id: &str| Item { id: id.parse().unwrap(), task: "os".into(), group: None };
        Self([PLAIN, ODD, LONG].map(item).to_vec())
    }
}

impl Dataset for ThreeItems {
    fn items(&self) -> &[Item] {
        &self.0
    }

    fn select(&self, _: &Setting, _: &[String], _: Option<u32>) -> Result<Vec<ItemIndex>, SelectError> {
        Ok((0..self.0.len() as u32).map(ItemIndex).collect())
    }
}

impl Simulated for ThreeItems {
    fn simulate(
        &self,
        item: ItemIndex,
        setting: &Setting,
        role: Role,
        persona: Persona,
        seed: SessionSeed,
        _: &ChatRequest,
    ) -> Reply {
        let id = self.0[item.0 as usize].id.as_str();
        if role != Role::Agent {
            return Reply::said(format!("{role:?} of {id}, seed {}", seed.0));
        }
        if setting.as_str() == "shouting" {
            return Reply::said(gold(id).to_uppercase());
        }
        if setting.as_str() == "calling" {
            return Reply::calling(None, vec![look(), take()]);
        }
        if setting.as_str() == "saying-and-calling" {
            return Reply::calling(Some(&gold(id)), vec![look(), take()]);
        }
        Reply::said(match persona {
            Persona::Oracle => gold(id),
            Persona::Noisy(p) => {
                let word = rand_chacha::rand_core::RngCore::next_u32(&mut rng(seed.0, "noise"));
                if f64::from(word) < p * f64::from(u32::MAX) { format!("noise {word}") } else { gold(id) }
            }
        })
    }

    fn recognise(&self, request: &ChatRequest) -> Option<ItemIndex> {
        let asked = request.messages.last()?.content.strip_prefix("Task: ")?;
        (0..).map(ItemIndex).zip(&self.0).find(|(_, item)| item.id.as_str() == asked).map(|(index, _)| index)
    }

    fn simulate_judge(&self, prompt: &str, persona: Persona, seed: SessionSeed) -> Option<String> {
        let asked = prompt.strip_prefix("Judge: ")?;
        Some(format!("{persona:?} says yes to {asked}, seed {}", seed.0))
    }
}
