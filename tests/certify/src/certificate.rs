//! The certificate: what was survived, what it cost, and what did not hold.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use serde::Serialize;

use crate::checks::{Finding, recovered_after, went_on_after};
use crate::endpoint::CallKind;
use crate::evidence::{Evidence, Reference, Struck};
use crate::history::Options;
use crate::waste::{Waste, by_cause};
use crate::workload::Workload;

/// A fault, and when somebody went on after it.
#[derive(Debug, Clone, Serialize)]
pub struct Survived {
    /// The fault.
    #[serde(flatten)]
    pub struck: Struck,
    /// Milliseconds from its end until a session was recorded or a call began, whosever it was; `None` if nothing was left to do.
    pub went_on_after_ms: Option<u64>,
    /// [`Struck::recovered_after_ms`] without the time in which the limit by the minute was used up, whatever had struck.
    pub recovered_beyond_limit_ms: Option<u64>,
}

impl Survived {
    fn of(evidence: &Evidence, struck: &Struck) -> Self {
        Self {
            struck: struck.clone(),
            went_on_after_ms: went_on_after(evidence, struck),
            recovered_beyond_limit_ms: recovered_after(evidence, struck),
        }
    }
}

/// Result of one seed.
#[derive(Debug, Clone, Serialize)]
pub struct SeedReport {
    /// The seed, which makes the same plan again.
    pub seed: u64,
    /// From submission to end, in seconds.
    pub took_s: f64,
    /// Faults that struck, in order.
    pub faults: Vec<Survived>,
    /// Sessions, and calls that were answered for them; those of judges are not among them.
    pub sessions: usize,
    /// See `sessions`.
    pub calls: u64,
    /// Calls beyond those of the undisturbed run, by cause.
    pub waste: Vec<Waste>,
    /// Two coordinators overlapped: one led while the one that had led was stopped or cut off, and alive.
    pub had_two_leaders: bool,
    /// Checks that failed; empty when the seed passed.
    pub findings: Vec<Finding>,
}

impl SeedReport {
    pub(crate) fn new(
        seed: u64,
        took: Duration,
        reference: &Reference,
        evidence: &Evidence,
        findings: Vec<Finding>,
    ) -> Self {
        let answered = evidence.books.iter().filter(|call| !call.was_refused && call.kind != CallKind::Judges);
        Self {
            seed,
            took_s: (took.as_secs_f64() * 10.0).round() / 10.0,
            faults: evidence.struck.iter().map(|struck| Survived::of(evidence, struck)).collect(),
            sessions: evidence.results.lines().count(),
            calls: answered.count() as u64,
            waste: by_cause(reference, evidence),
            had_two_leaders: evidence.struck.iter().any(|struck| struck.had_two_leaders),
            findings,
        }
    }

    /// `true` if every check held.
    #[must_use]
    pub const fn has_passed(&self) -> bool {
        self.findings.is_empty()
    }

    /// Calls beyond those of the undisturbed run.
    fn waste_calls(&self) -> u64 {
        self.waste.iter().map(|waste| waste.calls).sum()
    }

    /// One line.
    #[must_use]
    pub fn line(&self) -> String {
        let faults: Vec<&str> = self.faults.iter().map(|one| one.struck.fault.name()).collect();
        let verdict = if self.has_passed() { "passed" } else { "FAILED" };
        format!(
            "seed {} {verdict}: {} sessions, {} calls, {} of them waste, {:.0} s; {}",
            self.seed,
            self.sessions,
            self.calls,
            self.waste_calls(),
            self.took_s,
            faults.join(", ")
        )
    }
}

/// Results of all seeds.
#[derive(Debug, Clone, Serialize)]
pub struct Certificate {
    /// The version of the program.
    pub version: &'static str,
    /// Trials of every cell.
    pub trials: u16,
    /// Faults of each seed.
    pub faults_per_seed: usize,
    /// Reason for which there were no external agents; `None` if there were.
    pub without_agents: Option<&'static str>,
    /// Sessions and calls of the undisturbed run.
    pub sessions: usize,
    /// See `sessions`.
    pub calls: u64,
    /// Result of each seed.
    pub seeds: Vec<SeedReport>,
}

impl Certificate {
    pub(crate) fn new(options: &Options, workload: &Workload, seeds: Vec<SeedReport>) -> Self {
        Self {
            version: env!("CARGO_PKG_VERSION"),
            trials: options.trials,
            faults_per_seed: options.faults,
            without_agents: workload.agent.is_none().then_some("there is no python3 for the user that agents run as"),
            sessions: workload.both.results.lines().count(),
            calls: workload.both.calls(),
            seeds,
        }
    }

    /// `true` if every seed passed.
    #[must_use]
    pub fn has_passed(&self) -> bool {
        self.seeds.iter().all(SeedReport::has_passed)
    }

