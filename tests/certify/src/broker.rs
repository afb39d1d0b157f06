//! Depths of queues, asked of the broker directly.

use lapin::options::{BasicGetOptions, QueueDeclareOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties};
use serde_json::Value;

use crate::CertifyError;
use crate::ledger::SessionPlace;

/// As the roles call their queues.
const PREFIX: &str = "regatta";

/// Messages in the queues of reports, of dead letters and of `jobs`, those that somebody holds not included.
pub(crate) async fn depths(url: &str, jobs: &[String]) -> Result<Vec<(String, u64)>, CertifyError> {
    let mut depths = Vec::new();
    let names = ["reports", "reports.aside", "dead"].map(|name| format!("{PREFIX}.{name}")).into_iter();
    for name in names.chain(jobs.iter().map(|queue| format!("{PREFIX}.jobs.{queue}"))) {
        // A passive declaration of a queue that is not there closes its channel, and the connection is of no use afterwards.
        let connection = Connection::connect(url, ConnectionProperties::default()).await?;
        let channel = connection.create_channel().await?;
        if let Ok(queue) = look(&channel, &name).await {
            depths.push((name, u64::from(queue.message_count())));
            connection.close(200, "done".into()).await?;
        }
    }
    Ok(depths)
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
pub(crate) fn sessions(message: &[u8]) -> Vec<SessionPlace> {
    let plain = zstd::decode_all(message).unwrap_or_else(|_| message.to_owned());
    let document: Value = serde_json::from_slice(&plain).unwrap_or_default();
    let job = &document["message"];
    let of_batch = job["batch"]["sessions"].as_array().into_iter().flatten();
    let keys = of_batch.chain([&job["session"]]).map(|session| &session["key"]);
    let place = |key: &Value| {
        let (sweep, cell, item) = (key["sweep"].as_str()?, key["cell"].as_i64()?, key["item"].as_i64()?);
        Some((sweep.to_owned(), cell, item))
    };
    keys.filter_map(place).collect()
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
        assert_eq!(sessions(plain.as_bytes()), [place(3)]);
        assert_eq!(sessions(&compressed), [place(4), place(5)]);
        assert_eq!(sessions(json!({"v": 1, "message": {"judge": {}}}).to_string().as_bytes()), []);
    }
}
