//! Who plays what in a session: models, the endpoints they are asked at, and who pays for them.

use std::collections::BTreeMap;

use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_proto::{AccountId, Cell, EndpointName, ModelRef, ModelSpec, Role};

/// The players of one session.
pub(crate) struct Cast {
    agent: Player,
    others: Vec<(Role, Player)>,
}

/// One player.
pub(crate) struct Player {
    pub(crate) endpoint: Endpoint,
    /// The provider's own name.
    pub(crate) model: String,
    /// Its parameters and its price; none for a model that the lock does not have.
    pub(crate) parameters: Option<ModelSpec>,
    /// Accounts that its calls are paid from.
    pub(crate) accounts: Vec<AccountId>,
}

impl Cast {
    /// The cast of sessions of `cell`, whose model under test is asked at `endpoint`, and the others at those of `beside` that the spec
    /// names. A role whose endpoint is not open in this process is missing.
    pub(crate) fn of(
        sweep: &Sweep,
        cell: &Cell,
        endpoint: &Endpoint,
        beside: &BTreeMap<EndpointName, Endpoint>,
    ) -> Self {
        let agent = Player {
            endpoint: endpoint.clone(),
            model: cell.model.model.clone(),
            parameters: sweep.lock.model(&cell.model).cloned(),
            accounts: accounts(sweep, Some(&cell.model)),
        };
        let roles = sweep.benchmark(cell).into_iter().flat_map(|benchmark| benchmark.roles.iter());
        let others = roles.filter_map(|(role, model)| {
            let name = &model.id.endpoint;
            let endpoint = if *name == cell.model.endpoint { endpoint } else { beside.get(name)? };
            let player = Player {
                endpoint: endpoint.clone(),
                model: model.id.model.clone(),
                parameters: Some(model.clone()),
                // The budget of a model under test is for that model alone.
                accounts: accounts(sweep, None),
            };
            Some((role, player))
        });
        Self { agent, others: others.collect() }
    }

    /// Who plays `role`.
    pub(crate) fn player(&self, role: Role) -> Option<&Player> {
        match role {
            Role::Agent => Some(&self.agent),
            role => self.others.iter().find(|(other, _)| *other == role).map(|(_, player)| player),
        }
    }
}

/// The accounts that calls of `sweep` are paid from: its own, and that of the model under test, as far as they have budgets.
pub(crate) fn accounts(sweep: &Sweep, model: Option<&ModelRef>) -> Vec<AccountId> {
    let of_sweep = sweep.lock.budget_usd.map(|_| AccountId { sweep: sweep.id.clone(), model: None });
    let budgeted = model.filter(|model| sweep.lock.model(model).is_some_and(|spec| spec.budget_usd.is_some()));
    let of_model = budgeted.map(|model| AccountId { sweep: sweep.id.clone(), model: Some(model.clone()) });
    of_sweep.into_iter().chain(of_model).collect()
}
