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

/// Spec of the commands of further pages: a run of it takes a second.
const SPEC: &str = "\
name: first
trials: 2
cache: read_write
benchmarks:
  worfbench:
    data: examples/data/worfbench
    settings: [two-shot]
    judge: { id: sim/lexical, price: { input_per_mtok: 0, output_per_mtok: 0 } }
endpoints:
  sim: { kind: simulated, simulation: { latency: { median_ms: 1, spread: 1.1 } } }
models:
  - { id: sim/oracle, price: { input_per_mtok: 3.00, output_per_mtok: 15.00 } }
  - { id: sim/noisy-0.5, price: { input_per_mtok: 0.10, output_per_mtok: 0.40 } }
";

/// Commands of further pages, each with its page, as it stands there and as it is typed. The others of these pages need a coordinator, a network, a browser,
/// files of other programs, or people who have said something.
const FURTHER: [(&str, &str, &str); 22] = [
    (
        "commands",
        "regatta init first.yaml --benchmark worfbench --model openai/gpt-4o-mini",
        "regatta init first.yaml --benchmark worfbench --model openai/gpt-4o-mini",
    ),
    (
        "commands",
        "regatta init quiz.yaml --benchmark quiz --data quiz=quiz",
        "regatta init quiz.yaml --benchmark quiz --data quiz=quiz",
    ),
    ("commands", "regatta list benchmarks", "regatta list benchmarks"),
    ("commands", "regatta schema", "regatta schema"),
    ("commands", "regatta completions bash", "regatta completions bash"),
    ("commands", "regatta check SPEC", "regatta check spec.yaml"),
    ("commands", "regatta check SPEC --try-endpoints", "regatta check spec.yaml --try-endpoints"),
    ("commands", "regatta check DIR", "regatta check quiz"),
    ("commands", "regatta run SPEC --dry-run", "regatta run spec.yaml --dry-run"),
    ("commands", "regatta run SPEC --cache read_write", "regatta run spec.yaml --cache read_write"),
    ("commands", "regatta run SPEC --output DIR", "regatta run spec.yaml --output runs/second"),
    (
        "commands",
        "regatta plan SPEC --detect 2pp --pilot RUN",
        "regatta plan spec.yaml --detect 2pp --pilot runs/first",
    ),
    ("commands", "regatta resume runs/NAME", "regatta resume runs/first"),
    ("commands", "regatta resume runs/NAME --spec SPEC", "regatta resume runs/first --spec spec.yaml"),
    ("commands", "regatta repair runs/NAME --dry-run", "regatta repair runs/first --dry-run"),
    ("commands", "regatta show runs/NAME", "regatta show runs/first"),
    ("commands", "regatta show runs/NAME ITEM", "regatta show runs/first alfworld_mini2"),
    ("commands", "regatta compare RUN_A RUN_B", "regatta compare runs/first runs/second"),
    ("commands", "regatta replay runs/NAME", "regatta replay runs/first"),
    ("commands", "regatta rescore runs/NAME --evaluator paper", "regatta rescore runs/first --evaluator paper"),
    ("commands", "regatta prices show", "regatta prices show"),
    (
        "exports",
        "regatta export runs/NAME --output DIR --format eval,parquet",
        "regatta export runs/first --output exported --format eval,parquet",
    ),
];

