//! Coverage of forecasts, over simulated sweeps of uneven tasks that are run in the order of the data.

use std::collections::BTreeMap;

use regatta_backends::CostMoments;
use regatta_proto::{CostSum, Level, ModelRef, Money};

use super::Foretold;
use super::foretelling::{GroupCosts, Spent, foretell};
use super::tasks::{TaskCosts, by_task};

const SWEEPS: u64 = 200;
const TASKS: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

/// SplitMix64: numbers that are the same everywhere, whatever a crate does.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    fn uniform(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn normal(&mut self) -> f64 {
        let (radius, angle) = (1.0 - self.uniform(), self.uniform());
        (-2.0 * radius.ln()).sqrt() * (std::f64::consts::TAU * angle).cos()
    }
}

/// A session's model, task and cost.
type Session = (usize, usize, f64);

/// Numbers of sessions of the tasks, and the sessions in the order in which they are run: two models one after the other, each by task. Tasks
/// cost up to four times as much as others, models up to three times, and sessions of one task vary by a factor of 1.65.
fn sweep(seed: u64) -> (Vec<u64>, Vec<Session>) {
    let mut random = Random(seed);
    let tasks: Vec<(u64, f64)> =
        TASKS.iter().map(|_| (20 + random.next() % 100, (random.uniform() * 4.0_f64.ln()).exp())).collect();
    let mut sessions = Vec::new();
    for model in 0..2 {
        let of_model = (random.uniform() * 3.0_f64.ln()).exp();
        for (task, (count, of_task)) in tasks.iter().enumerate() {
            for _ in 0..*count {
                let cost = (1e6 * of_model * of_task * (0.5 * random.normal()).exp()).round();
                sessions.push((model, task, cost));
            }
        }
    }
    (tasks.into_iter().map(|(count, _)| count).collect(), sessions)
}

/// The forecast after the first sessions were `seen`.
fn foretold(models: &[ModelRef; 2], counts: &[u64], seen: &[Session]) -> Option<Foretold> {
    let all: u64 = counts.iter().sum();
    let mut groups = Vec::new();
    for (index, model) in models.iter().enumerate() {
        let mut tasks: BTreeMap<&str, TaskCosts> = BTreeMap::new();
        for (name, sessions) in TASKS.iter().zip(counts) {
            tasks.insert(*name, TaskCosts { sessions: *sessions, known: CostMoments::default() });
        }
        let mut whole = GroupCosts { sessions: all, left: all, ..GroupCosts::of(model) };
        for (_, task, cost) in seen.iter().filter(|session| session.0 == index) {
            let known = &mut tasks.get_mut(TASKS[*task]).unwrap().known;
            known.sessions += 1;
            known.sum += cost;
            known.squares += cost * cost;
            whole.seen += 1;
            whole.left -= 1;
        }
        groups.extend(by_task(&whole, &tasks));
    }
    let known = Money(seen.iter().map(|session| session.2 as u64).sum());
    let spent = Spent { by_agents: CostSum { known, unknown_calls: 0 }, by_judges: CostSum::default() };
    foretell(&groups, &[], spent, Level::USUAL)
}

#[test]
fn the_interval_of_a_sweep_whose_tasks_cost_differently_holds_as_often_as_it_says() {
    let models: [ModelRef; 2] = ["x/one", "x/two"].map(|model| model.parse().unwrap());
    let (mut made, mut held, mut lower_ends, mut lower_held) = (0, 0, 0, 0);
    for seed in 0..SWEEPS {
        let (counts, sessions) = sweep(seed);
        let end = Money(sessions.iter().map(|session| session.2 as u64).sum());
        for percent in (5..100).step_by(10) {
            let seen = &sessions[..sessions.len() * percent / 100];
            match foretold(&models, &counts, seen) {
                Some(Foretold::Whole(forecast)) => {
                    made += 1;
                    held += u32::from((forecast.low..=forecast.high).contains(&end));
                }
                Some(Foretold::AtLeast(least)) => {
                    lower_ends += 1;
                    lower_held += u32::from(least <= end);
                }
                None => {}
            }
        }
    }
    assert!(made >= 900 && lower_ends >= 900, "{made} and {lower_ends} of {}", SWEEPS * 10);
    assert!(f64::from(held) >= 0.93 * f64::from(made), "{held} of {made} hold");
    assert!(f64::from(lower_held) >= 0.975 * f64::from(lower_ends), "{lower_held} of {lower_ends} hold");
}
