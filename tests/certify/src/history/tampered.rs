//! A deployment whose ledger, queues, processes and endpoint are tampered with: the audit of the real thing finds each, and names the item.

use lapin::options::BasicPublishOptions;
use lapin::{BasicProperties, Connection, ConnectionProperties};
use regatta_tests::regatta::{binary, workspace};
use rustix::process::Signal;

use super::*;
use crate::checks::Finding;
use crate::endpoint::Mood;
use crate::fleet::Role;
use crate::workload::CONCURRENCY;

/// The ledger lies about two sessions of a cell of single calls, and about judges, from the moment that they are written.
const TRIGGERS: &str = r"
CREATE FUNCTION is_session(sweep BIGINT, cell BIGINT, item BIGINT, number BIGINT) RETURNS BOOLEAN LANGUAGE sql AS $$
    SELECT $1 = min(cells.sweep) AND $2 = min(cells.cell) AND $3 = min(first) + $4
    FROM cells JOIN shards USING (sweep, cell)
    WHERE (cells.sweep, cells.cell) = (SELECT sweep, min(cells.cell) FROM cells WHERE benchmark = 'worfbench' GROUP BY sweep)
$$;

CREATE FUNCTION lie_about_money() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF is_session(NEW.sweep, NEW.cell, NEW.item, 0) AND NEW.state = 'recorded' THEN NEW.known := NEW.known + 1; END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_lie BEFORE INSERT OR UPDATE ON attempts FOR EACH ROW EXECUTE FUNCTION lie_about_money();

CREATE FUNCTION lie_about_scores() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF is_session(NEW.sweep, NEW.cell, NEW.item, 1) AND NEW.state = 'settled' THEN
        NEW.scores := regexp_replace(NEW.scores::TEXT, ':[0-9.]+', ':0.123')::JSON;
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER a_lie BEFORE INSERT OR UPDATE ON sessions FOR EACH ROW EXECUTE FUNCTION lie_about_scores();

CREATE FUNCTION lie_about_judges() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.known := NEW.known + 1; RETURN NEW; END $$;
CREATE TRIGGER a_lie BEFORE INSERT ON judge_attempts FOR EACH ROW EXECUTE FUNCTION lie_about_judges();
";

/// A session has a second attempt that counts.
const ANOTHER_ATTEMPT: &str = r"
INSERT INTO attempts (sweep, cell, item, id, number, worker, state, started_at_ns, ended_at_ns, outcome, cause, input, cached_input, output,
                      reasoning, known, unknown_calls, at_most, calls, retries, latency_us, segment, line)
SELECT sweep, cell, item, id || '-again', number + 1, worker, state, started_at_ns, ended_at_ns, outcome, cause, input, cached_input, output,
       reasoning, known, unknown_calls, at_most, calls, retries, latency_us, segment, line
FROM attempts WHERE is_session(sweep, cell, item, 2) AND state = 'recorded'";

/// A session waits for verdicts for ever, another has an attempt without an end, and the account has forgotten what was spent.
const LEFTOVERS: &str = r"
INSERT INTO awaiting SELECT number, 0, 3, 'judge', '', '' FROM sweeps;
INSERT INTO attempts (sweep, cell, item, id, number, worker, state, started_at_ns, input, cached_input, output, reasoning, known,
                      unknown_calls, calls, retries, latency_us)
SELECT number, 0, 3, 'without-an-end', 9, 'nobody', 'open', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 FROM sweeps;
DELETE FROM permit_accounts";

/// Somebody who was heard of at the end of time may fill slots, whose number is the second of a party's.
const SLOTS: &str = r#"
UPDATE permit_pool_states
SET state = jsonb_set(state::JSONB, '{holders,nobody}',
                      '{"seen_ms": 9000000000000, "parties": [[0, 3, 0, 0, 0, 0, 0, [0, 0, 0], null]]}')
WHERE state <> ''"#;

