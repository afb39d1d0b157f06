//! Gauges of money.

use std::collections::BTreeMap;

use regatta_backends::{AccountState, CellProgress};
use regatta_proto::SweepId;

use super::watched::Watched;
use crate::budget::of_sweep;
use crate::forecast::Foretold;
use crate::{Coordinator, Forecast};

impl Coordinator {
    /// Sets the gauges of money, so far as the stores answer; sweeps that are over leave them.
    pub(super) async fn show_money(
        &self,
        watched: &BTreeMap<SweepId, Watched>,
        progress: &BTreeMap<SweepId, Vec<CellProgress>>,
    ) {
        let mut found = Vec::new();
        for (id, progress) in progress {
            let Some(one) = watched.get(id) else { continue };
            let foretold = self.foretold(&one.sweep, progress).await.ok().flatten();
            let account = self.permits.account(&of_sweep(id)).await.ok().flatten();
            let account = account.filter(AccountState::is_capped);
            found.push((id.as_str(), foretold, account));
        }
        // Nothing is awaited from here on, so that hardly a scrape falls between the old values and the new.
        self.forget_money();
        for (id, foretold, account) in found {
            let bounds = match foretold {
                Some(Foretold::Whole(Forecast { expected, low, high, level: _ })) => {
                    vec![("low", low), ("expected", expected), ("high", high)]
                }
                Some(Foretold::AtLeast(least)) => vec![("low", least)],
                None => Vec::new(),
            };
            for (bound, money) in bounds {
                self.metrics.forecast.with_label_values(&[id, bound]).set(money.dollars());
            }
            if let Some(account) = account {
                self.metrics.budget_left.with_label_values(&[id]).set(account.left.dollars());
                self.metrics.budget.with_label_values(&[id]).set(account.cap.dollars());
            }
        }
    }

    pub(super) fn forget_money(&self) {
        self.metrics.forecast.reset();
        self.metrics.budget_left.reset();
        self.metrics.budget.reset();
    }
}
