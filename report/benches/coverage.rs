//! The coverage study: writes the tables of `docs/statistics.md` anew. `cargo bench -p regatta-report --bench coverage`, a few minutes.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a study that cannot go on has failed, and says how far it is"
)]

mod simulated;
mod study;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use self::study::{Coverage, Design, Method, Scores, Sizes, attainable, coverage, values};

/// Samples of each design and true value. Chance moves a coverage of 95 % by about 0.3 points (two standard errors).
const REPLICATIONS: u32 = 20_000;
/// The same where the simulator is drawn from, or methods take resamples.
const SLOW_REPLICATIONS: u32 = 1000;
const MEANS: [f64; 5] = [0.5, 0.7, 0.9, 0.95, 0.99];
/// Coverage that needs no explanation.
const HELD: std::ops::RangeInclusive<f64> = 0.93..=0.97;

fn main() {
    // A test run that includes benches only checks that this one can be built.
    if !std::env::args().any(|argument| argument == "--bench") {
        return;
    }
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/statistics.md");
    let mut text = std::fs::read_to_string(&page).unwrap();
    // A word behind it draws the one table of that name.
    let wanted: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    for name in ["simulated", "synthetic", "alternatives"] {
        if wanted.is_empty() || wanted.iter().any(|wanted| wanted == name) {
            let table = match name {
                "simulated" => simulated::table(SLOW_REPLICATIONS),
                "synthetic" => synthetic(),
                _ => alternatives(),
            };
            replace(&mut text, name, &table);
        }
    }
    std::fs::write(&page, text).unwrap();
}

/// Puts `table` between the marks of `name`.
fn replace(text: &mut String, name: &str, table: &str) {
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- end of {name} -->"));
    let from = text.find(&begin).unwrap() + begin.len();
    let to = text.find(&end).unwrap();
    text.replace_range(from..to, &format!("\n{table}\n"));
}

fn designs() -> Vec<Design> {
    let mut all = Vec::new();
    for scores in [Scores::Binary, Scores::Shares] {
        let base = Design { scores, clusters: 20, items: 20, sizes: Sizes::Equal, alikeness: 0.0, missing: 0.0 };
        all.push(base);
        for (clusters, items) in [(10, 50), (10, 200), (30, 300), (100, 400)] {
            for sizes in [Sizes::Equal, Sizes::Lognormal] {
                for alikeness in [0.0, 0.1, 0.3] {
                    all.push(Design { clusters, items, sizes, alikeness, ..base });
                }
            }
        }
        all.push(Design { clusters: 30, items: 300, alikeness: 0.1, missing: 0.05, ..base });
        all.push(Design { clusters: 30, items: 300, alikeness: 0.1, missing: 0.15, ..base });
    }
    let close = Design { scores: Scores::Close, ..all[0] };
    all.extend([close, Design { clusters: 100, items: 100, ..close }]);
    all
}

fn synthetic() -> String {
    let mut text = String::from("| scores | items | clusters | sizes | alike | missing |");
    MEANS.iter().for_each(|mean| write!(text, " {mean} |").unwrap());
    text += "\n| --- | ---: | ---: | --- | ---: | ---: |";
    text += &" ---: |".repeat(MEANS.len());
    text.push('\n');
    let designs = designs();
    let next = AtomicUsize::new(0);
    let rows = Mutex::new(BTreeMap::new());
    // Every row has a seed of its own, so that it does not matter who draws it, and when.
    let work = || {
        while let Some(design) = designs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = designs.iter().position(|other| other == design).unwrap();
            let cells = MEANS.map(|mean| Cell::of(design, mean, at as u64 + 1));
            let line = line(design, &cells);
            println!("{line}");
            rows.lock().unwrap().insert(at, (line, cells));
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    let rows = rows.into_inner().unwrap();
    for (line, _) in rows.values() {
        writeln!(text, "{line}").unwrap();
    }
    let cells: Vec<&Cell> = rows.values().flat_map(|(_, cells)| cells).collect();
    writeln!(text, "\n{}", summary(&cells)).unwrap();
    text
}

/// Designs in which the printed interval falls shortest, each with a mean.
fn shortest() -> Vec<(Design, f64)> {
    let base =
        Design { scores: Scores::Binary, clusters: 30, items: 300, sizes: Sizes::Equal, alikeness: 0.3, missing: 0.0 };
    let shares = Design { scores: Scores::Shares, ..base };
    vec![
        (base, 0.95),
        (Design { clusters: 100, items: 400, sizes: Sizes::Lognormal, ..base }, 0.95),
        (Design { clusters: 10, items: 200, ..shares }, 0.9),
        (shares, 0.9),
        (Design { clusters: 100, items: 400, ..shares }, 0.99),
    ]
}

fn alternatives() -> String {
    let mut text = String::from(
        "| scores | items | clusters | sizes | mean | printed | Student | Hall | bootstrap-t | of log-odds |\n\
         | --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for ((design, mean), seed) in shortest().into_iter().zip(1..) {
        let found = coverage(&design, mean, Method::ALL, SLOW_REPLICATIONS, seed);
        let Design { items, clusters, .. } = design;
        write!(text, "| {} | {items} | {clusters} | {} | {mean} |", design.scores, design.sizes).unwrap();
        for Coverage { covered, width, .. } in found {
            write!(text, " {:.1} ({width:.2}) |", covered * 100.0).unwrap();
        }
        text.push('\n');
    }
    text
}

/// Reason why a coverage lies outside of the tolerated range, with the figure that shows it.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Reason {
    /// No interval that looks at the value has a coverage between these two.
    Unattainable(f64, f64),
    /// Wilson's interval of who knows the variance would cover so often.
    Unknown(f64),
    /// Were it not widened for what is missing, it would cover so often.
    Widened(f64),
}

