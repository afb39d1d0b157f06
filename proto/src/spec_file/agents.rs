//! Checks of external agents, of casts, and of the settings that name them.

use std::collections::BTreeSet;

use super::cast::check_player;
use super::endpoint::has_credentials;
use super::implied::IMPLIED;
use super::{SpecError, field};
use crate::secret_names::is_secret_name;
use crate::{AgentName, BenchmarkSpec, ExternalAgent, Setting, SweepSpec};

/// Longest deadline in seconds. A session must end well before it would be handed over to another worker.
const DEADLINE_MAX_S: u32 = 900;
/// Smallest allowed limit of the output, in bytes.
const OUTPUT_MIN: u32 = 1 << 10;
/// Largest allowed limit of the output, in bytes.
const OUTPUT_MAX: u32 = 16 << 20;
/// Largest allowed limit of a session's calls.
const CALLS_MAX: u32 = 100_000;
/// Largest allowed number of sessions of one process.
const SESSIONS_MAX: u32 = 100_000;
/// Largest allowed number of instances per worker.
const CONCURRENCY_MAX: u32 = 100_000;
/// Longest name of an image or a network, in bytes.
const IMAGE_MAX: usize = 300;
/// Longest name of a cast, in characters.
const CAST_NAME_MAX: usize = 64;

/// Variables that Regatta sets to the addresses of a session's models and tools.
const OURS: [&str; 7] = [
    "OPENAI_BASE_URL",
    "OPENAI_API_BASE",
    "OPENAI_API_KEY",
    "ANTHROPIC_BASE_URL",
    "ANTHROPIC_API_KEY",
    "REGATTA_TOOLS_URL",
    "REGATTA_MODEL",
];

/// Variables of keys that are used by default; in addition to those of providers that need no `endpoints` entry.
const USUAL_KEYS: [&str; 6] = [
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "AWS_SECRET_ACCESS_KEY",
];

/// Other variables with secrets of a worker.
const SECRETS: [&str; 6] = [
    "AWS_SESSION_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "DATABASE_URL",
    "AMQP_URL",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "OTEL_EXPORTER_OTLP_TRACES_HEADERS",
];

/// Prefix of the worker's own variables.
const OF_WORKER: &str = "REGATTA_";

/// Checks that every agent can be run with its settings.
pub(super) fn check_agents(spec: &SweepSpec) -> Result<(), SpecError> {
    let named = spec.endpoints.values().filter_map(|endpoint| endpoint.api_key_env.as_deref());
    let implied = IMPLIED.iter().filter_map(|(_, _, elsewhere)| elsewhere.map(|(_, key)| key));
    let keys: BTreeSet<&str> = named.chain(implied).chain(USUAL_KEYS).collect();
    for (name, agent) in &spec.agents {
        check_agent(&format!("agents.{name}"), agent, &keys)?;
    }
    Ok(())
}

fn check_agent(place: &str, agent: &ExternalAgent, keys: &BTreeSet<&str>) -> Result<(), SpecError> {
    if let Some(name) = &agent.registered {
        return check_registered(place, name, agent);
    }
    match (&agent.command[..], &agent.url) {
        ([], None) => {
            return field(
                place.into(),
                "needs a `command` that starts it, the name under which the workers' policy has one (`registered`), or the `url` that it \
                 is called at",
            );
        }
        ([_, ..], Some(_)) => return field(place.into(), "has both `command` and `url`; leave one of them out"),
        ([program, ..], None) if program.is_empty() => {
            return field(format!("{place}.command"), "begins with an empty word; begin with a program");
        }
        ([_, ..], None) if agent.command.iter().any(|word| word.contains('\0')) => {
            return field(format!("{place}.command"), "holds a zero byte, which no argument can");
        }
        ([_, ..], None) => {}
        ([], Some(url)) => check_url(place, url, agent)?,
    }
    check_container(place, agent)?;
    for (name, of) in
        agent.pass_env.iter().map(|name| (name, "pass_env")).chain(agent.env.keys().map(|name| (name, "env")))
    {
        check_variable(&format!("{place}.{of}"), name, keys)?;
    }
    let is_secret =
        |name: &&String| name.starts_with(OF_WORKER) || SECRETS.contains(&name.as_str()) || is_secret_name(name);
    if let Some(name) = agent.pass_env.iter().find(is_secret) {
        let problem = format!("{name} is the worker's own and may hold secrets; agents do not need it, leave it out");
        return field(format!("{place}.pass_env"), problem);
    }
    if let Some(name) = agent.env.keys().find(|name| is_secret_name(name)) {
        let problem = "may hold a secret, and specs are stored: write it into the environment of an agent of the workers' policy \
                       (`registered`), or have the command read a file";
        return field(format!("{place}.env.{name}"), problem);
    }
    if let Some((name, _)) = agent.env.iter().find(|(_, value)| value.contains('\0')) {
        return field(format!("{place}.env.{name}"), "holds a zero byte, which no variable can");
    }
    check_ranges(place, agent)
}

