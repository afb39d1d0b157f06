//! Models that play the roles of a session, with their endpoints and the accounts that pay for their calls.

use std::collections::BTreeMap;

use regatta_catalog::Sweep;
use regatta_llm::Endpoint;
use regatta_proto::{AccountId, Cell, EndpointName, MemberName, ModelRef, ModelSpec, Price, Role};

/// The players of one session.
pub(crate) struct Cast {
    agent: Player,
    others: Vec<(Role, Player)>,
    /// Members of the team whom other models play; `None` where their endpoint is not open in this process.
    members: Vec<(MemberName, Option<Player>)>,
}

/// One player.
pub(crate) struct Player {
    pub(crate) endpoint: Endpoint,
    /// The provider's own name.
    pub(crate) model: String,
    /// Parameters and price of the model; `None` for a model that the lock does not have.
    pub(crate) parameters: Option<ModelSpec>,
    /// Accounts that its calls are paid from.
    pub(crate) accounts: Vec<AccountId>,
}

impl Player {
    /// Price of the model's tokens; `None` when the model has none.
    pub(crate) fn price(&self) -> Option<&Price> {
        self.parameters.as_ref()?.price.as_ref()
    }
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
        let parameters = sweep.lock.model(&cell.model);
        let agent = Player {
            endpoint: endpoint.clone(),
            model: cell.model.model.clone(),
            parameters: parameters.cloned(),
            accounts: accounts(sweep, Some(&cell.model), parameters.and_then(|model| model.price.as_ref())),
        };
        let play = |model: &ModelSpec| {
            let name = &model.id.endpoint;
            let endpoint = if *name == cell.model.endpoint { endpoint } else { beside.get(name)? };
            Some(Player {
                endpoint: endpoint.clone(),
                model: model.id.model.clone(),
                parameters: Some(model.clone()),
                // The budget of a model under test is for that model alone.
                accounts: accounts(sweep, None, model.price.as_ref()),
            })
        };
        let locked = sweep.benchmark(cell);
        let roles = locked.into_iter().flat_map(|benchmark| benchmark.roles.iter());
        let others = roles.filter_map(|(role, model)| Some((role, play(model)?)));
        let cast = locked.and_then(|benchmark| benchmark.casts.get(cell.setting.cast()?));
        let members = cast.into_iter().flatten().map(|(member, model)| (member.clone(), play(model)));
        Self { agent, others: others.collect(), members: members.collect() }
    }

    /// Player of `role`; of `member`, if it is a member of the agent's team whom another model plays. `None` when nobody plays it, or the
    /// endpoint is not open in this process.
    pub(crate) fn player(&self, role: Role, member: Option<&MemberName>) -> Option<&Player> {
        match role {
            Role::Agent => match self.members.iter().find(|(name, _)| Some(name) == member) {
                Some((_, player)) => player.as_ref(),
                None => Some(&self.agent),
            },
            role => self.others.iter().find(|(other, _)| *other == role).map(|(_, player)| player),
        }
    }
}

/// The accounts that calls of `sweep` at `price` are paid from: its own, and that of the model under test, where that has a budget. Without
/// a price nothing can be counted; a budget refuses such calls.
pub(crate) fn accounts(sweep: &Sweep, model: Option<&ModelRef>, price: Option<&Price>) -> Vec<AccountId> {
    let counts = price.is_some() || sweep.lock.budget_usd.is_some();
    let of_sweep = counts.then(|| AccountId { sweep: sweep.id.clone(), model: None });
    let budgeted = model.filter(|model| sweep.lock.model(model).is_some_and(|spec| spec.budget_usd.is_some()));
    let of_model = budgeted.map(|model| AccountId { sweep: sweep.id.clone(), model: Some(model.clone()) });
    of_sweep.into_iter().chain(of_model).collect()
}
