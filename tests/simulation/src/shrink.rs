//! The simplest plan that still shows a finding.

use crate::plan::{ANSWERS_MS, Plan};
use crate::world::simulate;

/// `plan` without whatever its findings do not need: events first, then shares, then processes. Each step is tried by a run of its own.
#[must_use]
pub fn shrunk(plan: &Plan) -> Plan {
    shrunk_while(plan, |plan| !simulate(plan).findings.is_empty())
}

fn shrunk_while(plan: &Plan, fails: impl Fn(&Plan) -> bool) -> Plan {
    let mut best = plan.clone();
    loop {
        match simpler(&best).into_iter().find(&fails) {
            Some(simpler) => best = simpler,
            None => return best,
        }
    }
}

/// Plans that are one step simpler.
fn simpler(plan: &Plan) -> Vec<Plan> {
    let mut plans = Vec::new();
    let mut add = |change: &dyn Fn(&mut Plan)| {
        let mut changed = plan.clone();
        change(&mut changed);
        if changed != *plan {
            plans.push(changed);
        }
    };
    for event in 0..plan.events.len() {
        add(&|plan| {
            plan.events.remove(event);
        });
    }
    add(&|plan| plan.failing = 0.0);
    add(&|plan| plan.unconfirmed = 0.0);
    add(&|plan| plan.doubled = 0.0);
    add(&|plan| plan.lost = 0.0);
    add(&|plan| plan.refused = 0.0);
    add(&|plan| plan.dropped = 0.0);
    add(&|plan| plan.skew_hours = 0);
    add(&|plan| plan.answers_ms = plan.answers_ms.min(ANSWERS_MS));
    add(&|plan| plan.latency_ms = plan.latency_ms.min(3));
    // The last of a kind goes where no event has it for its victim, and the numbers of those behind it move up.
    for (kind, count) in [(0, plan.coordinators), (1, plan.workers), (2, plan.scorers)] {
        let last = match kind {
            0 => plan.coordinators,
            1 => plan.coordinators + plan.workers,
            _ => plan.processes(),
        } - 1;
        if count > 1 && plan.events.iter().all(|event| event.process != last) {
            add(&|plan| {
                match kind {
                    0 => plan.coordinators -= 1,
                    1 => plan.workers -= 1,
                    _ => plan.scorers -= 1,
                }
                for event in plan.events.iter_mut().filter(|event| event.process > last) {
                    event.process -= 1;
                }
            });
        }
    }
    plans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Blow, Event, Workload};

    #[test]
    fn a_plan_is_shrunk_to_what_makes_it_fail() {
        let cut = |process| Event { at_ms: 700, process, blow: Blow::Cut };
        let kill = Event { at_ms: 900, process: 0, blow: Blow::Kill { down_ms: 1 } };
        let calm = Plan::calm(5, Workload::Calls);
        let (dropped, others) = (0.1, 0.2);
        let plan = Plan {
            coordinators: 2,
            workers: 3,
            scorers: 2,
            answers_ms: 100_000,
            latency_ms: 700,
            failing: others,
            unconfirmed: others,
            doubled: others,
            lost: others,
            refused: others,
            dropped,
            skew_hours: 30,
            events: vec![cut(1), kill, cut(3)],
            ..calm.clone()
        };
        // It takes a worker that is cut off while calls break.
        let is_cut_off = |plan: &Plan, event: &Event| event.blow == Blow::Cut && event.process >= plan.coordinators;
        let fails = |plan: &Plan| plan.dropped > 0.0 && plan.events.iter().any(|event| is_cut_off(plan, event));
        // The numbers of processes move down by one with the coordinator that is not needed.
        assert_eq!(shrunk_while(&plan, fails), Plan { dropped, events: vec![cut(2)], ..calm });
    }
}
