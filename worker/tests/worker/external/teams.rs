//! Members of a team that other models play.

use std::collections::BTreeMap;

use regatta_proto::{EndpointName, EndpointRoute, Outcome, Setting, Simulation};

use super::office::{Office, endpoint, model, python, replies};

#[tokio::test]
async fn a_member_is_played_by_the_model_of_its_cast_and_everybody_else_by_the_one_under_test() {
    let agent = python(
        "base = os.environ['ANTHROPIC_BASE_URL']\n\
         [ask('a', base + who + '/v1') for who in ['', '/members/cook', '/members/clerk']]",
    );
    let elsewhere = Office::with(1, agent.clone(), Simulation::default(), |_| {}).await;
    let office = Office::with(1, agent, Simulation::default(), |lock| {
        let setting: Setting = "external/mine/cast=other".parse().unwrap();
        let benchmark = lock.benchmarks.values_mut().next().unwrap();
        benchmark.settings = vec![setting.clone()];
        benchmark.items = BTreeMap::from([(setting, 1)]);
        let cook = BTreeMap::from([("cook".parse().unwrap(), model("kitchen/oracle"))]);
        benchmark.casts = BTreeMap::from([("other".to_owned(), cook)]);
        lock.endpoints.insert("kitchen".parse().unwrap(), endpoint(&elsewhere.server));
    })
    .await;
    let stage = &office.stage;
    stage.publish([stage.job(0, 0)]).await;
    let mut reports = stage.reports().await;
    let kitchen: EndpointName = "kitchen".parse().unwrap();
    let spec = stage.sweep.lock.endpoints[&kitchen].clone();
    let beside = EndpointRoute {
        queue: spec.queue(&kitchen, &stage.sweep.id),
        needs: Vec::new(),
        pool: spec.pool(),
        name: kitchen,
        endpoint: spec,
        ..stage.route.clone()
    };
    stage.tell(vec![stage.route.clone(), beside], Vec::new()).await;
    let worker = stage.start_untold("w", |_| {});
    let outcome = reports.outcome().await;
    worker.leave().await;
    assert_eq!(outcome.outcome, Outcome::Measured);
    let models: Vec<String> = outcome.transcript.calls().map(|call| call.model.to_string()).collect();
    assert_eq!(models, ["sim/oracle", "kitchen/oracle", "sim/oracle"]);
    let speakers: Vec<&str> = replies(&outcome.transcript).iter().map(|said| said.split(' ').nth(1).unwrap()).collect();
    assert_eq!(speakers, ["nobody", "cook", "clerk"]);
    assert_eq!(elsewhere.server.counters().total_answered(), 1);
}
