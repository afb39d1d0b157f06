//! Benchmarks of a person's own in a new spec: that of a folder, or, where nothing is there yet, the beginning of one.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use regatta_benchmarks::{Benchmark as _, Suite};
use regatta_proto::BenchmarkName;

use super::{names, no_benchmark};
use crate::args::InitArgs;
use crate::benchmarks::{BENCHMARKS, OF_PERSON};
use crate::data::read_dataset;
use crate::exit::bad_configuration;
use crate::output;

/// The file of a benchmark that has just begun.
const FILE: &str = r##"# NAME: a benchmark of your own. Change it, and look at it with: regatta check FOLDER
# All that may stand here: https://github.com/regatta-eval/regatta/blob/main/docs/benchmarks-of-your-own.md
v: 1
data: { test: test.jsonl }          # an object a line
items: { id: id }
prompt:
  system: Answer with a number alone.
  turns:
    - user: "{{ question }}"        # a template, filled from the columns of a line
  sampling: { temperature: 0, max_tokens: 50 }
answers:
  final: [number: last]             # what is read from the reply
scorers:
  correct: { number: { gold: "{{ answer }}" } }
metrics:
  accuracy: { mean: correct, unit: percent }
"##;

/// Items of a benchmark that has just begun.
const DATA: &str = r#"{"id": "q1", "question": "What is 17 + 26?", "answer": 43}
{"id": "q2", "question": "What is 9 times 12?", "answer": 108}
{"id": "q3", "question": "A box holds 24 eggs. How many eggs are in 5 boxes?", "answer": 120}
{"id": "q4", "question": "What is 144 divided by 6?", "answer": 24}
{"id": "q5", "question": "A train leaves at 09:40 and arrives at 11:05. How many minutes does it take?", "answer": 85}
{"id": "q6", "question": "What is 15 percent of 80?", "answer": 12}
{"id": "q7", "question": "How many sides do three hexagons have together?", "answer": 18}
{"id": "q8", "question": "What is 1000 minus 365?", "answer": 635}
"#;

/// Benchmarks that are not built in, by name.
pub(super) type Own = BTreeMap<BenchmarkName, Arc<dyn Suite>>;

/// Loads the benchmarks of the command line that are not built in, each from its folder.
///
/// # Errors
/// When one has no folder, or cannot be read.
pub(super) fn own(args: &InitArgs) -> anyhow::Result<Own> {
    let mut folders = Vec::new();
    // All of them first, so that nothing is begun for a spec that is refused.
    for name in names(args).into_iter().filter(|name| BENCHMARKS.find_built_in(name).is_none()) {
        let given = args.data.iter().find(|(of, _)| of == name);
        let (_, folder) = given.ok_or_else(|| no_benchmark(name))?;
        let is_new = is_empty(folder)?;
        // A built-in one was meant, and misspelt.
        if is_new && BENCHMARKS.nearest(name.as_str()).is_some() {
            return Err(no_benchmark(name).into());
        }
        folders.push((name, folder, is_new));
    }
    let mut own = Own::new();
    for (name, folder, is_new) in folders {
        if is_new {
            begin(name, folder)?;
        }
        let files = read_dataset(name, folder).map_err(bad_configuration)?;
        own.insert(name.clone(), OF_PERSON.load(&files).map_err(bad_configuration)?);
    }
    Ok(own)
}

/// `true` if nothing is in `folder`, or it is not there.
fn is_empty(folder: &Path) -> anyhow::Result<bool> {
    match std::fs::read_dir(folder) {
        Ok(mut entries) => Ok(entries.next().is_none()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(error) => Err(error).with_context(|| format!("failed to look at {}", folder.display())),
    }
}

/// Writes a benchmark that runs as it is.
fn begin(name: &BenchmarkName, folder: &Path) -> anyhow::Result<()> {
    let at = folder.display();
    std::fs::create_dir_all(folder).with_context(|| format!("failed to create {at}"))?;
    let file = FILE.replace("NAME", name.as_str()).replace("FOLDER", &at.to_string());
    for (path, content) in [("benchmark.yaml", file.as_str()), ("test.jsonl", DATA)] {
        let path = folder.join(path);
        let written = std::fs::OpenOptions::new().write(true).create_new(true).open(&path);
        written
            .and_then(|mut opened| opened.write_all(content.as_bytes()))
            .with_context(|| format!("failed to write {}", path.display()))?;
        output::line(&path.display().to_string());
    }
    output::note(&format!("{at} is the beginning of a benchmark; change it, and look at it with: regatta check {at}"));
    Ok(())
}