#[tokio::test(flavor = "multi_thread")]
async fn an_audit_finds_whatever_was_tampered_with_and_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let services = Services::start().await.unwrap();
    let data = workspace().join("examples/data");
    let workload = Workload::start(binary().unwrap(), &data, 1, Duration::ZERO, folder.path()).await.unwrap();
    let agent = workload.agent.as_ref();
    let mut fleet = Fleet::start(binary().unwrap(), agent, &services, folder.path().to_owned()).await.unwrap();
    let url = fleet.stores.database_url.clone();
    let ledger = LedgerView::of(&url).client().await.unwrap();
    ledger.batch_execute(TRIGGERS).await.unwrap();

    let begun = workload.endpoint.open_books();
    let sweeps = submit(&fleet, &workload, folder.path(), "tampered").await.unwrap();
    let watch = Watch::of(url.clone(), begun);
    // Before the reports are written, which nobody changes afterwards.
    while ledger.execute(ANOTHER_ATTEMPT, &[]).await.unwrap() == 0 {
        tokio::task::yield_now().await;
    }
    let end = watch.until(is_over).await;
    ledger.batch_execute(LEFTOVERS).await.unwrap();
    let session = async |item: i64| {
        let row = "SELECT item_id FROM sessions WHERE is_session(sweep, cell, item, $1)";
        let id: String = ledger.query_one(row, &[&item]).await.unwrap().get(0);
        format!("worfbench/two-shot/0/{id}")
    };
    let (dearer, better, twice, called) = (session(0).await, session(1).await, session(2).await, session(4).await);
    publish(&fleet.stores.broker_url, "regatta.dead").await;
    ledger.batch_execute(SLOTS).await.unwrap();
    let bucket = &fleet.stores.bucket;
    bucket.client().put_object().bucket(&bucket.bucket).key("checkpoints/nobodys").send().await.unwrap();
    let beyond_the_limit = workload.requests_per_minute().unwrap() + 1;
    assert!(beyond_the_limit > u64::from(CONCURRENCY));
    call_at_once(&workload.endpoint, &called, beyond_the_limit).await;
    let worker = fleet.positions(Role::Worker)[0];
    let worker = &fleet.members[worker];
    let killed = format!("{} ended with signal: 9 (SIGKILL)", worker.name);
    worker.signal(Signal::KILL).unwrap();
    while !fleet.fallen().contains(&killed) {
        tokio::task::yield_now().await;
    }

    let evidence = collect(&mut fleet, &workload, folder.path(), &sweeps, end, Vec::new(), Vec::new()).await.unwrap();
    let findings = check(&workload.both, &evidence);

    let told: Vec<String> = findings.iter().map(|Finding { check, item, .. }| format!("{check}: {item}")).collect();
    let expected = [
        format!("money: {dearer}"),
        format!("same results: {better}"),
        format!("one result an item: {twice}"),
        format!("calls: {called}"),
        "judges: judges' calls".to_owned(),
        format!("budget: {}", sweeps[0]),
        format!("budget: {}", sweeps[1]),
        "limits: concurrency".to_owned(),
        "limits: requests per minute".to_owned(),
        "nothing left: sessions that await verdicts".to_owned(),
        "nothing left: open attempts".to_owned(),
        "nothing left: slots".to_owned(),
        "nothing left: checkpoints".to_owned(),
        "nothing left: regatta.dead".to_owned(),
        format!("processes: {killed}"),
    ];
    for one in &expected {
        assert!(told.contains(one), "{one} is not among {told:#?}\n{findings:#?}");
    }
}

/// Puts a message into a queue.
async fn publish(url: &str, queue: &str) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await.unwrap();
    let channel = connection.create_channel().await.unwrap();
    let options = BasicPublishOptions::default();
    channel.basic_publish("".into(), queue.into(), options, b"{}", BasicProperties::default()).await.unwrap();
    connection.close(200, "done".into()).await.unwrap();
}

/// `count` calls in the name of `session`, all in flight at once.
async fn call_at_once(endpoint: &crate::endpoint::Endpoint, session: &str, count: u64) {
    endpoint.set(Mood::Hangs);
    let parts: Vec<&str> = session.split('/').collect();
    let [benchmark, setting, trial, item] = parts[..] else { panic!("{session} has other parts") };
    let mut open = Vec::new();
    for _ in 0..count {
        let mut stream = tokio::net::TcpStream::connect(endpoint.address).await.unwrap();
        let request = format!(
            "POST /v1/chat/completions HTTP/1.1\r\nhost: {}\r\nx-regatta-benchmark: {benchmark}\r\nx-regatta-setting: {setting}\r\n\
             x-regatta-trial: {trial}\r\nx-regatta-item: {item}\r\ncontent-length: 2\r\n\r\n{{}}",
            endpoint.address
        );
        tokio::io::AsyncWriteExt::write_all(&mut stream, request.as_bytes()).await.unwrap();
        open.push(stream);
    }
    while (endpoint.open_calls() as u64) < count {
        tokio::task::yield_now().await;
    }
    endpoint.set(Mood::Answers);
}
