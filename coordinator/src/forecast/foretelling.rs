//! The cost at the end of a sweep, of sums over its sessions. Knows neither ledger nor sweep.

use std::collections::BTreeMap;

use regatta_proto::{CostSum, Level, ModelRef, Money};

use super::{Forecast, Foretold};

/// A forecast is made once this part of the sessions is measured, ...
const PART_MIN: f64 = 0.01;
/// ... and at least so many of each model that still has sessions to run, and of each model in each setting that a paid judge still has to judge.
pub(super) const SESSIONS_MIN: u64 = 8;
/// Newton's steps at most towards a normal quantile; the farthest that a level asks for takes ten.
const STEPS: u32 = 50;

/// Sums over the known costs of the sessions of a model at a task of a setting, over all trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct GroupCosts<'a> {
    /// The model.
    pub(super) model: &'a ModelRef,
    /// Number of sessions.
    pub(super) sessions: u64,
    /// Number of sessions whose cost is known.
    pub(super) seen: u64,
    /// Number of sessions that are still to be run, or under way.
    pub(super) left: u64,
    /// `true` if everybody who is paid for a session has a price.
    pub(super) is_priced: bool,
    /// Sum of the known costs in nanodollars.
    pub(super) sum: f64,
    /// Sum of the squares of the known costs.
    pub(super) squares: f64,
}

impl<'a> GroupCosts<'a> {
    /// No sessions of `model`.
    pub(super) const fn of(model: &'a ModelRef) -> Self {
        Self { model, sessions: 0, seen: 0, left: 0, is_priced: true, sum: 0.0, squares: 0.0 }
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.sessions += other.sessions;
        self.seen += other.seen;
        self.left += other.left;
        self.is_priced &= other.is_priced;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    fn mean(&self) -> f64 {
        self.sum / self.seen as f64
    }

    /// Variance of a session's cost about the mean.
    fn spread(&self) -> f64 {
        let (n, mean) = (self.seen as f64, self.mean());
        ((self.squares - n * mean * mean) / (n - 1.0)).max(0.0)
    }
}

/// Sessions and bill of a judge that is paid.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct JudgedCosts {
    /// Number of sessions of the benchmarks whose judge it is.
    pub(super) sessions: u64,
    /// Number of these that have a score.
    pub(super) scored: u64,
    /// Number of these that are still to be run or judged.
    pub(super) left: u64,
    /// `true` if enough sessions of every model and setting have a score that has some left.
    pub(super) is_known: bool,
    /// Largest number of sessions that are left for one that has a score, over models and settings.
    pub(super) left_for_one: f64,
    /// Bill so far, in nanodollars.
    pub(super) nanos: f64,
}

/// Money so far.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Spent {
    /// Of all attempts, those included that were repeated or lost.
    pub(super) by_agents: CostSum,
    /// Of all judges.
    pub(super) by_judges: CostSum,
}

