//! The coverage study: writes the tables of `docs/statistics.md` anew. `cargo bench -p regatta-scorer --bench coverage`, a few minutes.
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

use self::study::{Coverage, Design, Method, Scores, Sizes, coverage};

/// Samples of each design and true value. Chance moves a coverage of 95 % by about 1.4 points (two standard errors).
const REPLICATIONS: u32 = 1000;
const MEANS: [f64; 5] = [0.5, 0.7, 0.9, 0.95, 0.99];
/// From here on a sample without a failure has its lower end below the true mean, in every design.
const NEAR_THE_END: f64 = 0.9;
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
                "simulated" => simulated::table(REPLICATIONS),
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
    let lines = Mutex::new(BTreeMap::new());
    // Every row has a seed of its own, so that it does not matter who draws it, and when.
    let work = || {
        while let Some(design) = designs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let at = designs.iter().position(|other| other == design).unwrap();
            let line = row(design, at as u64 + 1);
            println!("{line}");
            lines.lock().unwrap().insert(at, line);
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        (0..threads).for_each(|_| drop(scope.spawn(work)));
    });
    for line in lines.into_inner().unwrap().values() {
        writeln!(text, "{line}").unwrap();
    }
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
        let found = coverage(&design, mean, Method::ALL, REPLICATIONS, seed);
        let Design { items, clusters, .. } = design;
        write!(text, "| {} | {items} | {clusters} | {} | {mean} |", design.scores, design.sizes).unwrap();
        for Coverage { covered, width, .. } in found {
            write!(text, " {:.1} ({width:.2}) |", covered * 100.0).unwrap();
        }
        text.push('\n');
    }
    text
}

fn row(design: &Design, seed: u64) -> String {
    let Design { scores, clusters, items, sizes, alikeness, missing } = design;
    let missing = missing * 100.0;
    let mut line = format!("| {scores} | {items} | {clusters} | {sizes} | {alikeness} | {missing:.0} % |");
    for mean in MEANS {
        let [printed, student] = coverage(design, mean, [Method::Printed, Method::Student], REPLICATIONS, seed);
        let of = |coverage: &Coverage| coverage.covered * 100.0;
        write!(line, " **{:.1}**{} ({:.0}) |", of(&printed), reason(design, mean, &printed), of(&student)).unwrap();
    }
    line
}

/// Why a coverage lies outside of what was asked for.
fn reason(design: &Design, mean: f64, found: &Coverage) -> &'static str {
    match found.covered {
        covered if HELD.contains(&covered) => "",
        covered if covered < *HELD.start() => " d",
        _ if design.missing > 0.0 => " c",
        _ if found.above == 0.0 && mean >= NEAR_THE_END => " a",
        _ => " b",
    }
}
