//! The simplest plan that still shows a finding.

use crate::plan::Plan;
use crate::world::simulate;

/// `plan` without whatever its findings do not need: events first, then shares, then processes. Each step is tried by a run of its own.
#[must_use]
pub fn shrunk(plan: &Plan) -> Plan {
    let mut best = plan.clone();
    loop {
        let simpler = simpler(&best).into_iter().find(|simpler| !simulate(simpler).findings.is_empty());
        match simpler {
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
