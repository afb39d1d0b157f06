//! The APIs as MCP tools.

use std::collections::HashMap;
use std::sync::Arc;

use regatta_appbench::Phone;
use rmcp::model::{Tool, ToolAnnotations};

use super::describe;

/// Longest name of a tool, in characters ("Tools" in the specification of MCP).
const NAME_MAX: usize = 128;
/// Stands between app and API in a name. Providers of models take no dots.
const BETWEEN: char = '-';

/// All tools, in the order of the phone, and the API of each name.
pub(super) struct Tools {
    list: Vec<Tool>,
    apis: HashMap<String, (Arc<str>, Arc<str>)>,
}

impl Tools {
    /// The tools of a phone. Names are `App-api`; characters that are not allowed in names become underscores, and a number is added to a
    /// name that is taken or too long.
    pub(super) fn of(phone: &Phone) -> Self {
        let mut tools = Self { list: Vec::new(), apis: HashMap::new() };
        for app in phone.apps() {
            for api in &app.apis {
                let mut name = legal(&format!("{}{BETWEEN}{}", app.name, api.name));
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

    /// All tools.
    pub(super) fn list(&self) -> &[Tool] {
        &self.list
    }

    /// App and API of a tool's name. A name that is no tool is split in the same way, so that a call of an app that does not have the API
    /// gets that error.
    pub(super) fn find<'t>(&'t self, name: &'t str) -> Option<(&'t str, &'t str)> {
        let known = self.apis.get(name).map(|(app, api)| (&**app, &**api));
        known.or_else(|| name.split_once(BETWEEN))
    }
}

fn legal(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '_' | '-') { c } else { '_' }).collect()
}
