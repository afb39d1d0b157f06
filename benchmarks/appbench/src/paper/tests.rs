//! When plans are the same (docs/benchmarks/appbench.md §6).

use super::*;
use crate::data::Data;
use crate::parse::lines;
use crate::vectors::data;

/// Scores a plan for an item of the official data; `None` without them.
fn scored(data: &Data, item: &str, plan: &str) -> ItemCounters {
    score(data.find(item).unwrap(), &data.phone, &lines(plan))
}

/// The gold plan of an item as text.
fn gold(data: &Data, item: &str) -> String {
    let gold = &data.find(item).unwrap().gold;
    gold_pairs(gold).map(|(app, call)| format!("{app}: [{call}]\n")).collect()
}

const ITEM: &str = "sm-000";

#[test]
fn gold_plans_are_right_except_the_one_with_more_calls_than_apps() {
    let Some(data) = data() else { return };
    let wrong: Vec<&str> = data
        .entries
        .iter()
        .filter(|entry| score(entry, &data.phone, &lines(&gold(&data, entry.id.as_str()))).succ == 0)
        .map(|entry| entry.id.as_str())
        .collect();
    assert!(wrong.is_empty(), "rendered with empty apps, even that one is its gold: {wrong:?}");
}

#[test]
fn spelling_of_variables_and_order_of_arguments_do_not_matter() {
    let Some(data) = data() else { return };
    let plan = "rents: [t, n, p, s, h, c, e, d = Rents.GetCarsAvailable(city=\"warsaw\", car_type='hatchback', \
                start_date='2019-03-07', pickup_time='13:30',  end_date='2019-03-13')]\n\
                RENTS: [x = reservecar(#car_type=t, #end_date=e, #pickup_location=p, #pickup_time=h, #start_date=s, \
                #add_insurance='TRUE')]";
    assert_eq!(scored(&data, ITEM, plan).succ, 1);
}

#[test]
fn a_literal_is_not_a_variable_and_a_variable_is_not_another_one() {
    let Some(data) = data() else { return };
    let gold = gold(&data, ITEM);
    for (from, to) in [("#car_type=car_type", "#car_type='Hatchback'"), ("#end_date=end_date", "#end_date=start_date")]
    {
        let plan = gold.replace(from, to);
        assert_ne!(plan, gold);
        assert_eq!(scored(&data, ITEM, &plan).succ, 0, "{to}");
    }
}

#[test]
fn a_variable_that_is_used_before_its_producer_is_only_its_name() {
    let Some(data) = data() else { return };
    let gold = gold(&data, ITEM);
    let reversed: String = gold.lines().rev().map(|line| format!("{line}\n")).collect();
    let found = scored(&data, ITEM, &reversed);
    assert_eq!((found.api_em, found.succ), (1, 0));
}

#[test]
fn an_empty_plan_shares_nothing() {
    let Some(data) = data() else { return };
    let found = scored(&data, ITEM, "");
    assert_eq!((found.app_pred, found.app_em, found.api_em, found.succ), (0, 0, 0, 0));
}

#[test]
fn calls_that_cannot_be_read_count_as_predicted() {
    let Some(data) = data() else { return };
    let found = scored(&data, ITEM, &format!("{}Rents: [nothing]", gold(&data, ITEM)));
    assert_eq!((found.api_hit, found.api_pred, found.api_gold, found.api_em), (2, 3, 2, 0));
}

#[test]
fn a_plan_whose_forms_would_be_exponentially_long_takes_the_space_of_its_text() {
    let Some(data) = data() else { return };
    let mut plan = String::from("A: [v0 = f(#a='1')]\n");
    for at in 1..2000 {
        plan.push_str(&format!("A: [v{at} = f(#a=v{0}, #b=v{0})]\n", at - 1));
    }
    assert_eq!(scored(&data, ITEM, &plan).api_pred, 2000);
}

#[test]
fn slots_are_described_names_or_positions() {
    let Some(data) = data() else { return };
    let api = data.phone.description("buses", "findbus");
    let described: Vec<String> = api.unwrap().returned_names().map(|name| name.to_string()).collect();
    let count = described.len();
    assert_eq!(slot_of(api, count, 1, "x"), described[1]);
    assert_eq!(slot_of(api, count, 1, &described[0]), described[0], "a described name is itself wherever it stands");
    assert_eq!(slot_of(api, count + 1, 1, "x"), "x");
    assert_eq!(slot_of(None, count, 1, "x"), "x");
}

#[test]
fn counters_are_the_same_after_their_flat_values() {
    let counters = ItemCounters { app_hit: 1, app_pred: 2, app_gold: 3, api_gold: 4, ..ItemCounters::default() };
    assert_eq!(ItemCounters::from_values(&counters.to_values()), counters);
}

#[test]
fn nothing_of_nothing_is_zero() {
    let found = aggregate(&[]);
    assert_eq!((&found["n"], &found["f1_app"], &found["succ"]), (&0.into(), &0.0.into(), &0.0.into()));
}
