//! Takes sweeps in: plans them, and enters them into the ledger.

use futures::future::BoxFuture;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use regatta_backends::{Created, NewCell, NewSweep};
use regatta_catalog::{CatalogError, Sweep};
use regatta_proto::{Cell, Digest, EndpointKind, Money, OwnerName, SweepLock, check_bounds};

use super::{Coordinator, CoordinatorError};
use crate::admission::{check_data, check_memory, check_recorded};
use crate::{PlanError, Pricing, Submission, Submitted, adaptive, plan, refusals, shards};

impl Coordinator {
    /// Plans a sweep of `owner` and writes it to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When the spec does not fit its data, a quota of the owner is used up, data was removed meanwhile, or a store fails.
    pub fn submit<'a>(
        &'a self,
        submission: Submission,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        Box::pin(async move {
            check_bounds(&submission.spec).map_err(PlanError::from)?;
            let sweep = self.plan_for(submission, owner).await?;
            self.enter_for(&sweep, owner).await
        })
    }

    /// Resolves a submission of nobody into a sweep and stores its lock, without running anything.
    ///
    /// # Errors
    /// When the spec does not fit its data, or Blobs fail.
    pub fn plan(&self, submission: Submission) -> BoxFuture<'_, Result<Arc<Sweep>, CoordinatorError>> {
        self.plan_for(submission, None)
    }

    /// Resolves a submission of `owner` into a sweep and stores its lock, without running anything.
    ///
    /// # Errors
    /// When the spec does not fit its data, the owner's storage quota is used up, or a store fails.
    pub fn plan_for<'a>(
        &'a self,
        submission: Submission,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Arc<Sweep>, CoordinatorError>> {
        Box::pin(async move {
            if self.config.queue_survives {
                refusals::refuse_commands(&submission)?;
                refusals::refuse_paths(&submission)?;
                refusals::refuse_growing_audits(&submission)?;
                check_data(&submission.data, self.recorded_bytes(&submission).await?)?;
                self.refer_to_files(&submission, owner).await?;
                if let Some(most) = self.config.data_memory {
                    check_memory(self.catalog.blobs(), &submission.data, most).await?;
                }
                check_recorded(self.catalog.blobs(), &submission.recorded).await?;
            }
            let mut datasets = BTreeMap::new();
            for (benchmark, snapshot) in &submission.data {
                datasets.insert(benchmark.clone(), self.store_manifest(snapshot, owner).await?);
            }
            if self.config.queue_survives {
                refusals::refuse_simulated(&submission)?;
            } else {
                refusals::refuse_batches(&submission)?;
            }
            let pricing = match self.is_limited_in_money(owner).await? {
                true => Pricing::of_operator(&*self.prices),
                false => Pricing::of_specs(&*self.prices),
            };
            let mut lock = plan(submission.spec, &datasets, &submission.recorded, &self.catalog, pricing).await?;
            while self.is_removed(&lock).await? {
                lock.removed_before += 1;
            }
            self.store_lock(&lock, owner).await
        })
    }

    /// `true` if the sweep of `lock` was removed, or is being removed.
    async fn is_removed(&self, lock: &SweepLock) -> Result<bool, CoordinatorError> {
        let id = lock.sweep_id(&Digest::of(&lock.to_bytes()?)).map_err(CatalogError::from)?;
        Ok(!self.ledger.removed(&BTreeSet::from([id])).await?.is_empty())
    }

    /// `true` if `owner` has a quota of money, in the policy or in the ledger.
    async fn is_limited_in_money(&self, owner: Option<&OwnerName>) -> Result<bool, CoordinatorError> {
        let Some(owner) = owner else { return Ok(false) };
        if self.quotas.of(Some(owner)).granted.budget.is_some() {
            return Ok(true);
        }
        let rows = self.ledger.owners().await?;
        Ok(rows.iter().any(|row| row.owner == *owner && row.quota.budget.is_some()))
    }

    /// Writes a planned sweep of nobody to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When the ledger fails.
    pub fn enter<'a>(&'a self, sweep: &'a Sweep) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        self.enter_for(sweep, None)
    }

    /// Writes a planned sweep of `owner` to the ledger; it is dispatched from the next tick on.
    ///
    /// # Errors
    /// When a quota of the owner is used up, an input was removed since it was planned, or a store fails.
    pub fn enter_for<'a>(
        &'a self,
        sweep: &'a Sweep,
        owner: Option<&'a OwnerName>,
    ) -> BoxFuture<'a, Result<Submitted, CoordinatorError>> {
        Box::pin(async move {
            let lock = &sweep.lock;
            let first = adaptive::first_round(sweep)?;
            let sessions_of = |cell: &Cell| match &first {
                Some(released) => released.get(&cell.index).copied().unwrap_or(0),
                None => sweep.selected(cell).len() as u32,
            };
            let cells = sweep
                .cells()
                .iter()
                .map(|cell| NewCell {
                    cell: cell.clone(),
                    items: sessions_of(cell),
                    queue: lock
                        .endpoints
                        .get(&cell.model.endpoint)
                        .map_or_else(String::new, |endpoint| endpoint.queue(&cell.model.endpoint, &sweep.id)),
                })
                .collect();
            let inputs = self.refer_to_inputs(sweep, owner).await?;
            let created = self
                .ledger
                .create_sweep(NewSweep {
                    id: sweep.id.clone(),
                    name: lock.name.to_string(),
                    lock: sweep.digest,
                    budget: lock.budget_usd.and_then(Money::from_dollars),
                    created_at: self.clock.now(),
                    cells,
                    shards: shards::cut(sweep, self.config.window)?,
                    owner: owner.cloned(),
                    quota: self.quotas.of(owner).granted,
                    inputs,
                })
                .await?;
            if created == Created::New {
                self.adopt(&sweep.id);
            }
            let sessions = sweep.cells().iter().map(|cell| sweep.selected(cell).len() as u64).sum();
            tracing::info!(sweep = %sweep.id, sessions, cells = sweep.cells().len(), "planned");
            Ok(Submitted { id: sweep.id.clone(), created: matches!(created, Created::New), sessions })
        })
    }

    /// Bytes of all recorded verdicts of `submission`, which are stored.
    async fn recorded_bytes(&self, submission: &Submission) -> Result<u64, CoordinatorError> {
        let mut bytes = 0_u64;
        for (name, digest) in &submission.recorded {
            let refused = |field: String, problem: String| PlanError::Field { field, problem };
            let endpoint = submission.spec.endpoints.get(name);
            if endpoint.is_none_or(|endpoint| endpoint.kind != EndpointKind::Recorded) {
                let problem = "the spec has no endpoint of this name and of kind recorded; leave it out".to_owned();
                return Err(refused(format!("recorded.{name}"), problem).into());
            }
            let size = self.catalog.blobs().content_size(digest).await?.ok_or_else(|| {
                let problem =
                    format!("the file of the digest {digest} is not stored; upload it first, as `regatta submit` does");
                refused(format!("endpoints.{name}.path"), problem)
            })?;
            bytes = bytes.saturating_add(size);
        }
        Ok(bytes)
    }
}
