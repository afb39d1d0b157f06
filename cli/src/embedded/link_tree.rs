//! The files of one folder as links in another.

use std::path::Path;

use regatta_files::own_folder;

/// Links every file below `from` to the same place below `to`, in folders that no link leads out of.
pub(super) fn link_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    link_entries(from, to)
}

fn link_entries(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            own_folder(&target)?;
            link_entries(&entry.path(), &target)?;
            continue;
        }
        // Also a link that leads nowhere yet: a copy would follow it.
        if std::fs::symlink_metadata(&target).is_ok() {
            std::fs::remove_file(&target)?;
        }
        // Some file systems have no links.
        if std::fs::hard_link(entry.path(), &target).is_err() {
            regatta_files::copy(&entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Removes every file below `from` from the same place below `to`. Folders of `to` are left, unless nothing is in them then.
pub(super) fn unlink_tree(from: &Path, to: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        let Ok(found) = std::fs::symlink_metadata(&target) else { continue };
        match (entry.file_type()?.is_dir(), found.is_dir()) {
            (true, true) => {
                unlink_tree(&entry.path(), &target)?;
                // Others may have put something there.
                let _ = std::fs::remove_dir(&target);
            }
            (false, false) => std::fs::remove_file(&target)?,
            (true, false) | (false, true) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_was_linked_is_removed_and_the_files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["from/transcripts", "from/pictures", "to"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        for name in ["from/report.md", "from/transcripts/0.zst", "from/pictures/0.svg", "to/annotations.jsonl"] {
            std::fs::write(at(name), "").unwrap();
        }
        link_tree(&at("from"), &at("to")).unwrap();
        std::fs::write(at("to/pictures/mine.svg"), "").unwrap();
        unlink_tree(&at("from"), &at("to")).unwrap();
        assert!(!at("to/report.md").exists() && !at("to/transcripts").exists() && !at("to/pictures/0.svg").exists());
        assert!(at("to/annotations.jsonl").is_file() && at("to/pictures/mine.svg").is_file());
        assert!(at("from/report.md").is_file());
    }

    #[test]
    fn a_link_in_the_place_of_a_file_is_replaced_and_one_in_the_place_of_a_folder_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["from/transcripts", "to", "refusing", "elsewhere"] {
            std::fs::create_dir_all(at(name)).unwrap();
        }
        std::fs::write(at("from/report.md"), "report").unwrap();
        std::fs::write(at("from/transcripts/0.zst"), "said").unwrap();
        symlink(at("elsewhere/report.md"), at("to/report.md")).unwrap();
        link_tree(&at("from"), &at("to")).unwrap();
        assert!(std::fs::symlink_metadata(at("to/report.md")).unwrap().is_file());
        assert_eq!(std::fs::read_to_string(at("to/transcripts/0.zst")).unwrap(), "said");

        symlink(at("elsewhere"), at("refusing/transcripts")).unwrap();
        let refused = link_tree(&at("from"), &at("refusing")).unwrap_err().to_string();
        assert!(refused.contains("transcripts is a link, and might lead anywhere"), "{refused}");
        assert_eq!(std::fs::read_dir(at("elsewhere")).unwrap().count(), 0);
    }
}