/// Foretells the end of a sweep of these groups and judges. `None` while hardly anything is known, where a call has an unknown price or those of
/// what is left may have one, and once no session is left to run or to judge.
///
/// The sessions that are left of a model at a task are taken to cost what others of these did. Where too few of them are known, they are
/// taken to cost what the model's sessions at other tasks did, give or take as much, and all such tasks of a model together: one guess stands
/// behind all of them. Of a model of which too little is known nothing is foretold. What was spent beyond the sessions that count (waste) grows
/// in proportion. The interval holds both the uncertainty of the means and the spread of the sessions to come.
///
/// A judge is expected to take of each session what it took of each so far. The ledger knows its bill, but not for which sessions: so one
/// session's is taken to deviate by as much as the mean is; the upper end is where all of the bill was for the model and setting that has most
/// left, and the lower end where all that is left has the answers of sessions that were judged, whose verdicts nobody pays for again.
pub(super) fn foretell(
    groups: &[GroupCosts<'_>],
    judges: &[JudgedCosts],
    spent: Spent,
    level: Level,
) -> Option<Foretold> {
    let mut to_run = groups.iter().filter(|group| group.left > 0).peekable();
    let is_over = to_run.peek().is_none() && judges.iter().all(|judge| judge.left == 0);
    if spent.by_agents.unknown_calls + spent.by_judges.unknown_calls > 0 || is_over || to_run.any(|of| !of.is_priced) {
        return None;
    }
    let seen: u64 = groups.iter().map(|group| group.seen).sum();
    let sessions: u64 = groups.iter().map(|group| group.sessions).sum();
    if seen < SESSIONS_MIN || (seen as f64) < PART_MIN * sessions as f64 {
        return None;
    }
    let sum: f64 = groups.iter().map(|group| group.sum).sum();
    let overhead = if sum > 0.0 { (spent.by_agents.known.0 as f64 / sum).max(1.0) } else { 1.0 };
    let (mut to_come, mut variance, mut is_whole) = (0.0, 0.0, true);
    let mut of_models: BTreeMap<&ModelRef, GroupCosts<'_>> = BTreeMap::new();
    for group in groups {
        of_models.entry(group.model).or_insert(GroupCosts::of(group.model)).add(group);
    }
    let mut guessed: BTreeMap<&ModelRef, f64> = BTreeMap::new();
    for group in groups.iter().filter(|group| group.left > 0) {
        let left = group.left as f64;
        let of_model = of_models.get(group.model).copied().unwrap_or(GroupCosts::of(group.model));
        let (mean, of_mean, spread) = if group.seen >= SESSIONS_MIN {
            (group.mean(), group.spread() / group.seen as f64, group.spread())
        } else if of_model.seen >= SESSIONS_MIN {
            *guessed.entry(group.model).or_insert(0.0) += overhead * left * of_model.mean();
            (of_model.mean(), 0.0, of_model.spread())
        } else {
            is_whole = false;
            continue;
        };
        to_come += overhead * left * mean;
        variance += overhead.powi(2) * (left.powi(2) * of_mean + left * spread);
    }
    variance += guessed.values().map(|guess| guess.powi(2)).sum::<f64>();
    let (least, of_agents) = (to_come, variance);
    let mut most = to_come;
    for judge in judges.iter().filter(|judge| judge.left > 0) {
        if !judge.is_known || (judge.scored as f64) < PART_MIN * judge.sessions as f64 {
            is_whole = false;
            continue;
        }
        let (left, scored) = (judge.left as f64, judge.scored as f64);
        let mean = judge.nanos / scored;
        to_come += left * mean;
        most += judge.nanos * judge.left_for_one;
        variance += mean.powi(2) * (left.powi(2) / scored + left);
    }
    let spent = spent.by_agents.known + spent.by_judges.known;
    let half = |variance: f64| normal_quantile(level.upper()) * variance.sqrt();
    let at_end = |nanos: f64| spent + Money(nanos.max(0.0).round() as u64);
    let low = at_end(least - half(of_agents));
    Some(match is_whole {
        true => {
            Foretold::Whole(Forecast { expected: at_end(to_come), low, high: at_end(most + half(variance)), level })
        }
        false => Foretold::AtLeast(low),
    })
}

/// The standard normal deviate below which `probability` (0.5 up to 0.9995) lies.
pub(crate) fn normal_quantile(probability: f64) -> f64 {
    let density = |z: f64| (-0.5 * z * z).exp() / std::f64::consts::TAU.sqrt();
    // From 0 on the distribution function is concave, so that Newton's steps never pass the quantile by.
    let mut z = 0.0;
    for _ in 0..STEPS {
        let step = (probability - 0.5 * libm::erfc(-z * std::f64::consts::FRAC_1_SQRT_2)) / density(z);
        z += step;
        if step.abs() <= 1e-12 * z {
            break;
        }
    }
    z
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    static MODELS: LazyLock<[ModelRef; 2]> = LazyLock::new(|| ["x/one", "x/two"].map(|model| model.parse().unwrap()));

    /// Sessions of the first model.
    fn group(sessions: u64, costs: &[f64]) -> GroupCosts<'static> {
        GroupCosts {
            model: &MODELS[0],
            sessions,
            seen: costs.len() as u64,
            left: sessions - costs.len() as u64,
            is_priced: true,
            sum: costs.iter().sum(),
            squares: costs.iter().map(|cost| cost * cost).sum(),
        }
    }

    fn of_second(group: GroupCosts<'static>) -> GroupCosts<'static> {
        GroupCosts { model: &MODELS[1], ..group }
    }

    fn known(nanos: u64) -> CostSum {
        CostSum { known: Money(nanos), unknown_calls: 0 }
    }

    fn foretold(groups: &[GroupCosts<'_>], judges: &[JudgedCosts], by_agents: CostSum) -> Option<Foretold> {
        let by_judges = known(judges.iter().map(|judge| judge.nanos as u64).sum());
        foretell(groups, judges, Spent { by_agents, by_judges }, Level::USUAL)
    }

    /// The forecast of a sweep without judges.
    fn forecast(groups: &[GroupCosts<'_>], spent: CostSum) -> Option<Forecast> {
        foretold(groups, &[], spent)?.whole()
    }

    #[test]
    fn nothing_is_forecast_before_the_first_per_cent() {
        assert_eq!(forecast(&[group(10_000, &[5.0; 99])], known(495)), None);
        assert!(forecast(&[group(10_000, &[5.0; 100])], known(500)).is_some());
        assert_eq!(forecast(&[group(10, &[5.0; 7])], known(35)), None, "a handful says nothing");
    }

    #[test]
    fn equal_costs_leave_no_doubt() {
        let forecast = forecast(&[group(100, &[5.0; 10])], known(50)).unwrap();
        assert_eq!(forecast, Forecast { expected: Money(500), low: Money(500), high: Money(500), level: Level::USUAL });
    }

    #[test]
    fn each_group_goes_on_at_its_own_cost() {
        let forecast = forecast(&[group(100, &[1.0; 10]), group(100, &[9.0; 20])], known(190)).unwrap();
        assert_eq!(forecast.expected, Money(1000));
    }

    #[test]
    fn a_setting_that_nobody_has_seen_costs_what_the_model_did_elsewhere_give_or_take_as_much() {
        let seen = group(100, &[5.0; 100]);
        let forecast = forecast(&[seen, group(100, &[])], known(500)).unwrap();
        assert_eq!(forecast.expected, Money(1000));
        assert_eq!((forecast.low, forecast.high), (Money(500), Money(1980)), "1.96 times the mean to either side");
    }

    #[test]
    fn of_a_model_that_nobody_has_seen_nothing_is_foretold() {
        let seen = GroupCosts { left: 10, ..group(100, &[5.0; 90]) };
        let found = foretold(&[seen, of_second(group(100, &[5.0; 7]))], &[], known(485));
        assert_eq!(found, Some(Foretold::AtLeast(Money(535))));
        // Its sessions have all ended.
        let ended = of_second(GroupCosts { left: 0, ..group(7, &[5.0; 7]) });
        assert!(forecast(&[seen, ended], known(485)).is_some());
    }

    #[test]
    fn what_is_spent_on_waste_goes_on_in_proportion() {
        let forecast = forecast(&[group(100, &[5.0; 10])], known(75)).unwrap();
        assert_eq!(forecast.expected, Money(750));
    }

    /// A judge of 100 sessions of one model in one setting.
    fn judge(scored: u64, nanos: f64) -> JudgedCosts {
        let left = 100 - scored;
        JudgedCosts { sessions: 100, scored, left, is_known: true, left_for_one: left as f64 / scored as f64, nanos }
    }

    #[test]
    fn judges_that_were_not_asked_enough_leave_a_lower_end_alone() {
        let agents = [group(100, &[5.0; 10])];
        let silent = JudgedCosts { is_known: false, ..judge(0, 0.0) };
        let found = foretold(&agents, &[silent], known(50));
        assert_eq!(found, Some(Foretold::AtLeast(Money(500))), "what the agents are foretold to cost");
        let in_one_setting = JudgedCosts { is_known: false, ..judge(10, 700.0) };
        assert_eq!(foretold(&agents, &[in_one_setting], known(50)), Some(Foretold::AtLeast(Money(1200))));
        // Of the next ones each costs 70 on average.
        let asked = foretold(&agents, &[judge(10, 700.0)], known(50)).unwrap().whole().unwrap();
        assert_eq!(asked.expected, Money(500 + 7000));
        assert!(asked.low < asked.expected && asked.expected < asked.high, "{asked:?}");
    }

    #[test]
    fn judges_cost_the_same_whatever_the_agents_do() {
        let free = foretold(&[group(100, &[0.0; 50])], &[judge(50, 5000.0)], known(0)).unwrap().whole().unwrap();
        assert_eq!((free.low, free.expected), (Money(5_000), Money(10_000)), "answers may be those of others");
        // A deviation of the mean for each of the 50 to come, and that of the mean of 50.
        let half = 1.959_963_985 * 100.0 * (50.0_f64 * 50.0 / 50.0 + 50.0).sqrt();
        assert_eq!(free.high.0, 10_000 + half.round() as u64);
    }

    #[test]
    fn a_bill_may_be_that_of_the_model_that_has_most_left() {
        // Of one model all 50 sessions were judged, of the other 10 of 50: all of the 600 may be for these.
        let both = JudgedCosts { left_for_one: 4.0, ..judge(60, 600.0) };
        let found = foretold(&[group(100, &[0.0; 100])], &[both], known(0)).unwrap().whole().unwrap();
        assert_eq!((found.low, found.expected), (Money(600), Money(1000)));
        assert!(found.high >= Money(600 + 4 * 600), "{found:?}");
    }

    #[test]
    fn what_is_run_and_not_yet_judged_is_still_to_come() {
        let found = foretold(&[group(100, &[5.0; 100])], &[judge(60, 600.0)], known(500)).unwrap().whole().unwrap();
        assert_eq!(found.expected, Money(500 + 600 + 400));
        assert_eq!(foretold(&[group(100, &[5.0; 100])], &[judge(100, 600.0)], known(500)), None);
    }

    #[test]
    fn the_interval_is_as_wide_as_the_level_of_the_sweep_asks() {
        // Costs of 10 and 30 in turn: 100 more sessions have the variance 100² · s²/10 + 100 · s², with s² = 1000/9.
        let costs: Vec<f64> = [1e9, 3e9].repeat(5);
        let error = (1e4 * (1e19 / 9.0) / 10.0 + 1e2 * (1e19 / 9.0_f64)).sqrt();
        // Normal quantiles of published tables.
        for (level, deviates) in
            [(0.9, 1.644_853_627), (0.95, 1.959_963_985), (0.99, 2.575_829_304), (0.999, 3.290_526_731)]
        {
            let level = Level::new(level).unwrap();
            let spent = Spent { by_agents: known(20_000_000_000), ..Spent::default() };
            let found = foretell(&[group(110, &costs)], &[], spent, level).unwrap().whole().unwrap();
            let half = (found.high.0 - found.low.0) as f64 / 2.0;
            assert!((half / error - deviates).abs() < 1e-8, "{level}: {} of {deviates}", half / error);
            assert_eq!(found.level, level);
        }
    }

    #[test]
    fn nothing_is_forecast_once_no_session_is_left_to_run() {
        assert_eq!(foretold(&[group(10, &[2.0; 10])], &[], known(20)), None);
    }

    #[test]
    fn sessions_that_have_ended_without_a_measurement_are_not_run_once_more() {
        let failed = GroupCosts { left: 50, ..group(100, &[5.0; 10]) };
        assert_eq!(forecast(&[failed], known(50)).unwrap().expected, Money(300));
    }

    #[test]
    fn nothing_is_forecast_of_calls_of_unknown_price_done_or_to_come() {
        let one = group(100, &[5.0; 10]);
        let unknown = CostSum { known: Money(50), unknown_calls: 1 };
        assert_eq!(foretold(&[one], &[], unknown), None);
        let unpriced = GroupCosts { is_priced: false, ..group(100, &[]) };
        assert_eq!(foretold(&[one, unpriced], &[], known(50)), None);
        // It has ended, with costs that its provider told.
        let ended = GroupCosts { is_priced: false, ..group(10, &[5.0; 10]) };
        assert!(forecast(&[one, ended], known(100)).is_some());
    }

    proptest! {
        #[test]
        fn the_interval_holds_the_expected_cost_and_never_less_than_what_is_spent(
            costs in proptest::collection::vec(0u32..1_000_000, 8..60), more in 0u64..5000, waste in 0u64..1_000_000,
            bill in 0u32..1_000_000,
        ) {
            let costs: Vec<f64> = costs.into_iter().map(f64::from).collect();
            let by_agents = Money(costs.iter().sum::<f64>() as u64 + waste);
            let scored = costs.len() as u64;
            let left_for_one = more as f64 / scored as f64;
            let nanos = f64::from(bill);
            let judge = JudgedCosts { sessions: scored + more, scored, left: more, is_known: true, left_for_one, nanos };
            let found = foretold(&[group(scored + more, &costs)], &[judge], known(by_agents.0));
            if let Some(Foretold::Whole(forecast)) = found {
                prop_assert!(by_agents + Money(u64::from(bill)) <= forecast.low);
                prop_assert!(forecast.low <= forecast.expected && forecast.expected <= forecast.high);
                prop_assert!(bill < 100 || forecast.low < forecast.high, "nobody knows what each session takes of a judge");
            }
        }
    }
}
