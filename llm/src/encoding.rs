//! Answers questions with a sentence encoder in this process.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::stream::{FuturesUnordered, StreamExt};
use regatta_encoder::SentenceEncoder;
use regatta_proto::{AskedQuestion, EndpointName, ErrorClass};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::answer::{Answers, Trouble};
use crate::call::Interrupted;
use crate::embedding::Embedding;
use crate::open_error::OpenError;
use crate::similarity::{Known, VectorCache, Vectors, answers};

/// Texts encoded in one go, before other waiting questions get a turn.
const TEXTS_AT_ONCE: usize = 16;

/// An encoder with its cache. Encoding runs on at most as many blocking threads as there are processors.
#[derive(Debug)]
pub(crate) struct Encoding {
    encoder: Arc<SentenceEncoder>,
    served: Arc<str>,
    threads: Arc<Semaphore>,
    cache: VectorCache,
    in_flight: AtomicUsize,
}

impl Encoding {
    /// Loads the model of `dir`.
    ///
    /// # Errors
    /// When its files cannot be used; names the endpoint.
    pub(crate) fn open(endpoint: &EndpointName, dir: &Path) -> Result<Self, OpenError> {
        let encoder = SentenceEncoder::open(dir)
            .map_err(|source| OpenError::Encoder { endpoint: endpoint.clone(), source: Box::new(source) })?;
        let digest: String = encoder.digest().chars().take(8).collect();
        let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        Ok(Self {
            served: format!("{} (sentence encoder in-process, {digest})", encoder.name()).into(),
            encoder: Arc::new(encoder),
            threads: Arc::new(Semaphore::new(threads)),
            cache: VectorCache::new(),
            in_flight: AtomicUsize::new(0),
        })
    }

    /// Batches of texts that are being encoded.
    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Answers `questions`.
    pub(crate) async fn answer(
        &self,
        questions: &[AskedQuestion],
        interrupt: &CancellationToken,
    ) -> Result<Answers, Interrupted> {
        // The encoder determines the model, whatever its name in the spec.
        let mut vectors = Vectors::new();
        // Asked again, its texts are in the cache.
        let interrupted = || Interrupted::after(Answers::default());
        loop {
            let asking = tokio::select! {
                biased;
                asking = self.cache.next(("", ""), questions, &mut vectors) => asking,
                () = interrupt.cancelled() => return Err(interrupted()),
            };
            let Some(asking) = asking else { break };
            let mut batches: FuturesUnordered<_> = asking
                .texts
                .chunks(TEXTS_AT_ONCE)
                .map(|texts| async move { (texts, self.encode(texts, interrupt).await) })
                .collect();
            while let Some((texts, encoded)) =
                interrupt.run_until_cancelled(batches.next()).await.ok_or_else(interrupted)?
            {
                for (text, result) in texts.iter().zip(encoded) {
                    if let Ok(known) = &result {
                        self.cache.keep("", text, known);
                    }
                    vectors.insert(*text, result);
                }
            }
        }
        Ok(answers(questions, &vectors, self.encoder.name()))
    }

    async fn encode(&self, texts: &[&str], interrupt: &CancellationToken) -> Vec<Result<Arc<Known>, Trouble>> {
        let trouble = |reason: String| Trouble { class: ErrorClass::BadResponse, reason };
        let Ok(thread) = Arc::clone(&self.threads).acquire_owned().await else {
            // Acquiring fails only for a closed semaphore, and this one is never closed.
            return std::future::pending().await;
        };
        let (encoder, served, interrupt) = (Arc::clone(&self.encoder), Arc::clone(&self.served), interrupt.clone());
        let owned: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        let encoding = tokio::task::spawn_blocking(move || {
            let _thread = thread;
            let encode = |text: &String| {
                let values = encoder.encode(text).map_err(|error| trouble(error.to_string()))?;
                let vector = Embedding::new(values)
                    .ok_or_else(|| trouble(format!("the encoder gives {text:?} no direction")))?;
                Ok(Arc::new(Known { vector, served: Arc::clone(&served) }))
            };
            owned.iter().take_while(|_| !interrupt.is_cancelled()).map(encode).collect::<Vec<_>>()
        });
        let encoded = encoding.await;
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        encoded.unwrap_or_else(|error| vec![Err(trouble(format!("the encoder failed: {error}"))); texts.len()])
    }
}
