//! The long form of what tests check in short: coverage of the sequences, the rate of wrong answers, and the savings of adaptive sweeps.
//! Writes the tables of `docs/adaptive.md`; equal seeds give equal bytes, whatever the number of threads and of shares.
//!
//! Names of tables are those that are made (`coverage`, `decisions`; both without any). `--share 2/5` plays the second fifth of the sweeps of each
//! row; the table is written with the last share. A share that was ended goes on after its last row. `--threads 1` leaves the other cores to others.
//! What was played is kept in `tmp/sequences` of cargo's target directory until its table is written: after a change of what is computed, delete it.
#![expect(
    clippy::print_stdout,
    clippy::expect_used,
    reason = "a study prints what it finds, and fails where it cannot go on"
)]

use std::num::NonZero;
use std::path::{Path, PathBuf};

use regatta_deciding::simulation::{Form, Played, Population, play};
use regatta_deciding::{Contest, Estimand, Over, Question, Relation, Rules, State, Track, UnitScore};
use serde::{Deserialize, Serialize};

/// Simulated sweeps of a row, unless `REGATTA_SWEEPS` says another number.
const SWEEPS: u64 = 1000;
/// Samples of the fixed design that an adaptive one is compared with.
const FIXED: u64 = 400;
/// Quantile of the normal distribution at 1 − 0.05 / (2 · 4): the fixed design's tests are corrected over the four others too.
const CRITICAL: f64 = 2.497_705;

fn main() {
    let sweeps = std::env::var("REGATTA_SWEEPS").ok().and_then(|count| count.parse().ok()).unwrap_or(SWEEPS);
    let mut threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let (mut share, mut names) = (Share { which: 0, of: 1 }, Vec::new());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--share" => share = arguments.next().as_deref().and_then(Share::read).expect("a share is written as 2/5"),
            "--threads" => {
                let count = arguments.next().and_then(|count| count.parse::<usize>().ok()).filter(|count| *count > 0);
                threads = count.expect("--threads has a number above 0");
            }
            // Cargo's own.
            flag if flag.starts_with('-') => {}
            name => names.push(name.to_owned()),
        }
    }
    for table in [COVERAGE, DECISIONS] {
        if names.is_empty() || names.iter().any(|name| name == table.name) {
            table.make(sweeps, share, threads);
        }
    }
}

/// Sweeps of every row that are played together: of so many shares, the one of this number, from 0.
#[derive(Debug, Clone, Copy)]
struct Share {
    which: u64,
    of: u64,
}

impl Share {
    /// Reads "2/5".
    fn read(text: &str) -> Option<Self> {
        let (which, of) = text.split_once('/')?;
        let (which, of): (u64, u64) = (which.parse().ok()?, of.parse().ok()?);
        (1..=of).contains(&which).then(|| Self { which: which - 1, of })
    }

    fn has(self, seed: u64) -> bool {
        seed % self.of == self.which
    }
}

/// A row of a table before it is played.
struct Case {
    /// First columns of the row.
    labels: String,
    contest: Contest,
    population: Population,
}

/// Results of one sweep.
struct Ended {
    is_wrong: bool,
    is_decided: bool,
    sessions: u64,
}

/// Results of sweeps of one row.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Tally {
    wrong: u64,
    decided: u64,
    /// Sessions of each sweep.
    sessions: Vec<u64>,
}

impl Tally {
    fn add(&mut self, ended: &Ended) {
        self.wrong += u64::from(ended.is_wrong);
        self.decided += u64::from(ended.is_decided);
        self.sessions.push(ended.sessions);
    }

    fn and(mut self, other: &Self) -> Self {
        self.wrong += other.wrong;
        self.decided += other.decided;
        self.sessions.extend(&other.sessions);
        self
    }

    fn sweeps(&self) -> f64 {
        self.sessions.len() as f64
    }
}

/// A table of the page.
struct Table {
    name: &'static str,
    head: &'static str,
    cases: fn() -> Vec<Case>,
    /// Plays the sweep of a seed.
    sweep: fn(&Case, u64) -> Ended,
    /// The columns after the labels.
    columns: fn(&Case, &Tally) -> String,
}

