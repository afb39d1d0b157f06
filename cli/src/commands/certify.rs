//! `regatta certify`: the crash certificate.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use regatta_certify::{Fault, Finding, Options, SeedReport, certify};

use crate::args::CertifyArgs;
use crate::exit::BadConfiguration;
use crate::output;

pub(crate) async fn run(args: CertifyArgs) -> anyhow::Result<ExitCode> {
    let data = args.data.canonicalize().with_context(|| format!("failed to find {}", args.data.display()))?;
    let options = Options {
        binary: std::env::current_exe().context("failed to find this program")?,
        data,
        seed: args.seed,
        seeds: args.seeds,
        faults: args.faults,
        among: among(&args.only)?,
        trials: args.trials,
        storm: args.storm_s.map(Duration::from_secs),
        keep: args.output.clone(),
    };
    output::note("starting RabbitMQ, PostgreSQL and an S3 server; then the sweep runs once undisturbed");
    let certificate = certify(&options, tell).await?;
    if let Some(folder) = &args.output {
        let json = serde_json::to_string_pretty(&certificate).context("failed to write the certificate as JSON")?;
        for (name, text) in [("certificate.json", json), ("certificate.md", certificate.markdown())] {
            let path = folder.join(name);
            regatta_files::write(&path, text).with_context(|| format!("failed to write {}", path.display()))?;
        }
    }
    output::line(&certificate.markdown());
    Ok(if certificate.has_passed() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn among(names: &[String]) -> Result<Vec<Fault>, BadConfiguration> {
    if names.is_empty() {
        return Ok(Fault::ALL.to_vec());
    }
    let read = |name: &String| {
        let known: Vec<&str> = Fault::ALL.iter().map(|fault| fault.name()).collect();
        Fault::of_name(name)
            .ok_or_else(|| BadConfiguration(format!("--only: unknown fault {name:?}; known: {}", known.join(", "))))
    };
    names.iter().map(read).collect()
}

fn tell(report: &SeedReport) {
    output::note(&report.line());
    for Finding { check, item, message } in &report.findings {
        output::note(&format!("  {check}: {item}: {message}"));
    }
}
