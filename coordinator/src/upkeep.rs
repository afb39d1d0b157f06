//! Removal of what is old by the leader itself: what the policies of schedules no longer keep of their nights, objects that nothing refers to, and
//! cached responses where there is a policy for them.

use std::time::Duration;

use futures::future::BoxFuture;
use regatta_proto::causes;
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tokio_util::sync::CancellationToken;

use crate::cached::CachedWish;
use crate::problems::Problems;
use crate::retention::Passed;
use crate::unused::Removal;
use crate::{Coordinator, CoordinatorError};

/// Time from the start of a process to its first removal, which leaves a fleet alone that is being replaced.
const FIRST_AFTER: Duration = Duration::from_secs(600);
/// Pause between two removals: references are read from many objects.
const EVERY: Duration = Duration::from_secs(6 * 3600);

impl Coordinator {
    /// Removes every six hours, while this process leads, what schedules with a `retention` do not keep, and objects that nothing refers to and
    /// cached responses that are old where these are not kept for good, until `stop` fires. Runs beside [`Coordinator::run`], in a task of its own.
    pub fn keep_removing<'a>(&'a self, stop: CancellationToken) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            // Others may remove what this one refers to.
            self.leave_name(&stop).await;
            let mut looks = interval_at(Instant::now() + FIRST_AFTER, EVERY);
            looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                tokio::select! {
                    biased;
                    () = stop.cancelled() => return,
                    _ = looks.tick() => {}
                }
                // An interrupted removal goes on with the next one.
                match stop.run_until_cancelled(self.remove_what_is_old()).await {
                    None | Some(Ok(()) | Err(CoordinatorError::NotLeading)) => {}
                    Some(Err(error)) => tell(&causes(&error)),
                }
            }
        })
    }

    async fn remove_what_is_old(&self) -> Result<(), CoordinatorError> {
        self.lead_beside_dispatching().await?;
        match self.remove_nights().await {
            Ok(()) => {}
            Err(error @ CoordinatorError::NotLeading) => return Err(error),
            // Objects that nothing refers to go beside nights that cannot.
            Err(error) => tell(&causes(&error)),
        }
        self.remove_all_unused().await?;
        self.remove_old_cached().await
    }

    async fn remove_all_unused(&self) -> Result<(), CoordinatorError> {
        loop {
            self.lead_beside_dispatching().await?;
            let Removal { unused, problems } = self.remove_unused(true).await;
            tell_of(problems);
            if !unused.left {
                return Ok(());
            }
        }
    }

    /// Removes cached responses that are older than they are kept, some at a time, so that a lead that is lost meanwhile ends it.
    async fn remove_old_cached(&self) -> Result<(), CoordinatorError> {
        let Some(days) = self.config.cached_days else { return Ok(()) };
        let mut from = 0;
        loop {
            self.lead_beside_dispatching().await?;
            let (removed, problems) = self.remove_cached(CachedWish { days, from }, true).await;
            tell_of(problems);
            let Some(next) = removed.next else { return Ok(()) };
            from = next;
        }
    }

    async fn remove_nights(&self) -> Result<(), CoordinatorError> {
        if self.pass_over_sweeps(None, false).await?.going.is_empty() {
            return Ok(());
        }
        if let Some(name) = self.neighbour().await? {
            tell(&format!(
                "another database uses this bucket and prefix ({name}), and its sweeps may have the names of those that schedules keep no longer; \
                 delete this object if the other database is gone"
            ));
            return Ok(());
        }
        loop {
            self.lead_beside_dispatching().await?;
            let Passed { going, left, problems, .. } = self.pass_over_sweeps(None, true).await?;
            tell_of(problems);
            // Where nothing went, all that is left is what cannot go now.
            if left == 0 || going.is_empty() {
                return Ok(());
            }
        }
    }
}

fn tell_of(problems: Problems) {
    if !problems.is_empty() {
        tell(&problems.into_texts().join("; "));
    }
}

fn tell(problems: &str) {
    tracing::warn!(problems, "not all that is old is removed; trying again in {} h", EVERY.as_secs() / 3600);
}
