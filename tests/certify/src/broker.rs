//! Depths of queues, asked of the broker directly.

use lapin::options::{QueueDeclareOptions, QueuePurgeOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Connection, ConnectionProperties};

use crate::CertifyError;

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

/// Throws away what waits in the queues of `jobs`; how many messages that were.
pub(crate) async fn purge(url: &str, jobs: &[String]) -> Result<u64, CertifyError> {
    let connection = Connection::connect(url, ConnectionProperties::default()).await?;
    let channel = connection.create_channel().await?;
    let mut purged = 0;
    for queue in jobs {
        let name = format!("{PREFIX}.jobs.{queue}");
        purged += u64::from(channel.queue_purge(name.as_str().into(), QueuePurgeOptions::default()).await?);
    }
    connection.close(200, "done".into()).await?;
    Ok(purged)
}
