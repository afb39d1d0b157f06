//! Values that `golden/confseq_values.py` got from the package `confseq`.

use regatta_deciding::{Population, bounds, log_capital};
use serde_json::Value;

use crate::unit;

fn values() -> Value {
    serde_json::from_str(include_str!("../golden/confseq.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

#[test]
fn capital_is_that_of_the_published_implementation() {
    let (mut compared, mut impossible) = (0, 0);
    for case in values()["cases"].as_array().unwrap() {
        let units: Vec<_> = numbers(&case["x"]).into_iter().map(unit).collect();
        let population = case["population"].as_u64().map(|all| Population { units: all as usize, weight: all as f64 });
        for point in case["log_capital"].as_array().unwrap() {
            let m = point[0].as_f64().unwrap();
            let ours = log_capital(&units, population, m);
            match point[1].as_f64() {
                Some(theirs) => {
                    assert!(
                        (ours - theirs).abs() < 1e-8 * theirs.abs().max(1.0),
                        "{}, {m}: {ours}, {theirs}",
                        case["name"]
                    );
                    compared += 1;
                }
                // This mean is impossible for the units that are left; the other bound has to exclude everything above it.
                None => {
                    let left = population.unwrap().units as f64 * m - units.iter().map(|unit| unit.low).sum::<f64>();
                    assert!(ours == f64::INFINITY || left > 0.0, "{}, {m}: {ours}", case["name"]);
                    impossible += 1;
                }
            }
        }
    }
    assert_eq!((compared, impossible), (46, 49));
}

#[test]
fn sequences_are_about_as_wide_as_those_of_plug_in_bets_and_narrower_than_empirical_bernstein() {
    for case in values()["widths"].as_array().unwrap() {
        let units: Vec<_> = numbers(&case["x"]).into_iter().map(unit).collect();
        let level = case["level"].as_f64().unwrap();
        let all = numbers(&case["n"]).into_iter().zip(numbers(&case["plug_in"])).zip(numbers(&case["bernstein"]));
        for ((n, plug_in), bernstein) in all {
            let ours = bounds(&units[..n as usize], None, level / 2.0).width();
            // The others are running intersections over every number of draws; this is one look.
            assert!(ours < 1.25 * plug_in, "{} at {n}: {ours}, {plug_in}", case["name"]);
            assert!(ours < 1.1 * bernstein, "{} at {n}: {ours}, {bernstein}", case["name"]);
        }
    }
}