    /// As a person reads it.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from("# Crash certificate\n\n");
        let passed = self.seeds.iter().filter(|seed| seed.has_passed()).count();
        let faults: usize = self.seeds.iter().map(|seed| seed.faults.len()).sum();
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "Regatta {}. {passed} of {} seeds passed; {faults} faults struck a deployment of 2 coordinators, 3 workers and 2 scorers over \
             RabbitMQ, PostgreSQL and an S3 server, in sweeps of {} sessions and {} calls, not counting those of judges: single calls, \
             conversations, {} and, beside them, the batch lane. In {} seeds two coordinators overlapped. Passed means: the same \
             `results.jsonl` as one undisturbed process, one result an item, calls and money equal to the endpoint's books session by \
             session, nothing above budget, rate or concurrency, nothing left in queues, tables and the bucket, no slot held and nothing \
             reserved.\n",
            self.version,
            self.seeds.len(),
            self.sessions,
            self.calls,
            self.without_agents.map_or("external agents".to_owned(), |why| format!("no external agents ({why})")),
            self.seeds.iter().filter(|seed| seed.had_two_leaders).count(),
        );
        text.push_str(&self.by_fault());
        text.push_str(&self.by_seed());
        let findings = self.seeds.iter().flat_map(|seed| seed.findings.iter().map(move |finding| (seed.seed, finding)));
        for (number, (seed, finding)) in findings.enumerate() {
            if number == 0 {
                text.push_str("\n## What does not hold\n\n");
            }
            let _ = writeln!(text, "- seed {seed}, {}: {}: {}", finding.check, finding.item, finding.message);
        }
        text
    }

    fn by_fault(&self) -> String {
        let mut faults: BTreeMap<&str, OfFault> = BTreeMap::new();
        let ends = |seed: &SeedReport| !seed.findings.iter().any(|finding| finding.check == "end");
        let all = self.seeds.iter().flat_map(|seed| seed.faults.iter().map(move |one| (ends(seed), one)));
        for (has_ended, one) in all {
            let struck = &one.struck;
            let of_fault = faults.entry(struck.fault.name()).or_default();
            // Where nothing was left to do, nobody had to go on.
            if !(has_ended && one.went_on_after_ms.is_none()) {
                of_fault.went_on.push(one.went_on_after_ms);
            }
            of_fault.recoveries.push(one.recovered_beyond_limit_ms);
            of_fault.in_flight += struck.in_flight.calls.values().map(Vec::len).sum::<usize>();
        }
        for waste in self.seeds.iter().flat_map(|seed| &seed.waste) {
            let of_fault = faults.entry(waste.cause.map_or("no fault", |fault| fault.name())).or_default();
            of_fault.wasted += waste.calls;
            of_fault.nanodollars += waste.nanodollars;
        }
        let mut text = String::from(
            "| fault | times | went on after, median | worst | recovered after, median | worst | calls in flight that were cut off | \
             made again | dollars |\n\
             |---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
        );
        for (fault, OfFault { went_on, recoveries, in_flight, wasted, nanodollars }) in faults {
            let times = recoveries.len();
            let went_on = median_and_worst(went_on);
            let recovered = median_and_worst(recoveries);
            let _ = writeln!(
                text,
                "| {fault} | {times} | {went_on} | {recovered} | {in_flight} | {wasted} | {:.6} |",
                dollars(nanodollars)
            );
        }
        text
    }

    fn by_seed(&self) -> String {
        let mut text = String::from(
            "\n| seed | verdict | time | faults | two coordinators | waste, calls | waste, dollars |\n\
             |--:|---|--:|---|---|--:|--:|\n",
        );
        for seed in &self.seeds {
            let faults: Vec<&str> = seed.faults.iter().map(|one| one.struck.fault.name()).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} s | {} | {} | {} | {:.6} |",
                seed.seed,
                if seed.has_passed() { "passed" } else { "**failed**" },
                seed.took_s,
                faults.join(", "),
                if seed.had_two_leaders { "yes" } else { "" },
                seed.waste_calls(),
                dollars(seed.waste.iter().map(|waste| waste.nanodollars).sum())
            );
        }
        text
    }
}

/// All that one kind of fault did.
#[derive(Default)]
struct OfFault {
    went_on: Vec<Option<u64>>,
    recoveries: Vec<Option<u64>>,
    /// Calls that were cut off.
    in_flight: usize,
    /// Calls that were made again.
    wasted: u64,
    nanodollars: u64,
}

/// Two cells: the median of `times` and the worst of them, which is never where one is `None`.
fn median_and_worst(mut times: Vec<Option<u64>>) -> String {
    times.sort_by_key(|time| time.unwrap_or(u64::MAX));
    let told = |time: Option<&Option<u64>>| match time {
        Some(Some(ms)) => format!("{:.1} s", *ms as f64 / 1000.0),
        Some(None) => "never".to_owned(),
        None => "-".to_owned(),
    };
    format!("{} | {}", told(times.get(times.len().saturating_sub(1) / 2)), told(times.last()))
}

