//! Deliveries to a consumer, and their receipts.

use std::sync::Arc;

#[cfg(feature = "cluster")]
use regatta_memory::ByteHolder;
use regatta_proto::Control;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::memory::{MemoryConsumer, MemoryReceipt};
#[cfg(feature = "cluster")]
use super::rabbitmq::{RabbitMqConsumer, RabbitMqReceipt};
#[cfg(feature = "faults")]
use super::troubled::TroubledConsumer;
use crate::Subscriptions;

/// A delivered message with its receipt.
#[derive(Debug)]
pub struct Delivery<T> {
    /// The published message.
    pub message: T,
    /// Number of earlier deliveries; 0 the first time.
    pub redeliveries: u32,
    /// To be settled when the effects of the message are durable.
    pub receipt: Receipt,
}

/// The right to settle one delivery. Dropping it hands the message back; a report goes back with its consumer, so that nothing overtakes it.
///
/// Settling never fails: if the broker is gone, it delivers the message again, and the ledger accepts repetitions.
#[derive(Debug)]
pub struct Receipt {
    kind: Kind,
    /// Bytes of the message, given back when it is settled.
    #[cfg(feature = "cluster")]
    _holder: Option<ByteHolder>,
}

#[derive(Debug)]
enum Kind {
    Memory(MemoryReceipt),
    #[cfg(feature = "cluster")]
    RabbitMq(RabbitMqReceipt),
}

impl Receipt {
    /// Acknowledges the message, which will not be delivered again.
    pub async fn ack(self) {
        match self.kind {
            Kind::Memory(receipt) => receipt.ack(),
            #[cfg(feature = "cluster")]
            Kind::RabbitMq(receipt) => receipt.ack().await,
        }
    }

    /// Hands the message back, to be delivered again at once to any consumer.
    pub async fn hand_back(self) {
        match self.kind {
            Kind::Memory(receipt) => receipt.hand_back(),
            #[cfg(feature = "cluster")]
            Kind::RabbitMq(receipt) => receipt.hand_back().await,
        }
    }

    /// Fires when the message is delivered again to any consumer, because the connection that it came on is gone.
    #[must_use]
    pub fn voided(&self) -> CancellationToken {
        match &self.kind {
            Kind::Memory(receipt) => receipt.voided(),
            #[cfg(feature = "cluster")]
            Kind::RabbitMq(receipt) => receipt.voided(),
        }
    }

    /// Acknowledges many receipts, in few frames where their order allows.
    pub async fn ack_all(receipts: Vec<Self>) {
        #[cfg(feature = "cluster")]
        let mut of_broker = Vec::new();
        for receipt in receipts {
            match receipt.kind {
                Kind::Memory(receipt) => receipt.ack(),
                #[cfg(feature = "cluster")]
                Kind::RabbitMq(receipt) => of_broker.push(receipt),
            }
        }
        #[cfg(feature = "cluster")]
        RabbitMqReceipt::ack_all(of_broker).await;
    }

    pub(super) fn memory(receipt: MemoryReceipt) -> Self {
        Self {
            kind: Kind::Memory(receipt),
            #[cfg(feature = "cluster")]
            _holder: None,
        }
    }

    #[cfg(feature = "cluster")]
    pub(super) fn rabbitmq(receipt: RabbitMqReceipt, holder: Option<ByteHolder>) -> Self {
        Self { kind: Kind::RabbitMq(receipt), _holder: holder }
    }
}

/// A stream of deliveries that survives reconnects. Dropping it returns all unsettled messages, and voids their receipts.
#[derive(Debug)]
pub struct Consumer<T>(Source<T>);

#[derive(Debug)]
enum Source<T> {
    Memory(MemoryConsumer<T>),
    #[cfg(feature = "cluster")]
    RabbitMq(RabbitMqConsumer<T>),
    #[cfg(feature = "faults")]
    Troubled(TroubledConsumer<T>),
}

impl<T: Clone + Send + Sync + 'static> Consumer<T> {
    /// The next message; `None` after [`Consumer::stop`] or when the queue was closed. May be cancelled without loss.
    pub async fn next(&mut self) -> Option<Delivery<T>> {
        match &mut self.0 {
            Source::Memory(consumer) => consumer.next().await,
            #[cfg(feature = "cluster")]
            Source::RabbitMq(consumer) => consumer.next().await,
            #[cfg(feature = "faults")]
            Source::Troubled(consumer) => consumer.next().await,
        }
    }

    /// Stops fetching. Messages that were fetched but not returned by [`Consumer::next`] are handed back; receipts of others stay valid
    /// until the consumer is dropped.
    pub fn stop(&mut self) {
        match &mut self.0 {
            Source::Memory(consumer) => consumer.stop(),
            #[cfg(feature = "cluster")]
            Source::RabbitMq(consumer) => consumer.stop(),
            #[cfg(feature = "faults")]
            Source::Troubled(consumer) => consumer.stop(),
        }
    }

    /// Subscriptions by which it is fed; those in memory are always there.
    #[must_use]
    pub fn subscriptions(&self) -> Subscriptions {
        match &self.0 {
            Source::Memory(_) => Subscriptions::default(),
            #[cfg(feature = "cluster")]
            Source::RabbitMq(consumer) => consumer.subscriptions(),
            #[cfg(feature = "faults")]
            Source::Troubled(_) => Subscriptions::default(),
        }
    }

    pub(super) fn memory(consumer: MemoryConsumer<T>) -> Self {
        Self(Source::Memory(consumer))
    }

    #[cfg(feature = "cluster")]
    pub(super) fn rabbitmq(consumer: RabbitMqConsumer<T>) -> Self {
        Self(Source::RabbitMq(consumer))
    }

    #[cfg(feature = "faults")]
    pub(super) fn troubled(consumer: TroubledConsumer<T>) -> Self {
        Self(Source::Troubled(consumer))
    }
}

/// A listener's view of the broadcasts. Each broadcast supersedes the ones before, so a slow listener sees only the newest.
#[derive(Debug)]
pub struct Controls {
    newest: watch::Receiver<Option<Arc<Control>>>,
    closed: CancellationToken,
    subscriptions: Subscriptions,
    _feed: Option<DropGuard>,
}

impl Controls {
    pub(super) fn new(
        newest: watch::Receiver<Option<Arc<Control>>>,
        closed: CancellationToken,
        subscriptions: Subscriptions,
        feed: Option<DropGuard>,
    ) -> Self {
        Self { newest, closed, subscriptions, _feed: feed }
    }

    /// The subscription by which broadcasts come; the one in memory is always there.
    #[must_use]
    pub fn subscriptions(&self) -> Subscriptions {
        self.subscriptions.clone()
    }

    /// The newest broadcast that was not returned before; waits for one if necessary. `None` once the queue is closed. May be cancelled
    /// without loss.
    pub async fn next(&mut self) -> Option<Control> {
        loop {
            let changed = self.closed.run_until_cancelled(self.newest.changed()).await?;
            changed.ok()?;
            if let Some(control) = self.newest.borrow_and_update().as_deref() {
                return Some(control.clone());
            }
        }
    }
}
