//! The long form of what tests check in short: coverage of the sequences, the rate of wrong answers, and the savings of adaptive sweeps.
//! Writes the tables of `docs/adaptive.md`; equal seeds give equal bytes.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a study prints what it finds, and fails where it cannot go on"
)]

use std::path::Path;

use regatta_deciding::simulation::{Form, Played, Population, play};
use regatta_deciding::{Contest, Estimand, Over, Question, Relation, Rules, State, UnitScore};

/// Simulated sweeps of a row, unless `REGATTA_SWEEPS` says another number.
const SWEEPS: u64 = 1000;
/// Samples of the fixed design that an adaptive one is compared with.
const FIXED: u64 = 400;
/// Quantile of the normal distribution at 1 − 0.05 / (2 · 4): the fixed design's tests are corrected over the four others too.
const CRITICAL: f64 = 2.497_705;

fn main() {
    let sweeps = std::env::var("REGATTA_SWEEPS").ok().and_then(|count| count.parse().ok()).unwrap_or(SWEEPS);
    let wanted = |name: &str| {
        let mut names = std::env::args().skip(1).filter(|argument| !argument.starts_with('-')).peekable();
        names.peek().is_none() || names.any(|argument| argument == name)
    };
    for (name, table) in [("coverage", coverage as fn(u64) -> String), ("decisions", decisions)] {
        if wanted(name) {
            let text = table(sweeps);
            write(name, &text);
        }
    }
}

fn write(name: &str, table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/adaptive.md");
    let Ok(text) = std::fs::read_to_string(&page) else { return };
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("\n<!-- end of {name} -->"));
    let Some((before, rest)) = text.split_once(&begin) else { return };
    let Some((_, after)) = rest.split_once(&end) else { return };
    std::fs::write(page, format!("{before}{begin}\n{table}{end}{after}")).expect("the page can be written");
}

/// Adds a row and prints it at once, because the next one may take a minute.
fn add(table: &mut String, row: String) {
    println!("{row}");
    table.push_str(&row);
    table.push('\n');
}

fn contest(sizes: Vec<u32>, question: Question, margin: f64) -> Contest {
    Contest {
        sizes,
        contestants: 5,
        first_trials: 1,
        most_trials: 1,
        question,
        margin,
        level: 0.05,
        rounds: 20,
        over: Over::NewItems,
        rules: Rules::NOW,
    }
}

fn population(means: [f64; 5], form: Form, of_cluster: f64) -> Population {
    Population { means: means.to_vec(), form, of_cluster, of_item: 0.4, of_contestant: 0.1, missing: 0.0 }
}

fn sizes(name: &str, units: usize) -> Vec<u32> {
    match name {
        "alone" => vec![1; units],
        _ => (0..units).map(|unit| [1, 2, 3, 5, 9][unit % 5]).collect(),
    }
}

fn coverage(sweeps: u64) -> String {
    let mut out = String::from(
        "| scores | clusters | sizes | alike | sequences | all of them hold, % |\n| --- | ---: | --- | ---: | --- | ---: |\n",
    );
    for (form, name) in [(Form::Binary, "right or wrong"), (Form::Bounded, "shares")] {
        for (shape, units, alike) in
            [("alone", 200, 0.0), ("alone", 1000, 0.0), ("1 to 9", 50, 0.3), ("1 to 9", 250, 0.3)]
        {
            for (question, asked) in [(Question::Ranking, "10 differences"), (Question::Interval, "5 values")] {
                let contest = contest(sizes(shape, units), question, 0.0);
                let population = population([0.9, 0.7, 0.7, 0.68, 0.4], form, alike);
                let holds = |seed: &u64| {
                    let tracks = play(&contest, &population.grid(&contest, *seed)).path.tracks;
                    tracks.iter().all(|track| track.interval.contains(true_value(&population, track.estimand)))
                };
                let held = (0..sweeps).filter(holds).count();
                add(
                    &mut out,
                    format!(
                        "| {name} | {units} | {shape} | {alike} | {asked} | {:.1} |",
                        100.0 * held as f64 / sweeps as f64
                    ),
                );
            }
        }
    }
    out
}

