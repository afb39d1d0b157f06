//! The phone: its apps and their APIs (docs/benchmarks/appbench.md §2.3).

use std::collections::HashMap;
use std::sync::Arc;

/// The apps of the phone, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phone {
    apps: Vec<App>,
    /// The list of apps for their selection: name and description of each.
    pub(crate) flat_apps_desc: Arc<str>,
    /// Positions of the apps by lower-case name; the first counts.
    by_lower_name: HashMap<String, usize>,
    /// Position of the first app that has an API of this name.
    first_owner: HashMap<Arc<str>, usize>,
}

/// An app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    /// Name of the app, unique on the phone.
    pub name: Arc<str>,
    /// Purpose of the app, in a sentence.
    pub desc: Arc<str>,
    /// APIs of the app.
    pub apis: Vec<Api>,
    /// `NAME: {description as a Python dictionary} \n\n `, as official prompts have it.
    pub block: Arc<str>,
}

/// An API of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Api {
    /// Name of the API.
    pub name: Arc<str>,
    /// Effect of the API, in a sentence.
    pub desc: Arc<str>,
    /// True if a call changes the world.
    pub is_transactional: bool,
    /// Arguments that a call must have.
    pub required: Vec<Slot>,
    /// Arguments that a call may have.
    pub optional: Vec<Slot>,
    /// Arguments that a call returns.
    pub returns: Vec<Slot>,
}

/// An argument, going in or coming out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slot {
    /// Name of the argument.
    pub name: Arc<str>,
    /// `str`, `int`, `float`, `bool`, `date` or `time`; `None` when the description has no type.
    pub kind: Option<Arc<str>>,
    /// Meaning of the argument, in a sentence.
    pub desc: Arc<str>,
}

impl Phone {
    /// A phone with these apps.
    pub(super) fn new(apps: Vec<App>, flat_apps_desc: Arc<str>) -> Self {
        let (mut by_lower_name, mut first_owner) = (HashMap::new(), HashMap::new());
        for (at, app) in apps.iter().enumerate() {
            by_lower_name.entry(app.name.to_lowercase()).or_insert(at);
            for api in &app.apis {
                first_owner.entry(Arc::clone(&api.name)).or_insert(at);
            }
        }
        Self { apps, flat_apps_desc, by_lower_name, first_owner }
    }

    /// The apps in phone order.
    #[must_use]
    pub fn apps(&self) -> &[App] {
        &self.apps
    }

    /// The app of exactly this name.
    #[must_use]
    pub fn app(&self, name: &str) -> Option<&App> {
        self.apps.iter().find(|app| *app.name == *name)
    }

    /// The app of this name in any case; `lower` is in lower case.
    pub(crate) fn app_by_lower_name(&self, lower: &str) -> Option<&App> {
        self.by_lower_name.get(lower).and_then(|at| self.apps.get(*at))
    }

    /// True if some app has an API of this name.
    pub(crate) fn has_api(&self, name: &str) -> bool {
        self.first_owner.contains_key(name)
    }

    /// The first app in phone order that has an API of this name, and the API.
    pub(crate) fn first_owner(&self, api: &str) -> Option<(&App, &Api)> {
        let app = self.apps.get(*self.first_owner.get(api)?)?;
        Some((app, app.api(api)?))
    }

    /// The description of an API: that of the app (lower-case name), or of the first app that has one of this name
    /// (docs/benchmarks/appbench.md §6).
    pub(crate) fn description(&self, lower_app: &str, api: &str) -> Option<&Api> {
        self.app_by_lower_name(lower_app)
            .and_then(|app| app.api(api))
            .or_else(|| self.first_owner(api).map(|(_, api)| api))
    }
}

impl App {
    /// The app's API of this name; `None` if it has none.
    #[must_use]
    pub fn api(&self, name: &str) -> Option<&Api> {
        self.apis.iter().find(|api| *api.name == *name)
    }
}

impl Api {
    /// All arguments that it takes: those required, then the optional ones.
    pub fn arguments(&self) -> impl Iterator<Item = &Slot> {
        self.required.iter().chain(&self.optional)
    }

    /// The described names of what it returns.
    pub(crate) fn returned_names(&self) -> impl ExactSizeIterator<Item = &Arc<str>> {
        self.returns.iter().map(|slot| &slot.name)
    }
}
