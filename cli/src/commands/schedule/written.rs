//! A schedule's file, with the spec and the gate policy that lie beside it.

use std::path::Path;

use anyhow::{Context, bail};
use regatta_coordinator::ScheduleSpec;
use regatta_proto::read_yaml;
use serde_json::Value;

use crate::args::{CreateScheduleArgs, SpecArgs};
use crate::exit::bad_configuration;
use crate::spec::{Loaded, load};

/// Largest schedule and gate policy read, in bytes.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the schedule, its spec and its data. Every problem is one of configuration.
pub(super) fn read(args: &CreateScheduleArgs) -> anyhow::Result<(ScheduleSpec, Loaded)> {
    let path = &args.schedule;
    let (schedule, spec) = read_schedule(path)
        .with_context(|| format!("failed to read the schedule {}", path.display()))
        .map_err(bad_configuration)?;
    let loaded = load(&SpecArgs {
        spec: path.parent().unwrap_or(Path::new("")).join(spec),
        data: args.data.clone(),
        limit: None,
        sessions: None,
        trials: None,
        seed: None,
        budget: None,
        prices: None,
        cache: None,
    })?;
    Ok((schedule, loaded))
}

/// The schedule in the file `path`, and the name of its spec's file.
fn read_schedule(path: &Path) -> anyhow::Result<(ScheduleSpec, String)> {
    let beside = path.parent().unwrap_or(Path::new(""));
    // A map of JSON takes the last of two equal keys without a word; a document of YAML refuses them.
    let document: serde_yaml_ng::Value = read_yaml(&text(path)?).map_err(anyhow::Error::msg)?;
    let mut document: Value = serde_yaml_ng::from_value(document)?;
    let Some(fields) = document.as_object_mut() else { bail!("it is no mapping; begin it with name:") };
    let Some(Value::String(spec)) = fields.shift_remove("spec") else {
        bail!("spec is missing; write the name of the sweep's spec, a file beside the schedule");
    };
    if let Some(gate) = fields.get_mut("gate") {
        let Value::String(name) = gate else { bail!("gate is no text; write the name of a gate policy's file") };
        let policy = beside.join(&*name);
        *gate = Value::String(text(&policy).with_context(|| format!("failed to read gate: {}", policy.display()))?);
    }
    Ok((ScheduleSpec::from_value(document).map_err(anyhow::Error::msg)?, spec))
}

fn text(path: &Path) -> anyhow::Result<String> {
    let size = std::fs::metadata(path)?.len();
    if size > FILE_BYTES_MAX {
        bail!("it has {size} bytes, at most {FILE_BYTES_MAX} are read");
    }
    Ok(std::fs::read_to_string(path)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::hostile::nearly;

    const EVERYTHING: &str = "name: nightly
cron: 0 2 * * *
time_zone: Europe/Berlin
spec: sweep.yaml
overrides: { trials: 2, models: [{ id: a/b }] }
baseline: previous
budget_usd: { night: 1.5, month: 20 }
catch_up: last
late_within_s: 60
notify: { events: [no_go], webhooks: [ci], commands: [page] }
retention: { days: 3, nights: 2 }
";

    #[test]
    fn a_schedule_with_everything_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nightly.yaml");
        std::fs::write(&path, EVERYTHING).unwrap();
        assert_eq!(read_schedule(&path).unwrap().1, "sweep.yaml");
    }

    proptest! {
        #[test]
        fn a_schedule_is_sent_as_it_was_read_or_refused(bytes in nearly(EVERYTHING.as_bytes())) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("nightly.yaml");
            std::fs::write(&path, bytes).unwrap();
            if let Ok((schedule, _)) = read_schedule(&path) {
                let sent = serde_json::to_value(&schedule).unwrap();
                prop_assert_eq!(ScheduleSpec::from_value(sent).unwrap(), schedule);
            }
        }
    }

    #[test]
    fn a_schedule_names_its_spec_and_its_gate_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: &str| std::fs::write(folder.path().join(name), content).unwrap();
        write("gate.yaml", "metrics: { f1: { margin: 2pp } }");
        let read = |content: &str| {
            write("nightly.yaml", content);
            read_schedule(&folder.path().join("nightly.yaml"))
        };
        let (schedule, spec) =
            read("name: nightly\ncron: 0 2 * * *\nspec: sweep.yaml\ngate: gate.yaml\ncatch_up: last\n").unwrap();
        assert_eq!(schedule.gate.as_deref(), Some("metrics: { f1: { margin: 2pp } }"));
        assert_eq!((schedule.name.as_str(), spec.as_str()), ("nightly", "sweep.yaml"));
        let errors = [
            read("name: nightly\ncron: 0 2 * * *\n"),
            read("name: nightly\nspec: sweep.yaml\ncron: 0 2 * * *\nname: other\n"),
            read("name: nightly\nspec: sweep.yaml\n"),
            read("name: nightly\ncron: 0 2 * * *\nspec: sweep.yaml\nbudget: 3\n"),
            read("name: nightly\ncron: 0 2 * * *\nspec: sweep.yaml\ngate: { metrics: {} }\n"),
        ]
        .map(|result| format!("{:#}", result.unwrap_err()));
        insta::assert_snapshot!(errors.join("\n"));
    }
}
