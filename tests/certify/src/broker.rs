//! Depths of queues, asked of the broker directly.

use lapin::options::{BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties};
use serde_json::Value;

use crate::CertifyError;
use crate::ledger::SessionPlace;

/// As the roles call their queues.
const PREFIX: &str = "regatta";

/// Partitions of the reports, each a queue.
const PARTITIONS: u8 = 8;

/// Messages in the queues of reports, of dead letters and of `jobs`, those that somebody holds not included.
pub(crate) async fn depths(url: &str, jobs: &[String]) -> Result<Vec<(String, u64)>, CertifyError> {
    let mut depths = Vec::new();
    let shared = ["reports", "aside", "aside.questions", "dead"].map(str::to_owned).into_iter();
    let shared = shared.chain((0..PARTITIONS).map(|number| format!("reports.{number}")));
    let shared = shared.map(|name| (format!("{PREFIX}.{name}"), true));
    let of_jobs = jobs.iter().map(|queue| (format!("{PREFIX}.jobs.{queue}"), false));
    for (name, is_always_there) in shared.chain(of_jobs) {
        // A passive declaration of a queue that is not there closes its channel, and the connection is of no use afterwards.
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        match look(&channel, &name).await {
            Ok(queue) => {
                depths.push((name, u64::from(queue.message_count())));
                connection.close(200, "done".into()).await?;
            }
            Err(error) if is_not_found(&error) && !is_always_there => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(depths)
}

/// `true` if there is no such queue: only then nothing waits in it.
fn is_not_found(error: &lapin::Error) -> bool {
    matches!(error.kind(), lapin::ErrorKind::ProtocolError(error) if error.get_id() == 404)
}

async fn look(channel: &Channel, name: &str) -> Result<lapin::Queue, lapin::Error> {
    let options = QueueDeclareOptions { passive: true, ..QueueDeclareOptions::default() };
    channel.queue_declare(name.into(), options, FieldTable::default()).await
}

/// Throws away what waits in the queues of `jobs`; these messages.
pub(crate) async fn take(url: &str, jobs: &[String]) -> Result<Vec<Vec<u8>>, CertifyError> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let mut taken = Vec::new();
    for queue in jobs {
        let name = format!("{PREFIX}.jobs.{queue}");
        while let Some(message) = channel.basic_get(name.as_str().into(), BasicGetOptions { no_ack: true }).await? {
            taken.push(message.delivery.data);
        }
    }
    connection.close(200, "done".into()).await?;
    Ok(taken)
}

/// Sessions that a message is about: of a session's job, or of a batch. Judges' questions are asked again for whoever waits for them.
pub(crate) fn sessions(message: &[u8]) -> Result<Vec<SessionPlace>, CertifyError> {
    let plain = zstd::decode_all(message).unwrap_or_else(|_| message.to_owned());
    let unreadable = || CertifyError::Broken(format!("no job can be read in {}", String::from_utf8_lossy(&plain)));
    let document: Value = serde_json::from_slice(&plain).map_err(|_| unreadable())?;
    let job = &document["message"];
    let of_session = |session: &Value| {
        let key = &session["key"];
        Some((key["sweep"].as_str()?.to_owned(), key["cell"].as_i64()?, key["item"].as_i64()?))
    };
    let places: Option<Vec<SessionPlace>> = if job["judge"].is_object() {
        Some(Vec::new())
    } else if let Some(sessions) = job["batch"]["sessions"].as_array() {
        sessions.iter().map(of_session).collect()
    } else {
        of_session(&job["session"]).map(|place| vec![place])
    };
    places.ok_or_else(unreadable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn session(item: u32) -> Value {
        json!({"key": {"sweep": "s", "cell": 2, "item": item}, "attempt": 0})
    }

    #[test]
    fn the_sessions_of_jobs_are_read_from_messages_as_they_are_and_compressed() {
        let plain = json!({"v": 1, "message": {"session": session(3)}}).to_string();
        let batch =
            json!({"v": 1, "message": {"batch": {"id": "0a", "sessions": [session(4), session(5)]}}}).to_string();
        let compressed = zstd::encode_all(batch.as_bytes(), 0).unwrap();
        let place = |item| ("s".to_owned(), 2, item);
        assert_eq!(sessions(plain.as_bytes()).unwrap(), [place(3)]);
        assert_eq!(sessions(&compressed).unwrap(), [place(4), place(5)]);
        assert_eq!(sessions(json!({"v": 1, "message": {"judge": {}}}).to_string().as_bytes()).unwrap(), []);
    }

    #[test]
    fn a_queue_is_empty_if_it_is_not_there_and_not_if_it_cannot_be_looked_at() {
        let refused = |id| {
            let error = lapin::protocol::AMQPError::from_id(id, "no".into()).unwrap();
            lapin::Error::from(lapin::ErrorKind::ProtocolError(error))
        };
        assert!(is_not_found(&refused(404)));
        assert!(!is_not_found(&refused(405)), "somebody else has it");
        assert!(!is_not_found(&refused(541)), "the broker is in trouble");
        assert!(!is_not_found(&lapin::Error::from(lapin::ErrorKind::MissingHeartbeatError)));
    }

    #[test]
    fn a_message_that_is_no_job_is_an_error() {
        for message in ["", "{}", r#"{"v": 1, "message": {"tomorrow": {}}}"#, r#"{"v": 1, "message": {"session": {}}}"#]
        {
            assert!(sessions(message.as_bytes()).is_err(), "{message}");
        }
    }
}
