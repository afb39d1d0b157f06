//! Commands that the first pages tell a newcomer to type: each ends well, in the order of its page, in a folder that has nothing but the
//! examples. A block says whether it can: `<!-- runs -->` above it, or `<!-- needs … -->` with what a test has not.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use regatta_tests::regatta::{binary, finish, program, workspace};
use tempfile::TempDir;

/// Stands for `cargo run … -- ARGUMENTS`: the binary is built already.
const CARGO: &str = "#!/bin/sh\nwhile [ $# -gt 0 ] && [ \"$1\" != -- ]; do shift; done\nshift\nexec regatta \"$@\"\n";

/// A fenced block of a page.
#[derive(Debug)]
struct Block {
    /// Number of the line that opens it.
    line: usize,
    language: String,
    /// Content of the comment above it.
    marking: String,
    text: String,
}

fn blocks(page: &str) -> Vec<Block> {
    let (mut found, mut open, mut above) = (Vec::new(), None::<Block>, String::new());
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                let (language, marking) = (language.to_owned(), std::mem::take(&mut above));
                open = Some(Block { line: number + 1, language, marking, text: String::new() });
            }
            (Some(_), Some(block)) => found.push(block),
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {
                let comment = line.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                above = comment.unwrap_or_default().to_owned();
            }
        }
    }
    assert!(open.is_none(), "a block is not closed");
    found
}

/// A newcomer's folder, with `regatta` and `cargo` on the path.
struct Newcomer(TempDir);

impl Newcomer {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        symlink(binary().unwrap(), bin.join("regatta")).unwrap();
        std::fs::write(bin.join("cargo"), CARGO).unwrap();
        std::fs::set_permissions(bin.join("cargo"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink(workspace().join("examples"), folder.path().join("examples")).unwrap();
        Self(folder)
    }

    /// Types `commands`; the first that fails is the last.
    async fn types(&self, commands: &str, place: &str) {
        let path = format!("{}:{}", self.0.path().join("bin").display(), std::env::var("PATH").unwrap());
        let mut shell = program(Path::new("bash"));
        shell.args(["-euo", "pipefail", "-c", commands]).current_dir(self.0.path());
        shell.env("PATH", path).env("HOME", self.0.path());
        let output = finish(shell).await.unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {:?} of\n{commands}\n{errors}", output.status.code());
    }
}

/// Runs the blocks of `page` that say that they run, and returns their number.
async fn run_blocks(page: &str) -> usize {
    let newcomer = Newcomer::new();
    let mut ran = 0;
    for block in blocks(&std::fs::read_to_string(workspace().join(page)).unwrap()) {
        let place = format!("{page}:{}", block.line);
        if let Some(name) = block.marking.strip_prefix("file ") {
            std::fs::write(newcomer.0.path().join(name), &block.text).unwrap();
        }
        if block.language == "sh" {
            let says_why_not = block.marking.starts_with("needs ");
            assert!(block.marking == "runs" || says_why_not, "{place}: says neither `runs` nor what it needs");
            if !says_why_not {
                newcomer.types(&block.text, &place).await;
                ran += 1;
            }
        }
    }
    ran
}

#[tokio::test]
async fn the_commands_of_the_first_page_end_well() {
    assert_eq!(run_blocks("README.md").await, 2);
}

#[tokio::test]
async fn the_commands_of_the_first_sweep_end_well() {
    assert_eq!(run_blocks("docs/first-sweep.md").await, 2);
}

/// The script fails where a command ends otherwise than its page says; and the page is the one that the script makes.
#[tokio::test]
async fn the_first_hour_goes_as_its_page_says() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("first-hour.md");
    let mut script = program(&workspace().join("scripts/first-hour"));
    script.arg("--to").arg(&made).env("REGATTA_BINARY", binary().unwrap());
    let output = finish(script).await.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    // What commands print has times and names of runs in it, which are others each time.
    let typed = |page: &Path| {
        let all = blocks(&std::fs::read_to_string(page).unwrap());
        all.into_iter().filter(|block| block.language != "text").map(|block| block.text).collect::<Vec<_>>()
    };
    assert_eq!(typed(&made), typed(&workspace().join("docs/first-hour.md")), "run scripts/first-hour");
}