/// Checks that a container can be started by the words of a command line, where nothing begins with a dash.
fn check_container(place: &str, agent: &ExternalAgent) -> Result<(), SpecError> {
    let Some(image) = &agent.container else {
        return match &agent.network {
            Some(_) => field(format!("{place}.network"), "only belongs to agents with a `container`"),
            None => Ok(()),
        };
    };
    if agent.command.is_empty() {
        return field(format!("{place}.container"), "needs a `command` that runs in it");
    }
    if agent.sessions_max != 1 {
        return field(format!("{place}.sessions_max"), "does not go with `container`: each session has one of its own");
    }
    let is_word = |word: &str| {
        let begins_well = word.starts_with(|c: char| c.is_ascii_alphanumeric());
        let of_names = |c: char| c.is_ascii_alphanumeric() || "._-/:@".contains(c);
        begins_well && word.len() <= IMAGE_MAX && word.chars().all(of_names)
    };
    if !is_word(image) {
        return field(format!("{place}.container"), format!("{image:?} is not the name of an image"));
    }
    if let Some(network) =
        agent.network.as_ref().filter(|network| !is_word(network) || network.contains(['/', ':', '@']))
    {
        return field(format!("{place}.network"), format!("{network:?} is not the name of a network"));
    }
    if agent.network.as_deref() == Some("host") {
        return field(
            format!("{place}.network"),
            "must not be the machine's own: name a network of the engine, or leave it out",
        );
    }
    match agent.directory.as_ref().filter(|directory| !directory.is_absolute()) {
        Some(_) => field(format!("{place}.directory"), "must be an absolute path in the image"),
        None => Ok(()),
    }
}

fn check_registered(place: &str, name: &AgentName, agent: &ExternalAgent) -> Result<(), SpecError> {
    let others = [
        ("command", !agent.command.is_empty()),
        ("container", agent.container.is_some()),
        ("network", agent.network.is_some()),
        ("url", agent.url.is_some()),
        ("directory", agent.directory.is_some()),
        ("pass_env", !agent.pass_env.is_empty()),
        ("env", !agent.env.is_empty()),
        ("sessions_max", agent.sessions_max != 1),
    ];
    if let Some((other, _)) = others.into_iter().find(|(_, is_there)| *is_there) {
        let problem = format!("does not go with `registered`: the workers' policy says it of {name}; leave it out");
        return field(format!("{place}.{other}"), problem);
    }
    check_ranges(place, agent)
}

fn check_ranges(place: &str, agent: &ExternalAgent) -> Result<(), SpecError> {
    let ranges = [
        ("startup_s", agent.startup_s, 1, DEADLINE_MAX_S),
        ("deadline_s", agent.deadline_s, 1, DEADLINE_MAX_S),
        ("output_bytes_max", agent.output_bytes_max, OUTPUT_MIN, OUTPUT_MAX),
        ("calls_max", agent.calls_max, 1, CALLS_MAX),
        ("starts_max", agent.starts_max.into(), 1, u8::MAX.into()),
        ("sessions_max", agent.sessions_max, 1, SESSIONS_MAX),
        ("concurrency", agent.concurrency, 1, CONCURRENCY_MAX),
    ];
    for (name, value, min, max) in ranges {
        if !(min..=max).contains(&value) {
            return field(format!("{place}.{name}"), format!("must be {min} to {max}, is {value}"));
        }
    }
    Ok(())
}

