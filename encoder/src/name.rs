//! The name of a model in reports.

use std::path::Path;

/// The directory's name, except for two kinds of name that say nothing: `model` is replaced by the origin in `config.json`, and a commit
/// hash, as caches of downloaded models use it, by the cache's own `models--owner--name`.
pub(crate) fn model_name(directory: &Path, origin: Option<&str>) -> String {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let names: Vec<&str> = directory.iter().rev().filter_map(|part| part.to_str()).collect();
    let own = names.first().copied().unwrap_or("model");
    if own.len() == 40 && own.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let cached = names.get(2).and_then(|name| name.strip_prefix("models--"));
        return cached.and_then(|name| name.rsplit("--").next()).unwrap_or(own).to_owned();
    }
    let origin =
        origin.and_then(|origin| origin.trim_end_matches('/').rsplit('/').next()).filter(|name| !name.is_empty());
    if own == "model" { origin.unwrap_or(own).to_owned() } else { own.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::model_name;
    use std::path::Path;

    #[test]
    fn directory_name_wins_over_the_origin() {
        let name = model_name(Path::new("/models/all-MiniLM-L6-v2/"), Some("nreimers/MiniLM-L6-H384-uncased"));
        assert_eq!(name, "all-MiniLM-L6-v2");
    }

    #[test]
    fn directory_called_model_takes_the_last_segment_of_the_origin() {
        assert_eq!(model_name(Path::new("/pkg/model"), Some("owner/mpnet-base/")), "mpnet-base");
        assert_eq!(model_name(Path::new("/pkg/model"), None), "model");
    }

    #[test]
    fn cached_snapshot_is_called_as_its_repository() {
        let path = "/cache/models--sentence-transformers--all-mpnet-base-v2/snapshots/\
                    84f2bcc00d77236f9e89c8a360a00fb1139bf47d";
        assert_eq!(model_name(Path::new(path), Some("microsoft/mpnet-base")), "all-mpnet-base-v2");
    }
}
