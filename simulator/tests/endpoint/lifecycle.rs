use std::net::SocketAddr;

use regatta_proto::{Faults, Simulation};
use regatta_simulator::{Config, SimulatedEndpoint, StartError};

use crate::harness::{Harness, config, faulty, read};
use crate::three_items::{PLAIN, gold};

#[tokio::test]
async fn a_port_in_use_is_named_with_what_to_do() {
    let harness = Harness::start(config()).await;
    let listen: SocketAddr = harness.endpoint.address();
    let error = SimulatedEndpoint::start(Config { listen, ..config() }).await.unwrap_err();
    assert!(matches!(error, StartError::AddressInUse { address } if address == listen));
    assert_eq!(
        error.to_string(),
        format!(
            "failed to listen on {listen}: the address is in use; stop whoever uses it, or choose another port (0 picks a free one)"
        )
    );
}

#[tokio::test]
async fn an_impossible_simulation_does_not_start() {
    let faults = Faults { dropped: 1.5, ..Faults::default() };
    let config = Config { simulation: Simulation { faults, ..Simulation::default() }, ..config() };
    let error = SimulatedEndpoint::start(config).await.unwrap_err();
    assert_eq!(error.to_string(), "failed to simulate: faults.dropped must be a probability between 0 and 1, is 1.5");
}

#[tokio::test]
async fn after_shutdown_the_port_is_free_again() {
    let Harness { endpoint, client } = Harness::start(config()).await;
    let address = endpoint.address();
    let idle = client.get(format!("http://{address}/healthz")).send().await.unwrap();
    assert_eq!(idle.status(), 200);
    endpoint.shutdown().await;
    let again = SimulatedEndpoint::start(Config { listen: address, ..config() }).await.unwrap();
    assert_eq!(again.address(), address);
}

#[tokio::test]
async fn dropping_the_endpoint_closes_its_connections() {
    let Harness { endpoint, client } =
        Harness::start(faulty(Faults { slow: 1.0, slow_ms: 3_600_000, ..Faults::default() })).await;
    let url = endpoint.url();
    let request = client
        .post(format!("{url}/chat/completions"))
        .body(r#"{"model": "oracle", "messages": [{"role": "user", "content": "Task: os_1"}]}"#);
    let waiting = tokio::spawn(request.send());
    while endpoint.counters().faults["slow"] == 0 {
        tokio::task::yield_now().await;
    }
    drop(endpoint);
    assert!(waiting.await.unwrap().is_err());
}

#[tokio::test(start_paused = true)]
async fn shutdown_lets_a_request_finish() {
    let Harness { endpoint, client } =
        Harness::start(faulty(Faults { slow: 1.0, slow_ms: 3_000, ..Faults::default() })).await;
    let harness = Harness { endpoint, client: client.clone() };
    let waiting = tokio::spawn(read(harness.ask("oracle", PLAIN)));
    while harness.endpoint.counters().faults["slow"] == 0 {
        tokio::task::yield_now().await;
    }
    harness.endpoint.shutdown().await;
    assert_eq!(waiting.await.unwrap().content(), gold(PLAIN));
}
