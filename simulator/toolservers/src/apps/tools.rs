//! The APIs as tools of MCP.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_appbench::Phone;
use rmcp::model::{Tool, ToolAnnotations};

use super::describe;

/// The most characters of a tool's name ("Tools" in the specification of MCP).
const NAME_MAX: usize = 128;

/// All tools, in phone order, and the APIs that their names mean.
pub(super) struct Tools {
    list: Vec<Tool>,
    apis: HashMap<String, (Arc<str>, Arc<str>)>,
}

impl Tools {
    /// The tools of a phone. Names are `App.api`; characters that names of tools may not have become underscores, and a name that is
    /// taken or too long gets its number.
    pub(super) fn of(phone: &Phone) -> Self {
        let mut tools = Self { list: Vec::new(), apis: HashMap::new() };
        for app in phone.apps() {
            for api in &app.apis {
                let mut name = legal(&format!("{}.{}", app.name, api.name));
                if tools.apis.contains_key(&name) || name.len() > NAME_MAX {
                    name = format!("tool-{}", tools.list.len() + 1);
                }
                let description = format!("{}: {}", app.desc, api.desc);
                let annotations = ToolAnnotations::new().read_only(!api.is_transactional).open_world(false);
                tools
                    .list
                    .push(Tool::new(name.clone(), description, describe::arguments(api)).with_annotations(annotations));
                tools.apis.insert(name, (Arc::clone(&app.name), Arc::clone(&api.name)));
            }
        }
        tools
    }

    /// The tools, to be listed.
    pub(super) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// App and API that the name of a tool means. What is no tool may still be written like one, so that a call into an app that does
    /// not own the API is answered as such.
    pub(super) fn find<'t>(&'t self, name: &'t str) -> Option<(&'t str, &'t str)> {
        let known = self.apis.get(name).map(|(app, api)| (&**app, &**api));
        known.or_else(|| name.split_once('.'))
    }
}

fn legal(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '_' }).collect()
}
