//! Rules of agents in pods of Kubernetes: the section `pods` of `containers` in a policy file.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Image of a registry's own name: letters, digits and what separates them.
const IMAGE_SIGNS: &str = "._-/:@";
/// Prefix of the labels by which Regatta finds its pods.
const OWN_LABELS: &str = "regatta/";

/// Rules of all pods that a worker makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PodRules {
    /// Image of this program, which is the first container of each pod.
    pub(crate) program_image: String,
    /// Namespace of the pods; the worker's own when absent.
    #[serde(default)]
    pub(crate) namespace: Option<String>,
    /// Labels of the pods, by which network policies select them.
    #[serde(default)]
    pub(crate) labels: BTreeMap<String, String>,
    /// Secrets of that namespace with credentials of registries.
    #[serde(default)]
    pub(crate) pull_secrets: Vec<String>,
    /// Labels that nodes must have.
    #[serde(default)]
    pub(crate) node_selector: BTreeMap<String, String>,
    /// Taints that are tolerated, as Kubernetes takes them.
    #[serde(default)]
    pub(crate) tolerations: Vec<Value>,
    /// Runtime class: a sandbox, where the cluster has one.
    #[serde(default)]
    pub(crate) runtime_class: Option<String>,
    /// Priority class.
    #[serde(default)]
    pub(crate) priority_class: Option<String>,
    /// Resources that a node must have free for a pod.
    #[serde(default)]
    pub(crate) requests: PodRequests,
}

/// Room that a pod is given for certain; it may use more, up to the agent's limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct PodRequests {
    /// Thousandths of a processor.
    pub(crate) cpu_millis: u32,
    /// Memory, in MiB.
    pub(crate) memory_mb: u32,
}

impl Default for PodRequests {
    fn default() -> Self {
        Self { cpu_millis: 100, memory_mb: 256 }
    }
}

impl PodRules {
    /// Finds what no pod could be made by; names the field.
    pub(super) fn check(&self) -> Result<(), String> {
        let image = &self.program_image;
        let is_image = image.starts_with(|c: char| c.is_ascii_alphanumeric())
            && image.chars().all(|c| c.is_ascii_alphanumeric() || IMAGE_SIGNS.contains(c));
        if !is_image {
            return Err(format!("program_image: {image:?} is not the name of an image"));
        }
        match self.labels.keys().find(|name| name.starts_with(OWN_LABELS) && *name != "regatta/pool") {
            Some(name) => Err(format!("labels: {name} is Regatta's own; name another")),
            None => Ok(()),
        }
    }
}