#[tokio::test]
async fn commands_of_further_pages_end_well() {
    let newcomer = Newcomer::new();
    std::fs::write(newcomer.0.path().join("spec.yaml"), SPEC).unwrap();
    for (page, command, typed) in FURTHER {
        let place = format!("docs/{page}.md");
        let text = std::fs::read_to_string(workspace().join(&place)).unwrap();
        let shown = blocks(&text).into_iter().filter(|block| block.language == "sh");
        let stands = shown.flat_map(|block| block.text.lines().map(str::to_owned).collect::<Vec<_>>()).any(|line| {
            let rest = line.strip_prefix(command);
            rest.is_some_and(|rest| rest.is_empty() || rest.trim_start().starts_with('#'))
        });
        assert!(stands, "{place} has no `{command}`: type what it has");
        newcomer.types(typed, &place).await;
    }
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
    assert_eq!(untimed(&std::fs::read_to_string(&made).unwrap()), Vec::<String>::new());
    let [made, page] = [made, workspace().join("docs/first-hour.md")].map(|page| {
        let all = blocks(&std::fs::read_to_string(page).unwrap()).into_iter();
        let (printed, typed): (Vec<Block>, Vec<Block>) = all.partition(|block| block.language == "text");
        let typed: Vec<String> = typed.into_iter().map(|block| block.text).collect();
        (typed, printed.iter().map(|block| words(&block.text)).collect::<Vec<_>>())
    });
    assert_eq!(made.0, page.0, "run scripts/first-hour");
    for (printed, shown) in made.1.iter().zip(&page.1) {
        assert_eq!(printed, shown, "a command prints something else: run scripts/first-hour");
    }
    assert_eq!(made.1.len(), page.1.len(), "run scripts/first-hour");
}

/// Commands of a page of which it does not say how long they took. Those that go on in the background are of no interest.
fn untimed(page: &str) -> Vec<String> {
    let (mut untimed, mut typed) = (Vec::new(), None::<String>);
    let is_time = |line: &str| {
        let time = line.strip_prefix("Took ").and_then(|rest| rest.strip_suffix(" s."));
        time.is_some_and(|time| time.parse::<f64>().is_ok())
    };
    for line in page.lines() {
        if line == "```sh" || line.starts_with('#') {
            untimed.extend(typed.take());
        }
        if line == "```sh" {
            typed = Some(String::new());
        } else if is_time(line) {
            typed = None;
        } else if let Some(commands) = typed.as_mut().filter(|commands| commands.is_empty()) {
            line.clone_into(commands);
        }
    }
    untimed.extend(typed);
    untimed.retain(|commands| !commands.ends_with('&'));
    untimed
}

#[test]
fn a_command_without_its_time_is_found() {
    let page = "```sh\nserver &\n```\n\n```sh\none\ntwo\n```\n\n```text\nsaid\n```\n\nTook 0.3 s.\n\n```sh\nthree\n```\n\n## Next\n";
    assert_eq!(untimed(page), ["three"]);
    assert_eq!(untimed(&page.replace("## Next", "Took 12.0 s.\n\n## Next")), Vec::<String>::new());
    assert_eq!(untimed(&page.replace("Took 0.3 s.", "")), ["one", "three"]);
}

/// Words of a listing, sorted: a table breaks its lines elsewhere where a time needs more room. Times are left out, and what hangs on them, and the
/// digests in names of runs: these alone are others each time.
fn words(listing: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for line in listing.lines().filter(|line| !line.trim_start().starts_with("latency ")) {
        // Whether a call had to wait for a permit is a matter of time as well.
        for word in line.replace(" after waiting ", " ").split_whitespace() {
            let bare = word.trim_end_matches([',', '.', ':', ';']);
            let unit = bare.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
            if matches!(unit, "ns" | "µs" | "ms" | "s" | "min" | "×") {
                // Its number is part of it, or the word before.
                if unit == bare && unit != "×" {
                    drop(words.pop_if(|number| number.starts_with(|c: char| c.is_ascii_digit())));
                } else if unit == bare {
                    words.push(word.to_owned());
                }
            } else if bare.starts_with("hour-") {
                words.push("hour-DIGEST".to_owned());
            } else if !bare.starts_with(['─', '═']) {
                words.push(word.to_owned());
            }
        }
    }
    words.sort();
    words
}

#[test]
fn listings_that_differ_in_times_alone_are_the_same() {
    let one = "hour-4af7bed0 · 3 × auth · 1.0 s, 0.54× as long after 49.6ms, 5ms after waiting 1.2ms, x:\n───\n model  call p50\n a      270 ms\n";
    let other = "hour-00000000 · 3 × auth · 12 s, 1.2× as long after 1.2s, 7ms, x:\n──────\n model  call\n        p50\n a      1.02 s\n";
    assert_eq!(words(one), words(other));
    assert_ne!(words(one), words(&one.replace("3 ×", "4 ×")));
    assert_ne!(words(one), words(&one.replace("auth", "quota")));
}
