//! Broadcasts from the broker: each listener binds a queue of its own, which is deleted with its connection.

use std::sync::Arc;

use futures::StreamExt;
use lapin::options::{BasicConsumeOptions, QueueBindOptions};
use lapin::types::{FieldTable, ShortString};
use regatta_proto::{Control, wire};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::Shared;
use super::backoff::Backoff;
use super::link::in_time;
use super::patience::Patience;
use super::topology::QueueSettings;
use crate::queue::{Controls, QueueError};
use crate::{Outage, Subscriptions};

/// Subscribes, and stays subscribed.
pub(super) async fn listen(shared: Arc<Shared>) -> Result<Controls, QueueError> {
    let first = first_subscription(&shared).await?;
    let (newest, receiver) = watch::channel(None);
    let dropped = CancellationToken::new();
    let subscriptions = Subscriptions::default();
    let guard = dropped.clone().drop_guard();
    let controls = Controls::new(receiver, shared.closed.clone(), subscriptions.clone(), Some(guard));
    tokio::spawn(async move {
        let mut subscription = Some(first);
        tokio::select! {
            () = dropped.cancelled() => {}
            () = shared.closed.cancelled() => {}
            () = feed(&shared, &mut subscription, &newest, &subscriptions) => {}
        }
        // Before it is dropped: the client would close it then, and log an error where its connection is being closed at that moment.
        if let Some((channel, _consumer)) = subscription {
            let _ = channel.close(200, "OK".into()).await;
        }
    });
    Ok(controls)
}

const LISTEN: &str = "listen to broadcasts";

type Subscription = (lapin::Channel, lapin::Consumer);

async fn first_subscription(shared: &Shared) -> Result<Subscription, QueueError> {
    let mut patience = Patience::new(shared, LISTEN);
    loop {
        match subscribe(shared).await {
            Ok(subscription) => return Ok(subscription),
            Err(error) => patience.after(error).await?,
        }
    }
}

async fn subscribe(shared: &Shared) -> Result<Subscription, QueueError> {
    in_time(shared.answer_timeout, LISTEN, try_subscribe(shared)).await
}

async fn try_subscribe(shared: &Shared) -> Result<Subscription, QueueError> {
    let failed = || QueueError::broker(LISTEN);
    let channel = shared.consuming.channel().await.map_err(failed())?;
    shared.topology.declare_control(&channel).await?;
    let QueueSettings { options, arguments } = QueueSettings::of_listener();
    let queue = channel.queue_declare(ShortString::default(), options, arguments).await.map_err(failed())?;
    let (exchange, any) = (shared.topology.control()?, ShortString::default());
    let bound = channel.queue_bind(
        queue.name().clone(),
        exchange,
        any.clone(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.map_err(failed())?;
    let options = BasicConsumeOptions { no_ack: true, exclusive: true, ..BasicConsumeOptions::default() };
    let consumer = channel.basic_consume(queue.name().clone(), any, options, FieldTable::default()).await;
    Ok((channel, consumer.map_err(failed())?))
}

async fn feed(
    shared: &Shared,
    subscription: &mut Option<Subscription>,
    newest: &watch::Sender<Option<Arc<Control>>>,
    subscriptions: &Subscriptions,
) {
    let mut lost = None;
    let (mut backoff, mut outage) = (Backoff::new(shared.seed, "control"), Outage::with_own_pauses());
    loop {
        if let Some((_channel, consumer)) = subscription {
            while let Some(Ok(raw)) = consumer.next().await {
                backoff.reset();
                match wire::decode(&raw.data) {
                    Ok(control) => drop(newest.send_replace(Some(Arc::new(control)))),
                    // Broadcasts are repeated and not stored, so an unreadable one is dropped.
                    Err(error) => tracing::error!(
                        error = &error as &dyn std::error::Error,
                        "passed over a broadcast that cannot be read"
                    ),
                }
            }
            tracing::warn!("lost the channel of broadcasts; subscribing again");
        }
        *subscription = None;
        lost.get_or_insert_with(|| subscriptions.lose());
        tokio::time::sleep(backoff.next()).await;
        match subscribe(shared).await {
            Ok(again) => {
                if let Some(lasted) = outage.ends() {
                    tracing::info!(lasted_s = lasted.as_secs(), "listens to broadcasts again");
                }
                *subscription = Some(again);
                drop(lost.take());
            }
            Err(error) => {
                let failed = outage.fails();
                if failed.is_told {
                    let (error, tries) = (&error as &dyn std::error::Error, failed.tries);
                    tracing::warn!(error, tries, "failed to listen to broadcasts; trying again");
                }
            }
        }
    }
}
