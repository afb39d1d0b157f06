use std::net::SocketAddr;
use std::time::Duration;

use regatta_proto::{Faults, Simulation};
use regatta_simulator::{Config, SimulatedEndpoint, StartError};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::Instant;

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

#[tokio::test(start_paused = true)]
async fn a_head_that_is_never_finished_and_an_idle_connection_are_closed_after_two_minutes() {
    let harness = Harness::start(config()).await;
    for said in ["", "GET /healthz HT", "GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n"] {
        let mut stream = TcpStream::connect(harness.endpoint.address()).await.unwrap();
        stream.write_all(said.as_bytes()).await.unwrap();
        let begun = Instant::now();
        stream.read_to_end(&mut Vec::new()).await.unwrap();
        assert_eq!(begun.elapsed().as_secs(), 120, "{said:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_take_longer_than_an_idle_connection() {
    let slow = Duration::from_secs(600);
    let slow_ms = u64::try_from(slow.as_millis()).unwrap();
    let harness = Harness::start(faulty(Faults { slow: 1.0, slow_ms, ..Faults::default() })).await;
    let begun = Instant::now();
    assert_eq!(read(harness.ask("oracle", PLAIN)).await.content(), gold(PLAIN));
    assert!(begun.elapsed() >= slow);
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_answer_for_thirty_seconds_is_dropped() {
    let harness = Harness::start(config()).await;
    let mut deaf = TcpStream::connect(harness.endpoint.address()).await.unwrap();
    let begun = Instant::now();
    // Sends until the server has had enough: answers that nobody reads fill what the system keeps for them first.
    while deaf.write_all("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n".repeat(1000).as_bytes()).await.is_ok() {}
    assert_eq!(begun.elapsed().as_secs(), 30);
}
