//! Ten thousand workers at the permits of their endpoints: requests to the store, use of the limits, fairness, and who waits for work.
//!
//! The pool of permits is the deployments' own (`Permits`, in memory, on a clock that the simulation moves), and so is a worker's side of it
//! (`SimulatedHolder` of `llm`). The store's server takes the time that [`Costs`] states: a lease locks its pool's row, so leases of one pool
//! are made one after another. Time jumps from event to event ([`fleet`]); one seed gives one history.
//!
//! ```text
//! cargo run --release -p regatta-backends --features faults --example fleet                    # the tables of docs/scale.md
//! cargo run --release -p regatta-backends --features faults --example fleet -- 10000 10 1 slots    # workers, endpoints, pools each, limit
//! ```
#![expect(clippy::print_stdout, reason = "its output is what it is for")]
#![expect(clippy::expect_used, reason = "a simulation whose parts cannot be set up has failed")]

mod books;
mod fleet;
mod row;
mod scenario;
#[cfg(test)]
mod tests;
mod worker;

use std::process::ExitCode;

use fleet::run;
use scenario::{Bound, Costs, Outcome, Scenario};

const USAGE: &str = "usage: fleet [WORKERS ENDPOINTS POOLS slots|requests|far]";

/// Workers, endpoints and pools of each endpoint of the tables' rows.
const ROWS: [(usize, usize, usize); 10] = [
    (100, 1, 1),
    (300, 1, 1),
    (1_000, 1, 1),
    (3_000, 1, 1),
    (10_000, 1, 1),
    (10_000, 10, 1),
    (10_000, 100, 1),
    (10_000, 1, 10),
    (10_000, 1, 100),
    (10_000, 10, 10),
];

/// Round trip between two regions, in microseconds. Where it is so far, it is for every second worker.
const FAR_US: u64 = 80_000;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(scenarios) = scenarios(&arguments) else {
        println!("{USAGE}");
        return ExitCode::from(2);
    };
    println!("{:?}", Costs::default());
    println!("{}", Outcome::HEAD);
    for scenario in scenarios {
        println!("{}", run(&scenario));
    }
    ExitCode::SUCCESS
}

/// The scenario that `arguments` name, or those of the tables.
fn scenarios(arguments: &[String]) -> Option<Vec<Scenario>> {
    let [workers, endpoints, pools, bound] = arguments else {
        return arguments.is_empty().then(of_tables);
    };
    let (bound, far_us) = match bound.as_str() {
        "slots" => (Bound::Slots, 0),
        "requests" => (Bound::Requests, 0),
        "far" => (Bound::Slots, FAR_US),
        _ => return None,
    };
    let number = |text: &String| text.parse::<usize>().ok().filter(|number| *number > 0);
    let of = Scenario::of(number(workers)?, number(endpoints)?, number(pools)?, bound);
    Some(vec![Scenario { far_us, ..of }])
}

fn of_tables() -> Vec<Scenario> {
    let of = |bound| ROWS.map(|(workers, endpoints, pools)| Scenario::of(workers, endpoints, pools, bound));
    // Half of the workers are in another region than the store.
    let far = [(10, 1, 1), (30, 1, 1), (100, 1, 1)];
    let far = far.map(|(workers, endpoints, pools)| Scenario {
        far_us: FAR_US,
        ..Scenario::of(workers, endpoints, pools, Bound::Slots)
    });
    [Bound::Slots, Bound::Requests].into_iter().flat_map(of).chain(far).collect()
}