const COVERAGE: Table = Table {
    name: "coverage",
    head: "| scores | clusters | sizes | alike | sequences | all of them hold, % |\n\
           | --- | ---: | --- | ---: | --- | ---: |\n",
    cases: coverage,
    sweep: covered,
    columns: |_, tally| format!("{:.1}", 100.0 * (tally.sweeps() - tally.wrong as f64) / tally.sweeps()),
};

const DECISIONS: Table = Table {
    name: "decisions",
    head: "| true values | question | items | clusters | over | wrong, % | decided, % | sessions of the grid, median % | 90 % | of a fixed design of equal power, % |\n\
           | --- | --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |\n",
    cases: decisions,
    sweep: decided,
    columns: costs,
};

impl Table {
    /// Plays a share of the sweeps of each row, and writes the table once all shares have been played.
    fn make(&self, sweeps: u64, share: Share, threads: usize) {
        let cases = (self.cases)();
        let mut tallies = read(&self.kept(sweeps, share));
        for case in cases.iter().skip(tallies.len()) {
            let tally = self.play(case, sweeps, share, threads);
            println!("{}: {} of {} sweeps wrong, {} decided", case.labels, tally.wrong, tally.sweeps(), tally.decided);
            tallies.push(tally);
            keep(&self.kept(sweeps, share), &tallies);
        }
        let paths = (0..share.of).map(|which| self.kept(sweeps, Share { which, ..share }));
        let paths: Vec<PathBuf> = paths.collect();
        let shares: Vec<Vec<Tally>> = paths.iter().map(|path| read(path)).collect();
        if shares.iter().any(|tallies| tallies.len() < cases.len()) {
            return println!("{}: written once its other shares have been played", self.name);
        }
        let mut text = self.head.to_owned();
        for (at, case) in cases.iter().enumerate() {
            let tally = shares.iter().fold(Tally::default(), |sum, tallies| sum.and(&tallies[at]));
            text += &format!("| {} | {} |\n", case.labels, (self.columns)(case, &tally));
        }
        print!("{text}");
        write(self.name, &text);
        paths.iter().for_each(|path| std::fs::remove_file(path).expect("what was kept can be deleted"));
    }

    fn play(&self, case: &Case, sweeps: u64, share: Share, threads: usize) -> Tally {
        let part = |first: usize| {
            let mut tally = Tally::default();
            let seeds = (0..sweeps).filter(|seed| share.has(*seed)).skip(first).step_by(threads);
            seeds.for_each(|seed| tally.add(&(self.sweep)(case, seed)));
            tally
        };
        std::thread::scope(|scope| {
            let part = &part;
            let threads: Vec<_> = (0..threads).map(|first| scope.spawn(move || part(first))).collect();
            let parts = threads.into_iter().map(|thread| thread.join().expect("a sweep can be played"));
            parts.fold(Tally::default(), |sum, part| sum.and(&part))
        })
    }

    /// The file of the rows of a share.
    fn kept(&self, sweeps: u64, share: Share) -> PathBuf {
        let name = format!("{}-{sweeps}-{}-of-{}.json", self.name, share.which + 1, share.of);
        Path::new(env!("CARGO_TARGET_TMPDIR")).join("sequences").join(name)
    }
}

/// Rows that were played before.
fn read(path: &Path) -> Vec<Tally> {
    let Ok(text) = std::fs::read_to_string(path) else { return Vec::new() };
    serde_json::from_str(&text).expect("what was kept can be read")
}

/// Replaces the file, so that whoever ends the study at any time leaves whole rows.
fn keep(path: &Path, tallies: &[Tally]) {
    let text = serde_json::to_string(tallies).expect("numbers are JSON");
    let unfinished = path.with_extension("unfinished");
    std::fs::create_dir_all(path.parent().expect("it is in a directory")).expect("the directory can be made");
    std::fs::write(&unfinished, text).expect("a row can be kept");
    std::fs::rename(&unfinished, path).expect("a row can be kept");
}

fn write(name: &str, table: &str) {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/adaptive.md");
    let Ok(text) = std::fs::read_to_string(&page) else { return };
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("\n<!-- end of {name} -->"));
    let Some((before, rest)) = text.split_once(&begin) else { return };
    let Some((_, after)) = rest.split_once(&end) else { return };
    std::fs::write(page, format!("{before}{begin}\n{table}{end}{after}")).expect("the page can be written");
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

