//! The build's version, commit and features, as `--version` says them.

use std::sync::LazyLock;

/// Features of this build, of those that leave something out.
const FEATURES: [(&str, bool); 5] = [
    ("cluster", cfg!(feature = "cluster")),
    ("bedrock", cfg!(feature = "bedrock")),
    ("encoder", cfg!(feature = "encoder")),
    ("mcp", cfg!(feature = "mcp")),
    ("certify", cfg!(feature = "certify")),
];

static DESCRIBED: LazyLock<String> = LazyLock::new(|| {
    let features: Vec<&str> = FEATURES.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name).collect();
    described(env!("CARGO_PKG_VERSION"), option_env!("REGATTA_COMMIT"), &features)
});

/// Version, commit where it is known, and features.
pub(crate) fn version() -> &'static str {
    &DESCRIBED
}

fn described(version: &str, commit: Option<&str>, features: &[&str]) -> String {
    let commit = commit.map(|commit| format!("commit {commit}, ")).unwrap_or_default();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    format!("{version} ({commit}features: {features})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_says_what_the_build_was_made_of() {
        assert_eq!(
            described("1.2.3", Some("0123456789ab"), &["cluster", "mcp"]),
            "1.2.3 (commit 0123456789ab, features: cluster, mcp)"
        );
        assert_eq!(described("1.2.3", None, &[]), "1.2.3 (features: none)");
    }
}
