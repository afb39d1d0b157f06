//! Groups of items that share what they may know, and ids that are used once.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use regatta_benchmarks::DataError;
use regatta_benchmarks::source_location::SourceLocation;
use regatta_proto::ItemId;

use super::entry::Group;
use super::read_scenarios::Registry;
use super::scenario::Scenario;
use crate::setting::Scope;

/// Groups of items, and the ids that are in use.
#[derive(Debug, Default)]
pub(super) struct Groups {
    known: HashMap<(Scope, String, Arc<str>), Arc<Group>>,
    ids: HashSet<ItemId>,
}

impl Groups {
    /// Makes an item's id from the text in `field`; an error if it is invalid or used before.
    pub(super) fn id(&mut self, place: &SourceLocation<'_>, field: &str, id: &str) -> Result<ItemId, DataError> {
        let id = ItemId::new(id).map_err(|error| place.error(field, error))?;
        if !self.ids.insert(id.clone()) {
            return Err(place.error(field, format!("{id} is the id of an earlier record too; every id may occur once")));
        }
        Ok(id)
    }

    /// Returns the group of a file: the knowledge of `scenario`, or of its whole role.
    pub(super) fn of(&mut self, registry: &Registry, file: &str, scope: Scope, scenario: &Arc<Scenario>) -> Arc<Group> {
        let key = match scope {
            Scope::Single => Arc::clone(&scenario.uuid),
            Scope::Cross => Arc::clone(&scenario.role),
        };
        let group = self.known.entry((scope, file.to_owned(), key)).or_insert_with(|| {
            Arc::new(Group {
                file: file.into(),
                scope,
                domain: Arc::clone(&scenario.domain),
                role: Arc::clone(&scenario.role),
                background: registry.background(&scenario.role).cloned(),
                scenarios: match scope {
                    Scope::Single => vec![Arc::clone(scenario)],
                    Scope::Cross => registry.of_role(&scenario.role),
                },
            })
        });
        Arc::clone(group)
    }
}
