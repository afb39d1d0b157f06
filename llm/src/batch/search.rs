//! Searches for a batch whose submission is in doubt.

use std::ops::RangeInclusive;

use futures::future::BoxFuture;
use jiff::{SignedDuration, Timestamp};
use regatta_proto::{ErrorClass, Try};
use reqwest::header::HeaderMap;

use super::shapes::{Page, Stage};
use super::{Api, BatchClient, anthropic, openai, position, tried};
use crate::errors::Failure;

/// Largest difference between the clocks of a provider and a worker.
const CLOCKS_APART: SignedDuration = SignedDuration::from_mins(5);
/// Pages of the list that are searched, newest first: twenty thousand batches.
const PAGES_MAX: usize = 200;

/// Result of a search for a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Found {
    /// The provider does not have the batch.
    Nothing,
    /// The provider has it under this id.
    Exactly(String),
    /// Batches that may be it; see [`BatchClient::holds`].
    Perhaps(Vec<String>),
}

impl BatchClient {
    /// Searches for the batch `id` of `lines` lines, which may have been submitted by an intent of one of the times `intended`. One that the
    /// provider has refused is found where there is no other of that name.
    ///
    /// # Errors
    /// When the list of batches cannot be fetched, or is too long for it to be clear that the batch is not in it.
    pub fn find<'a>(
        &'a self,
        id: &'a str,
        intended: RangeInclusive<Timestamp>,
        lines: usize,
    ) -> BoxFuture<'a, Result<Found, Try>> {
        Box::pin(async move {
            let from = *intended.start() - CLOCKS_APART;
            let to = *intended.end() + CLOCKS_APART + self.sending.longest_post();
            let (mut after, mut perhaps, mut refused) = (None, Vec::new(), None);
            for pages in 1.. {
                let page = self.page(after.as_deref()).await.map_err(tried)?;
                // Pages are ordered by age, newest first, so all pages after one of older batches are older still.
                let is_last = page.batches.iter().all(|batch| batch.created_at.is_some_and(|created| created < from));
                for batch in page.batches {
                    let is_of_that_time = batch.created_at.is_none_or(|created| from <= created && created <= to);
                    match self.api {
                        // Whoever submitted one that was refused may have gone on from that, and a second one would be paid for besides.
                        Api::OpenAi if batch.name.as_deref() == Some(id) => {
                            let found = self.checked_id(batch.id).map_err(tried)?;
                            if !matches!(batch.stage, Stage::Failed { .. }) {
                                return Ok(Found::Exactly(found));
                            }
                            refused = refused.or(Some(found));
                        }
                        Api::Anthropic if is_of_that_time && batch.total == lines as u64 => perhaps.push(batch.id),
                        _ => {}
                    }
                }
                let Some(next) = page.next.filter(|_| !is_last) else { break };
                if pages == PAGES_MAX {
                    // To say that it is nowhere would have it paid for again.
                    let detail = format!("the list of batches since {from} is longer than {PAGES_MAX} pages");
                    return Err(tried(Failure::unanswered(ErrorClass::Timeout, detail)));
                }
                after = Some(self.checked_id(next).map_err(tried)?);
            }
            Ok(match refused {
                Some(refused) => Found::Exactly(refused),
                None if perhaps.is_empty() => Found::Nothing,
                None => Found::Perhaps(perhaps),
            })
        })
    }

    /// `true` if the provider's batch, which must have ended, is our batch `id`.
    ///
    /// # Errors
    /// When its results cannot be fetched.
    pub fn holds<'a>(&'a self, provider_id: &'a str, id: &'a str) -> BoxFuture<'a, Result<bool, Try>> {
        Box::pin(async move {
            let batch = self.batch(provider_id).await.map_err(tried)?;
            let paths = self.results(&batch).map_err(tried)?;
            let Some(path) = paths.first() else { return Ok(false) };
            let mut is_ours = false;
            let mut on_line = |_: &HeaderMap, line: &[u8]| {
                let custom_id = self.read_result(line).map(|result| result.custom_id);
                is_ours = custom_id.is_ok_and(|custom_id| position(id, &custom_id).is_some());
                false
            };
            self.sending.lines(path, &mut on_line).await.map_err(tried)?;
            Ok(is_ours)
        })
    }

    async fn page(&self, after: Option<&str>) -> Result<Page, Failure> {
        match self.api {
            Api::OpenAi => self.sending.get(&openai::page(after), "a list of batches", openai::read_page).await,
            Api::Anthropic => {
                self.sending.get(&anthropic::page(after), "a list of batches", anthropic::read_page).await
            }
        }
    }
}
