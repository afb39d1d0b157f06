//! Simulated models: one that writes the gold, and one that gets it wrong with a given probability.

mod noise;
mod steps;

use std::sync::Arc;

use rand::Rng;
use regatta_proto::{SessionSeed, rng};

use self::noise::Plan;
pub(crate) use self::steps::step;
use regatta_benchmarks::Persona;

/// Kind of answer that a simulated model is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A list of apps.
    Apps,
    /// A plan.
    Plan,
}

/// The gold of an item, and what it could be confused with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Gold<'a> {
    /// App of each call.
    pub(crate) apps: &'a [Arc<str>],
    /// Calls, as they are written.
    pub(crate) calls: &'a [Arc<str>],
    /// All apps of the phone.
    pub(crate) phone: &'a [Arc<str>],
}

/// Answer of a simulated model. Mistakes are drawn from `seed`.
pub(crate) fn reply(gold: Gold<'_>, asked: Asked, persona: Persona, seed: SessionSeed) -> String {
    let probability = persona.error_probability();
    match asked {
        Asked::Apps => apps(gold, probability, &mut rng(seed.0, "appbench/apps")),
        Asked::Plan => Plan::of(gold).disturbed(gold, probability, &mut rng(seed.0, "appbench/plan")),
    }
}

/// The list of apps, each once, with apps left out and added; now and then no list at all.
fn apps(gold: Gold<'_>, probability: f64, rng: &mut impl Rng) -> String {
    let mut names: Vec<&str> = Vec::new();
    for app in gold.apps {
        if !names.contains(&&**app) {
            names.push(app);
        }
    }
    // A comparison with a draw from 0..1 is never true for 0 and never panics, whatever the number.
    let mut happens = |share: f64| rng.random::<f64>() < probability * share;
    if happens(0.05) {
        return "?".to_owned();
    }
    let mut chosen: Vec<&str> = names.iter().copied().filter(|_| !happens(0.2)).collect();
    chosen.extend(gold.phone.iter().map(|app| &**app).filter(|app| !names.contains(app) && happens(0.1)));
    format!("[{}]", chosen.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    const APPS: [&str; 2] = ["Trains", "Weather"];
    const CALLS: [&str; 2] = [
        "from, total = findtrains(#date='2019-03-02', #to='Turin')",
        "city, humidity = getweather(#city=to, #date='2019-03-02')",
    ];

    fn told(asked: Asked, persona: Persona, seed: u64) -> String {
        let owned = |texts: &[&str]| texts.iter().map(|&text| text.into()).collect::<Vec<Arc<str>>>();
        let (apps, calls, phone) = (owned(&APPS), owned(&CALLS), owned(&["Hotels", "Trains", "Weather"]));
        reply(Gold { apps: &apps, calls: &calls, phone: &phone }, asked, persona, SessionSeed(seed))
    }

    #[test]
    fn the_oracle_writes_the_gold_in_the_demanded_form() {
        assert_eq!(told(Asked::Apps, Persona::Oracle, 1), "[Trains, Weather]");
        let plan = format!("Trains: [{}]\nWeather: [{}]", CALLS[0], CALLS[1]);
        assert_eq!(told(Asked::Plan, Persona::Oracle, 1), plan);
    }

    #[test]
    fn a_noisy_model_repeats_itself_for_the_same_seed_only() {
        let noisy = |seed| told(Asked::Plan, Persona::Noisy(0.5), seed);
        assert_eq!(noisy(3), noisy(3));
        let different: std::collections::BTreeSet<String> = (0..50).map(noisy).collect();
        assert!(different.len() > 20, "{}", different.len());
    }

    #[test]
    fn a_model_without_noise_is_the_oracle() {
        for asked in [Asked::Apps, Asked::Plan] {
            assert_eq!(told(asked, Persona::Noisy(0.0), 9), told(asked, Persona::Oracle, 2));
        }
    }

    #[test]
    fn a_noisy_model_sometimes_chooses_other_apps_and_sometimes_none() {
        let chosen: std::collections::BTreeSet<String> =
            (0..200).map(|seed| told(Asked::Apps, Persona::Noisy(1.0), seed)).collect();
        assert!(chosen.contains("?") && chosen.contains("[Trains]") && chosen.contains("[Trains, Weather, Hotels]"));
    }
}
