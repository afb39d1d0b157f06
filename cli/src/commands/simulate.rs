//! `regatta simulate llm`, `apps` and `tools`: a simulated endpoint, apps or tool servers, until a signal comes.

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context;
use regatta_appbench::ServedApps;
use regatta_autoslurp::ServedTools;
use regatta_benchmarks::default_setting;
use regatta_proto::Simulation;
use regatta_simulator::{Config, Script, SimulatedEndpoint, SimulatedSuite};
use regatta_toolservers::{SimulatedApps, SimulatedTools, ToolsConfig};

use crate::args::{SimulateAppsArgs, SimulateArgs, SimulateLlmArgs, SimulateToolsArgs, Simulated};
use crate::data::{benchmark, read_dataset, read_files};
use crate::exit::{BadConfiguration, bad_configuration};
use crate::listener::is_reached_by_others;
use crate::output;
use crate::signals::Leaving;

pub(crate) async fn run(args: SimulateArgs) -> anyhow::Result<ExitCode> {
    let (listen, no_token) = match &args.what {
        Simulated::Llm(args) => (args.listen, args.no_token),
        Simulated::Apps(args) => (args.listen, args.no_token),
        Simulated::Tools(args) => (args.listen, args.no_token),
    };
    check_reach(listen, no_token)?;
    let leaving = Leaving::on_signals()?;
    match args.what {
        Simulated::Llm(args) => run_llm(args, &leaving).await,
        Simulated::Apps(args) => run_apps(args, &leaving).await,
        Simulated::Tools(args) => run_tools(args, &leaving).await,
    }
}

async fn run_apps(args: SimulateAppsArgs, leaving: &Leaving) -> anyhow::Result<ExitCode> {
    let files = read_files(&args.data, &ServedApps::wants).map_err(bad_configuration)?;
    let apps = ServedApps::load(&files).map_err(bad_configuration)?;
    let server = SimulatedApps::start(args.listen, apps).await.map_err(bad_configuration)?;
    output::line(&server.url());
    leaving.drain.cancelled().await;
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

/// Refuses to serve others at `listen`, unless somebody said that they are to.
fn check_reach(listen: SocketAddr, no_token: bool) -> anyhow::Result<()> {
    if no_token || !is_reached_by_others(listen) {
        return Ok(());
    }
    Err(BadConfiguration(format!(
        "whoever reaches {listen} could use this simulator and look at what it was asked, for it knows no tokens and no TLS: listen on \
         127.0.0.1, or, where others are to use it, say --no-token"
    ))
    .into())
}

/// The first line is the address that serves everything; a line with name and address follows for each server with a port of its own.
async fn run_tools(args: SimulateToolsArgs, leaving: &Leaving) -> anyhow::Result<ExitCode> {
    let simulation = args.simulation.as_deref().map(simulation).transpose().map_err(bad_configuration)?;
    let (ports, tools) = (args.tool_ports(), ServedTools::on(args.today));
    let config = ToolsConfig { listen: args.listen, ports, tools, simulation: simulation.unwrap_or_default() };
    let server = SimulatedTools::start(config).await.map_err(bad_configuration)?;
    output::line(&server.url());
    for (name, url) in server.ports() {
        output::line(&format!("{name} {url}"));
    }
    leaving.drain.cancelled().await;
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

async fn run_llm(args: SimulateLlmArgs, leaving: &Leaving) -> anyhow::Result<ExitCode> {
    let config = configure(&args).map_err(bad_configuration)?;
    let server = SimulatedEndpoint::start(config).await.map_err(bad_configuration)?;
    output::line(&server.url());
    leaving.drain.cancelled().await;
    server.shutdown().await;
    Ok(ExitCode::SUCCESS)
}

fn configure(args: &SimulateLlmArgs) -> anyhow::Result<Config> {
    let mut suites = Vec::new();
    for (name, directory) in &args.data {
        let known = benchmark(name)?;
        let suite = known.load(&read_dataset(name, directory)?)?;
        suites.push(SimulatedSuite {
            benchmark: name.clone(),
            default_setting: default_setting(known, &*suite),
            suite,
        });
    }
    let simulation = args.simulation.as_deref().map(simulation).transpose()?.unwrap_or_default();
    let script = args.script.as_deref().map(|path| {
        let text = std::fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        Ok::<_, anyhow::Error>(Script::parse(&path.display().to_string(), &text)?)
    });
    Ok(Config { listen: args.listen, simulation, script: script.transpose()?, ..Config::on_loopback(suites) })
}

fn simulation(text: &str) -> anyhow::Result<Simulation> {
    let (origin, yaml) = match text.strip_prefix('@') {
        Some(path) => (path, std::fs::read_to_string(path).with_context(|| format!("failed to read {path}"))?),
        None => ("--simulation", text.to_owned()),
    };
    let simulation = Simulation::from_yaml(&yaml).map_err(anyhow::Error::msg).with_context(|| origin.to_owned())?;
    simulation.check().map_err(|(field, problem)| anyhow::anyhow!("{origin}: {field}: {problem}"))?;
    Ok(simulation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_use_a_simulator_only_where_somebody_says_so() {
        let refused =
            |listen: &str, no_token| check_reach(listen.parse().unwrap(), no_token).map_err(|e| e.to_string());
        for listen in ["0.0.0.0:8089", "[::]:8089", "10.0.0.1:8089"] {
            let problem = refused(listen, false).unwrap_err();
            assert!(problem.contains(listen) && problem.contains("--no-token"), "{problem}");
            assert_eq!(refused(listen, true), Ok(()));
        }
        for listen in ["127.0.0.1:8089", "[::1]:0"] {
            assert_eq!(refused(listen, false), Ok(()));
        }
    }

    #[test]
    fn a_simulation_is_yaml_or_json_with_any_of_its_settings() {
        let yaml = "latency: { median_ms: 5, first_token_ms: 2 }\ntokens_per_minute: 100\nbatch: { delay_ms: 50 }\n\
                    prices: { oracle: { input_per_mtok: 1, output_per_mtok: 2 } }\nreport_cost: true";
        let read = simulation(yaml).unwrap();
        assert_eq!((read.tokens_per_minute, read.batch.delay_ms, read.report_cost), (Some(100), 50, true));
        assert_eq!(simulation(&serde_json::to_string(&read).unwrap()).unwrap(), read);
    }

    #[test]
    fn a_setting_that_cannot_be_is_named() {
        let error = simulation("cached_fraction: 2").unwrap_err();
        assert_eq!(error.to_string(), "--simulation: cached_fraction: must be a share between 0 and 1, is 2");
        let misspelt = format!("{:#}", simulation("latncy: 2").unwrap_err());
        assert!(misspelt.starts_with("--simulation: unknown field `latncy`"), "{misspelt}");
        assert!(misspelt.ends_with("did you mean \"latency\"?"), "{misspelt}");
    }
}