fn true_value(population: &Population, estimand: Estimand) -> f64 {
    match estimand {
        Estimand::Mean(one) => population.means[one],
        Estimand::Difference(one, other) => population.means[one] - population.means[other],
    }
}

const SCENARIOS: [(&str, [f64; 5]); 6] = [
    ("5 pp apart", [0.8, 0.75, 0.7, 0.65, 0.6]),
    ("best by 5 pp, others equal", [0.75, 0.7, 0.7, 0.7, 0.7]),
    ("10 pp apart", [0.9, 0.8, 0.7, 0.6, 0.5]),
    ("best by 10 pp, others equal", [0.8, 0.7, 0.7, 0.7, 0.7]),
    ("near ties: 1 pp", [0.71, 0.7, 0.7, 0.69, 0.69]),
    ("nothing differs", [0.7; 5]),
];

fn decisions(sweeps: u64) -> String {
    let mut out = String::from(
        "| true values | question | items | clusters | over | wrong, % | decided, % | sessions of the grid, median % | 90 % | of a fixed design of equal power, % |\n\
         | --- | --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    );
    for (name, means) in SCENARIOS {
        for (question, asked) in
            [(Question::Best, "best"), (Question::Ranking, "ranking"), (Question::Against(0), "against")]
        {
            for (units, shape) in [(200, "alone"), (1000, "alone"), (250, "1 to 9")] {
                for (over, shown) in [(Over::NewItems, "new items"), (Over::Grid, "grid")] {
                    let is_main = question == Question::Best || (units == 1000 && over == Over::NewItems);
                    if !is_main {
                        continue;
                    }
                    let contest = Contest { over, ..contest(sizes(shape, units), question, 0.02) };
                    let population = population(means, Form::Binary, if shape == "alone" { 0.0 } else { 0.2 });
                    let row = study(&contest, &population, sweeps);
                    let items: u32 = contest.sizes.iter().sum();
                    let fixed = row.of_fixed.map_or_else(|| "–".to_owned(), |part| format!("{:.0}", 100.0 * part));
                    add(
                        &mut out,
                        format!(
                            "| {name} | {asked} | {items} | {shape} | {shown} | {:.1} | {:.0} | {:.0} | {:.0} | {fixed} |",
                            100.0 * row.wrong,
                            100.0 * row.decided,
                            100.0 * row.median,
                            100.0 * row.most
                        ),
                    );
                }
            }
        }
    }
    out
}

struct Row {
    wrong: f64,
    decided: f64,
    /// Sessions over those of the grid.
    median: f64,
    most: f64,
    /// Median of the sessions over those of a fixed design that decides as often; `None` where none does.
    of_fixed: Option<f64>,
}

fn study(contest: &Contest, population: &Population, sweeps: u64) -> Row {
    let all: u64 = contest.sizes.iter().map(|size| u64::from(*size)).sum::<u64>() * 5;
    let (mut wrong, mut decided, mut sessions) = (0, 0, Vec::new());
    for seed in 0..sweeps {
        let grid = population.grid(contest, seed);
        // The true means over the grid are those of all its items.
        let items = all as f64 / 5.0;
        let means: Vec<f64> = match contest.over {
            Over::NewItems => population.means.clone(),
            Over::Grid => grid.iter().map(|of| of[0].iter().map(|unit| unit.low).sum::<f64>() / items).collect(),
        };
        let played = play(contest, &grid);
        wrong += u64::from(is_wrong(contest, &means, &played));
        decided += u64::from(played.path.state == State::Decided);
        sessions.push(played.sessions.iter().sum::<u64>() as f64 / all as f64);
    }
    sessions.sort_by(f64::total_cmp);
    let (median, decided) = (sessions[sessions.len() / 2], decided as f64 / sweeps as f64);
    let fixed = (contest.over == Over::NewItems && contest.question == Question::Best && decided > 0.05)
        .then(|| fixed_units(contest, population, decided.min(0.99)))
        .flatten();
    Row {
        wrong: wrong as f64 / sweeps as f64,
        decided,
        median,
        most: sessions[sessions.len() * 9 / 10],
        of_fixed: fixed.map(|units| median * contest.sizes.len() as f64 / units as f64),
    }
}

/// `true` if any answer of the simulated sweep is wrong.
fn is_wrong(contest: &Contest, means: &[f64], played: &Played) -> bool {
    let path = &played.path;
    let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_untrue = |track: &regatta_deciding::Track| {
        let Estimand::Difference(one, other) = track.estimand else { return false };
        let difference = means[one] - means[other];
        match track.relation {
            Relation::Greater => difference <= 0.0,
            Relation::Less => difference >= 0.0,
            Relation::Equivalent => difference.abs() > contest.margin + 1e-9,
            Relation::Open | Relation::Narrow => false,
        }
    };
    match contest.question {
        Question::Best => {
            path.winner.is_some_and(|winner| means[winner] < best - contest.margin - 1e-9)
                || !path.candidates.iter().any(|one| means[*one] == best)
        }
        Question::Ranking | Question::Against(_) | Question::Interval => path.tracks.iter().any(is_untrue),
    }
}

/// Number of units with which a fixed design finds the best contestant, or one within the margin of it, with probability `power`: by paired
/// normal tests, corrected over the other contestants.
fn fixed_units(contest: &Contest, population: &Population, power: f64) -> Option<usize> {
    let base = contest.sizes.len();
    let large = Contest { sizes: contest.sizes.iter().copied().cycle().take(4 * base).collect(), ..contest.clone() };
    let candidates: Vec<usize> = (1..=80).map(|step| base * step / 20).filter(|units| *units >= 10).collect();
    let mut found = vec![0_u64; candidates.len()];
    for seed in 0..FIXED {
        let grid = population.grid(&large, 1_000_000 + seed);
        let pairs: Vec<Vec<Sums>> = (0..25).map(|pair| sums(&large, &grid[pair / 5][0], &grid[pair % 5][0])).collect();
        for (at, units) in candidates.iter().enumerate() {
            let wins = |one: usize| {
                let beats = |other: usize| {
                    let Sums { items, squares, difference, difference_squares, product } =
                        pairs[one * 5 + other][units - 1];
                    let mean = difference / items;
                    let spread = difference_squares - 2.0 * mean * product + mean * mean * squares;
                    mean - CRITICAL * spread.max(0.0).sqrt() / items >= -contest.margin
                };
                (0..5).filter(|other| *other != one).all(beats)
            };
            found[at] += u64::from((0..5).any(wins));
        }
    }
    let enough = found.iter().position(|count| *count as f64 / FIXED as f64 >= power)?;
    Some(candidates[enough])
}

/// Sums over the first units of sizes, differences, their squares and products.
#[derive(Clone, Copy, Default)]
struct Sums {
    items: f64,
    squares: f64,
    difference: f64,
    difference_squares: f64,
    product: f64,
}

fn sums(contest: &Contest, one: &[UnitScore], other: &[UnitScore]) -> Vec<Sums> {
    let mut sum = Sums::default();
    let add = |((size, one), other): ((&u32, &UnitScore), &UnitScore)| {
        let (size, difference) = (f64::from(*size), one.low - other.low);
        sum.items += size;
        sum.squares += size * size;
        sum.difference += difference;
        sum.difference_squares += difference * difference;
        sum.product += difference * size;
        sum
    };
    contest.sizes.iter().zip(one).zip(other).map(add).collect()
}