fn dollars(nanodollars: u64) -> f64 {
    nanodollars as f64 / 1e9
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::InFlight;
    use crate::plan::Fault;

    fn struck(fault: Fault, recovered_after_ms: Option<u64>, calls: usize) -> Struck {
        let calls = [("b/s/0/x".to_owned(), vec![7; calls])].into();
        let had_two_leaders = fault == Fault::PauseLeader;
        let in_flight = InFlight { calls, ..InFlight::default() };
        let target = "somebody".to_owned();
        Struck { fault, target, at_ms: 0, ended_ms: 0, recovered_after_ms, in_flight, had_two_leaders }
    }

    fn seed(seed: u64, faults: Vec<Struck>, waste: Vec<Waste>, findings: Vec<Finding>) -> SeedReport {
        let faults = faults.into_iter().map(|struck| {
            let recovered_beyond_limit_ms = struck.recovered_after_ms;
            Survived { struck, went_on_after_ms: Some(100), recovered_beyond_limit_ms }
        });
        let faults: Vec<Survived> = faults.collect();
        let had_two_leaders = faults.iter().any(|one| one.struck.had_two_leaders);
        SeedReport { seed, took_s: 40.0, faults, sessions: 3, calls: 7, waste, had_two_leaders, findings }
    }

    fn certificate(without_agents: Option<&'static str>) -> Certificate {
        let again = Waste { cause: Some(Fault::KillWorker), calls: 2, nanodollars: 1_500_000 };
        let first = vec![struck(Fault::KillWorker, Some(200), 4), struck(Fault::PauseLeader, Some(3_000), 0)];
        let second = vec![struck(Fault::KillWorker, None, 1)];
        let nobodys = Waste { cause: None, calls: 1, nanodollars: 1_000 };
        let finding =
            Finding { check: "calls", item: "b/s/0/y".to_owned(), message: "1 calls, and 2 undisturbed".to_owned() };
        let seeds = vec![seed(1, first, vec![again], Vec::new()), seed(2, second, vec![nobodys], vec![finding])];
        Certificate { version: "1", trials: 4, faults_per_seed: 2, without_agents, sessions: 3, calls: 5, seeds }
    }

    #[test]
    fn a_certificate_has_a_row_a_fault_with_its_waste_and_one_a_seed() {
        let text = certificate(None).markdown();
        let rows = [
            "| kill-worker | 2 | 0.1 s | 0.1 s | 0.2 s | never | 5 | 2 | 0.001500 |",
            "| no fault | 0 | - | - | - | - | 0 | 1 | 0.000001 |",
            "| pause-leader | 1 | 0.1 s | 0.1 s | 3.0 s | 3.0 s | 0 | 0 | 0.000000 |",
            "| 1 | passed | 40 s | kill-worker, pause-leader | yes | 2 | 0.001500 |",
            "| 2 | **failed** | 40 s | kill-worker |  | 1 | 0.000001 |",
            "- seed 2, calls: b/s/0/y: 1 calls, and 2 undisturbed",
        ];
        for row in rows {
            assert!(text.lines().any(|line| line == row), "{row} is not in {text}");
        }
        assert!(text.contains("1 of 2 seeds passed; 3 faults struck"), "{text}");
        assert!(text.contains("In 1 seeds two coordinators overlapped."), "{text}");
    }

    #[test]
    fn where_a_sweep_does_not_end_nobody_went_on_and_where_it_does_nothing_was_left_to_do() {
        let row = |findings| {
            let mut one = seed(1, vec![struck(Fault::KillLeader, Some(100), 0)], Vec::new(), findings);
            one.faults[0].went_on_after_ms = None;
            let text = Certificate { seeds: vec![one], ..certificate(None) }.markdown();
            text.lines().find(|line| line.starts_with("| kill-leader")).unwrap().to_owned()
        };
        let unended = Finding { check: "end", item: "sweep".to_owned(), message: "it is running".to_owned() };
        assert_eq!(row(vec![unended]), "| kill-leader | 1 | never | never | 0.1 s | 0.1 s | 0 | 0 | 0.000000 |");
        assert_eq!(row(Vec::new()), "| kill-leader | 1 | - | - | 0.1 s | 0.1 s | 0 | 0 | 0.000000 |");
    }

    #[test]
    fn a_certificate_says_whether_there_were_agents() {
        assert!(
            certificate(None).markdown().contains("conversations, external agents and, beside them, the batch lane")
        );
        let without = certificate(Some("there is no python3")).markdown();
        assert!(without.contains("conversations, no external agents (there is no python3) and"), "{without}");
    }
}