/// Parameters in which services put secrets under names that elsewhere are harmless: functions of Azure, and signed addresses.
const SECRET_PARAMETERS: [&str; 3] = ["code", "sig", "signature"];

fn check_url(place: &str, url: &str, agent: &ExternalAgent) -> Result<(), SpecError> {
    if !url.starts_with("http://") && !url.starts_with("https://") {
        return field(format!("{place}.url"), "must begin with http:// or https://");
    }
    let host = url.split_once("://").map(|(_, rest)| rest.split(['/', '?', '#']).next().unwrap_or(rest));
    if host.is_none_or(str::is_empty) || has_credentials(url) {
        return field(format!("{place}.url"), "must name a host, and hold no credentials");
    }
    let query = url.split_once('?').map_or("", |(_, query)| query);
    if let Some(name) = query
        .split(['&', ';', '#'])
        .map(|pair| pair.split('=').next().unwrap_or(pair))
        .find(|name| is_secret_name(name) || SECRET_PARAMETERS.iter().any(|known| name.eq_ignore_ascii_case(known)))
    {
        let problem = format!(
            "holds {name}, which may be a secret, and specs are stored; an agent is called with the session's own token"
        );
        return field(format!("{place}.url"), problem);
    }
    let of_commands = [
        ("container", agent.container.is_some()),
        ("network", agent.network.is_some()),
        ("directory", agent.directory.is_some()),
        ("pass_env", !agent.pass_env.is_empty()),
        ("env", !agent.env.is_empty()),
        ("sessions_max", agent.sessions_max != 1),
    ];
    match of_commands.into_iter().find(|(_, is_there)| *is_there) {
        Some((name, _)) => field(format!("{place}.{name}"), "only belongs to agents with a `command`"),
        None => Ok(()),
    }
}

fn check_variable(place: &str, name: &str, keys: &BTreeSet<&str>) -> Result<(), SpecError> {
    let first_is_letter = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !first_is_letter || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        let problem = format!(
            "must hold names of environment variables, never secrets themselves; an entry of {} characters is no such name",
            name.chars().count()
        );
        return field(place.into(), problem);
    }
    if OURS.contains(&name) {
        return field(place.into(), format!("{name} is set for each session; leave it out"));
    }
    if keys.contains(name) {
        return field(
            place.into(),
            format!("{name} holds the key of an endpoint, and agents ask models without keys; leave it out"),
        );
    }
    Ok(())
}

/// Checks that the models of casts can chat, and that settings name existing casts.
pub(super) fn check_casts(place: &str, benchmark: &BenchmarkSpec, spec: &SweepSpec) -> Result<(), SpecError> {
    for (name, members) in &benchmark.casts {
        let place = format!("{place}.casts.{name}");
        let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        if name.is_empty() || name.len() > CAST_NAME_MAX || !name.chars().all(is_word) {
            return field(place, format!("must be named by 1 to {CAST_NAME_MAX} letters, digits, '.', '_' and '-'"));
        }
        if members.is_empty() {
            return field(place, "names no member; name one with its model, or leave the cast out");
        }
        for (member, model) in members {
            check_player(&format!("{place}.{member}"), model, &spec.endpoints)?;
        }
    }
    for (position, setting) in benchmark.settings.iter().enumerate() {
        let place = format!("{place}.settings[{position}]");
        if let Some(cast) = setting.cast()
            && !benchmark.casts.contains_key(cast)
        {
            let known = benchmark.casts.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
            return field(
                place,
                format!("{setting} names the cast {cast:?}, which `casts` does not list; listed: {known}"),
            );
        }
        if let Some(agent) = setting.external()
            && !spec.agents.keys().any(|name| name.as_str() == agent)
        {
            let known = spec.agents.keys().map(|name| name.as_str()).collect::<Vec<_>>().join(", ");
            return field(
                place,
                format!("{setting} names the agent {agent:?}, which `agents` does not list; listed: {known}"),
            );
        }
    }
    let is_named =
        |name: &String| benchmark.settings.iter().filter_map(Setting::cast).any(|cast| cast == name.as_str());
    match benchmark.casts.keys().find(|name| !is_named(name)) {
        Some(name) => field(
            format!("{place}.casts.{name}"),
            format!("is played in no setting; name it in one as SETTING/cast={name}, or leave it out"),
        ),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
