//! The endpoint answers as told, and its books agree with its answers.

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// An endpoint of which every answer has a usage of three tokens and two, and which has no batches.
async fn endpoint() -> Endpoint {
    let answer = r#"{"usage": {"prompt_tokens": 3, "completion_tokens": 2}, "data": [], "has_more": false}"#;
    let routes = axum::Router::new().fallback(async move || answer);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let upstream = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, routes).await });
    Endpoint::before(upstream).await.unwrap()
}

/// A call with this body, on a connection of its own.
async fn call(endpoint: &Endpoint, body: &str) -> TcpStream {
    send(TcpStream::connect(endpoint.address).await.unwrap(), body).await
}

async fn send(mut stream: TcpStream, body: &str) -> TcpStream {
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: here\r\nconnection: close\r\nx-regatta-benchmark: b\r\nx-regatta-setting: s\r\n\
         x-regatta-trial: 0\r\nx-regatta-item: x\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

#[tokio::test]
async fn a_client_that_goes_away_before_the_answer_is_billed() {
    let endpoint = endpoint().await;
    endpoint.set(Mood::Hangs);
    let client = call(&endpoint, "{}").await;
    while endpoint.waiting().is_empty() {
        tokio::task::yield_now().await;
    }
    drop(client);
    while !endpoint.waiting().is_empty() {
        tokio::task::yield_now().await;
    }
    endpoint.set(Mood::Answers);
    let books = endpoint.close_books().await.unwrap();
    let told: Vec<_> = books.iter().map(|call| (call.session.as_str(), call.cost)).collect();
    assert_eq!(told, [("b/s/0/x", 7_000)]);
}

#[tokio::test]
async fn to_ask_which_models_there_are_is_no_call() {
    let endpoint = endpoint().await;
    let mut client = TcpStream::connect(endpoint.address).await.unwrap();
    client.write_all(b"GET /v1/models HTTP/1.1\r\nhost: here\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(endpoint.close_books().await.unwrap().len(), 0);
}

#[tokio::test]
async fn a_call_that_is_read_after_its_process_was_stopped_was_under_way() {
    let endpoint = endpoint().await;
    endpoint.set(Mood::Hangs);
    let client = TcpStream::connect(endpoint.address).await.unwrap();
    let port = client.local_addr().unwrap().port();
    let sends = async {
        tokio::task::yield_now().await;
        send(client, "{}").await
    };
    let ports = [port];
    let (in_flight, _client) = tokio::join!(endpoint.in_flight_of_stopped(&ports, endpoint.now_ms()), sends);
    assert_eq!(in_flight.calls.keys().collect::<Vec<_>>(), ["b/s/0/x"]);
}

#[tokio::test]
async fn an_answer_of_shortly_before_a_stop_is_in_flight_however_long_the_connections_are_looked_for() {
    let endpoint = endpoint().await;
    let mut client = call(&endpoint, "{}").await;
    let ports = [client.local_addr().unwrap().port()];
    client.read_to_end(&mut Vec::new()).await.unwrap();
    let stopped_ms = endpoint.now_ms();
    tokio::time::pause();
    tokio::time::advance(2 * UNCONFIRMED).await;
    assert_eq!(endpoint.in_flight_of_stopped(&ports, stopped_ms).await.calls.len(), 1);
}

#[test]
fn a_request_for_vectors_has_a_number_for_each_text_and_model() {
    let of = |path, body: &str| Asked::by(path, body.as_bytes());
    let vectors = |body| of("/v1/embeddings", body).texts;
    let both = vectors(r#"{"model": "m", "input": ["a", "b"]}"#);
    assert_eq!(both.len(), 2);
    assert_eq!(vectors(r#"{"model": "m", "input": ["b"]}"#), both[1..], "in whatever request it is");
    assert_ne!(vectors(r#"{"model": "n", "input": ["b"]}"#), both[1..]);
    assert!(vectors(r#"{"model": "m", "input": [1]}"#).is_empty());
    let chat = of("/v1/chat/completions", r#"{"model": "m", "input": ["a"]}"#);
    assert_eq!((chat.texts, chat.request), (Vec::new(), numbered(br#"{"model": "m", "input": ["a"]}"#)));
}

/// Books in which the client 1 has made these calls, each `(kind, session, begun, ended)`, in milliseconds.
fn books(calls: &[(CallKind, &str, u64, Option<u64>)]) -> Books {
    let mut books = Books::open();
    let call = |(number, (kind, session, begun_ms, ended_ms)): (usize, &(CallKind, &str, u64, Option<u64>))| Call {
        session: (*session).to_owned(),
        kind: *kind,
        request: number as u64,
        texts: Vec::new(),
        client: 1,
        begun_ms: *begun_ms,
        ended_ms: *ended_ms,
        was_refused: false,
        cost: 0,
    };
    books.calls = calls.iter().enumerate().map(call).collect();
    books
}

#[test]
fn the_last_answer_of_a_session_may_wait_for_the_broker_longer_than_one_after_which_it_has_gone_on() {
    let in_flight = |calls: &[(CallKind, &str, u64, Option<u64>)]| {
        books(calls).in_flight(&[1], Lost::for_good(10_000)).calls.into_values().flatten().collect::<Vec<_>>()
    };
    let live = |begun_ms, ended_ms| (CallKind::Live, "x", begun_ms, ended_ms);
    assert_eq!(in_flight(&[live(4_000, Some(6_500))]), [0], "of a single call");
    assert!(in_flight(&[live(4_000, Some(5_500))]).is_empty(), "long reported");
    assert_eq!(in_flight(&[live(4_000, Some(6_500)), live(6_600, None)]), [1]);
    assert_eq!(in_flight(&[live(4_000, Some(8_600)), live(8_700, None)]), [0, 1]);
    assert_eq!(
        books(&[live(4_000, None)]).in_flight(&[2], Lost::for_good(10_000)),
        InFlight::default(),
        "of another process"
    );
}

#[test]
fn a_call_is_lost_once_however_often_its_processes_are() {
    let mut books = books(&[(CallKind::Live, "x", 4_000, None), (CallKind::Judges, "-", 4_000, Some(4_100))]);
    let first = books.in_flight(&[1], Lost::for_good(5_000));
    assert_eq!((first.calls["x"].len(), first.judges.len()), (1, 1));
    assert_eq!(books.in_flight(&[1], Lost::for_good(5_500)), InFlight::default());
}

#[test]
fn what_is_cut_off_and_alive_loses_nothing_that_it_begins_once_it_must_have_noticed() {
    let live = |begun_ms, ended_ms| (CallKind::Live, "x", begun_ms, ended_ms);
    let lost = Lost { at_ms: 5_000, noticed_ms: 5_200 };
    let in_flight = |calls: &[(CallKind, &str, u64, Option<u64>)]| {
        books(calls).in_flight(&[1], lost).calls.into_values().flatten().collect::<Vec<_>>()
    };
    assert_eq!(in_flight(&[live(5_100, None), live(5_300, None)]), [0]);
    // A repetition elsewhere is no sign that the answer had been kept.
    assert_eq!(in_flight(&[live(1_000, Some(2_000)), live(5_100, None)]), [0, 1]);
}

#[tokio::test]
async fn requests_of_equal_bytes_have_one_number_and_each_history_its_own_books() {
    let endpoint = endpoint().await;
    for body in ["{}", "{}", "{ }"] {
        call(&endpoint, body).await.read_to_end(&mut Vec::new()).await.unwrap();
    }
    let books = endpoint.close_books().await.unwrap();
    assert_eq!(books.len(), 3);
    assert_eq!(books[0].request, books[1].request);
    assert_ne!(books[0].request, books[2].request);
    endpoint.open_books();
    assert_eq!(endpoint.close_books().await.unwrap(), []);
}