/// The coverage in one design at one true mean.
#[derive(Debug, Clone, Copy)]
struct Cell {
    printed: f64,
    student: f64,
    /// Absent where the coverage needs none.
    reason: Option<Reason>,
}

impl Cell {
    fn of(design: &Design, mean: f64, seed: u64) -> Self {
        let [printed, student] = coverage(design, mean, [Method::Printed, Method::Student], REPLICATIONS, seed)
            .map(|coverage| coverage.covered);
        // Of the same samples, whose seed it is.
        let covered = |method| coverage(design, mean, [method], REPLICATIONS, seed).map(|coverage| coverage.covered)[0];
        let reason = || {
            if design.missing > 0.0 {
                return Reason::Widened(covered(Method::NotWidened));
            }
            match attainable(values(design, mean, REPLICATIONS, seed), mean, &HELD) {
                Some((below, above)) => Reason::Unattainable(below, above),
                None => Reason::Unknown(covered(Method::Known)),
            }
        };
        Self { printed, student, reason: (!HELD.contains(&printed)).then(reason) }
    }
}

fn line(design: &Design, cells: &[Cell]) -> String {
    let Design { scores, clusters, items, sizes, alikeness, missing } = design;
    let missing = missing * 100.0;
    let mut line = format!("| {scores} | {items} | {clusters} | {sizes} | {alikeness} | {missing:.0} % |");
    for Cell { printed, student, reason } in cells {
        let mark = match reason {
            None => String::new(),
            Some(Reason::Unattainable(below, above)) => format!(" a {:.1}/{:.1}", below * 100.0, above * 100.0),
            Some(Reason::Unknown(known)) => format!(" b {:.1}", known * 100.0),
            Some(Reason::Widened(not_widened)) => format!(" c {:.1}", not_widened * 100.0),
        };
        write!(line, " **{:.1}**{mark} ({:.0}) |", printed * 100.0, student * 100.0).unwrap();
    }
    line
}

/// Number of cells that lie outside, by reason.
fn summary(cells: &[&Cell]) -> String {
    let count = |is: &dyn Fn(&Reason) -> bool| cells.iter().filter(|cell| cell.reason.as_ref().is_some_and(is)).count();
    let [unattainable, unknown, widened] = [
        count(&|reason| matches!(reason, Reason::Unattainable(..))),
        count(&|reason| matches!(reason, Reason::Unknown(_))),
        count(&|reason| matches!(reason, Reason::Widened(_))),
    ];
    let least = cells.iter().map(|cell| cell.printed).fold(1.0, f64::min);
    let short = cells.iter().filter(|cell| cell.printed < *HELD.start()).count();
    let student = cells.iter().filter(|cell| !HELD.contains(&cell.student)).count();
    format!(
        "Of {} cells {} lie outside 93 to 97: {unattainable} with the mark a, {unknown} with b, {widened} with c. Below 93 are {short}, and \
         the least is {:.1}. Of Student's {student} lie outside.",
        cells.len(),
        unattainable + unknown + widened,
        least * 100.0
    )
}