fn coverage() -> Vec<Case> {
    let mut cases = Vec::new();
    for (form, name) in [(Form::Binary, "right or wrong"), (Form::Bounded, "shares")] {
        for (shape, units, alike) in
            [("alone", 200, 0.0), ("alone", 1000, 0.0), ("1 to 9", 50, 0.3), ("1 to 9", 250, 0.3)]
        {
            for (question, asked) in [(Question::Ranking, "10 differences"), (Question::Interval, "5 values")] {
                cases.push(Case {
                    labels: format!("{name} | {units} | {shape} | {alike} | {asked}"),
                    contest: contest(sizes(shape, units), question, 0.0),
                    population: population([0.9, 0.7, 0.7, 0.68, 0.4], form, alike),
                });
            }
        }
    }
    cases
}

/// Plays a sweep that is wrong if any of its sequences is.
fn covered(case: &Case, seed: u64) -> Ended {
    let Case { contest, population, .. } = case;
    let Played { path, sessions } = play(contest, &population.grid(contest, seed));
    let holds = |track: &Track| track.interval.contains(true_value(population, track.estimand));
    Ended {
        is_wrong: !path.tracks.iter().all(holds),
        is_decided: path.state == State::Decided,
        sessions: sessions.iter().sum(),
    }
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

fn decisions() -> Vec<Case> {
    let mut cases = Vec::new();
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
                    let items: u32 = contest.sizes.iter().sum();
                    let labels = format!("{name} | {asked} | {items} | {shape} | {shown}");
                    cases.push(Case { labels, contest, population });
                }
            }
        }
    }
    cases
}

/// Plays a sweep that is wrong if anything that it says is.
fn decided(case: &Case, seed: u64) -> Ended {
    let Case { contest, population, .. } = case;
    let grid = population.grid(contest, seed);
    // The true means over the grid are those of all its items.
    let items = grid_sessions(contest) as f64 / 5.0;
    let means: Vec<f64> = match contest.over {
        Over::NewItems => population.means.clone(),
        Over::Grid => grid.iter().map(|of| of[0].iter().map(|unit| unit.low).sum::<f64>() / items).collect(),
    };
    let played = play(contest, &grid);
    Ended {
        is_wrong: is_wrong(contest, &means, &played),
        is_decided: played.path.state == State::Decided,
        sessions: played.sessions.iter().sum(),
    }
}

/// Sessions of the whole grid.
fn grid_sessions(contest: &Contest) -> u64 {
    contest.sizes.iter().map(|size| u64::from(*size)).sum::<u64>() * 5
}

/// Wrong and decided sweeps, median and ninth decile of the sessions over those of the grid, and the median over the sessions of a fixed design that
/// decides as often.
fn costs(Case { contest, population, .. }: &Case, tally: &Tally) -> String {
    let all = grid_sessions(contest) as f64;
    let mut parts: Vec<f64> = tally.sessions.iter().map(|sessions| *sessions as f64 / all).collect();
    parts.sort_by(f64::total_cmp);
    let (median, most) = (parts[parts.len() / 2], parts[parts.len() * 9 / 10]);
    let decided = tally.decided as f64 / tally.sweeps();
    let fixed = (contest.over == Over::NewItems && contest.question == Question::Best && decided > 0.05)
        .then(|| fixed_units(contest, population, decided.min(0.99)))
        .flatten();
    let of_fixed = fixed.map(|units| median * contest.sizes.len() as f64 / units as f64);
    let of_fixed = of_fixed.map_or_else(|| "–".to_owned(), |part| format!("{:.0}", 100.0 * part));
    format!(
        "{:.1} | {:.0} | {:.0} | {:.0} | {of_fixed}",
        100.0 * tally.wrong as f64 / tally.sweeps(),
        100.0 * decided,
        100.0 * median,
        100.0 * most
    )
}

/// `true` if any answer of the simulated sweep is wrong.
fn is_wrong(contest: &Contest, means: &[f64], played: &Played) -> bool {
    let path = &played.path;
    let best = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let is_untrue = |track: &Track| {
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
