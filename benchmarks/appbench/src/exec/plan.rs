//! A plan, executed call by call in the order of its text, values flowing from what calls return to what later calls are given
//! (docs/benchmarks/appbench.md §7, steps 1, 2 and 4).

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use super::refusal::Refusal;
use super::world::{Executed, World};
use crate::data::{Data, Entry};
use crate::paper::slot_of;
use crate::parse::lines;
use crate::parse::paper::{Argument, Call, call};

/// Bytes that one plan may move and hash: far more than an answer of some thousand tokens needs. Without a limit, a plan could let one long
/// value flow into very many calls, and its execution would take the square of its length.
const BUDGET: usize = 16 << 20;

/// Result of executing a plan.
#[derive(Debug, Clone)]
pub(crate) struct Execution {
    /// The calls that were executed, in order.
    pub(crate) calls: Vec<Done>,
    /// Calls that were not executed, by position among all calls of the plan, with the reason.
    pub(crate) errors: Vec<(usize, Refusal)>,
    /// The world afterwards.
    pub(crate) world: World,
}

/// A call of the plan that was executed.
#[derive(Debug, Clone)]
pub(crate) struct Done {
    /// Position among all calls of the plan, from 0.
    pub(crate) position: usize,
    /// The call.
    pub(crate) call: Executed,
    /// Positions among the executed calls of those whose values it was given.
    pub(crate) needs: BTreeSet<usize>,
}

/// Executes the plan that `text` is, in the world of `entry`.
pub(crate) fn execute(data: &Data, entry: &Entry, text: &str) -> Execution {
    let mut run = Run {
        world: World::new(&data.phone, &entry.fixtures, BUDGET),
        calls: Vec::new(),
        bound: HashMap::new(),
        values: HashMap::new(),
    };
    let mut errors = Vec::new();
    for (position, line) in lines(text).iter().enumerate() {
        let parsed = call(&line.call, |name| data.phone.has_api(name)).ok_or(Refusal::Unparseable);
        if let Err(refusal) = parsed.and_then(|parsed| run.step(position, line.app, parsed)) {
            errors.push((position, refusal));
        }
    }
    Execution { calls: run.calls, errors, world: run.world }
}

/// A plan that is being executed.
struct Run {
    world: World,
    calls: Vec<Done>,
    /// Meaning of each name: the executed call that made it, and the slot that it returns. The latest one counts.
    bound: HashMap<String, (usize, Arc<str>)>,
    /// Values that were needed already.
    values: HashMap<(usize, Arc<str>), Arc<str>>,
}

impl Run {
    fn step(&mut self, position: usize, app: &str, parsed: Call) -> Result<(), Refusal> {
        let mut needs = BTreeSet::new();
        let mut inputs = BTreeMap::new();
        for (key, argument) in &parsed.arguments {
            let bound = match argument {
                Argument::Name(name) => self.bound.get(name).cloned(),
                Argument::Literal(_) => None,
            };
            let value = match bound {
                Some((producer, slot)) => {
                    needs.insert(producer);
                    self.value(producer, slot)?
                }
                None => argument.text().into(),
            };
            inputs.insert(key.as_str().into(), value);
        }
        let call = self.world.call(app, &parsed.name, inputs)?;
        let at = self.calls.len();
        let described = self.world.phone().app(&call.app).and_then(|app| app.api(&call.api));
        let count = parsed.returned.len();
        let bound = parsed.returned.into_iter().enumerate().map(|(position, name)| {
            let slot = slot_of(described, count, position, &name).into();
            (name, (at, slot))
        });
        self.bound.extend(bound);
        self.calls.push(Done { position, call, needs });
        Ok(())
    }

    /// Value that an executed call returned in `slot`. Only values that are needed are made.
    fn value(&mut self, producer: usize, slot: Arc<str>) -> Result<Arc<str>, Refusal> {
        let key = (producer, slot);
        if let Some(value) = self.values.get(&key) {
            return Ok(Arc::clone(value));
        }
        let done = self.calls.get(producer).ok_or(Refusal::Exhausted)?;
        let value = self.world.output(&done.call, &key.1)?;
        self.values.insert(key, Arc::clone(&value));
        Ok(value)
    }
}
