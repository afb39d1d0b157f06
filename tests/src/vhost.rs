//! A virtual host for one test: queues have fixed names, so tests that share a broker must not share a virtual host.

use std::process::Stdio;

use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::HarnessError;
use crate::names::unique_name;

/// Names a program that imports into the broker the definitions that it reads.
pub(crate) const IMPORT_DEFINITIONS: &str = "REGATTA_TEST_IMPORT_DEFINITIONS";
/// Port of the management plugin unless told otherwise; the image in `deploy/services.yaml` has it.
const MANAGEMENT_PORT: u16 = 15_672;

/// Copies of all messages in a virtual host, for whoever binds a queue to its exchange `amq.rabbitmq.trace`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tracing {
    On,
    Off,
}

/// A new virtual host, not made yet, on the broker that an AMQP URL names.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct VirtualHost {
    /// AMQP URL of the new virtual host.
    pub(crate) url: String,
    /// Definitions (JSON) that RabbitMQ imports to make it, with all rights for the URL's user.
    pub(crate) definitions: String,
    /// Address at which another broker imports them, with the credentials.
    management_url: String,
}

impl VirtualHost {
    /// Names a virtual host for the broker at `amqp_url`.
    pub(crate) fn new(amqp_url: &str, tracing: Tracing) -> Self {
        Self::named(&unique_name("test"), amqp_url, tracing)
    }

    fn named(name: &str, amqp_url: &str, tracing: Tracing) -> Self {
        let (scheme, rest) = amqp_url.split_once("://").unwrap_or(("amqp", amqp_url));
        let (address, options) = rest.find('?').map_or((rest, ""), |at| rest.split_at(at));
        let authority = address.split('/').next().unwrap_or_default();
        let (credentials, host) = authority.rsplit_once('@').unwrap_or(("guest:guest", authority));
        let user = credentials.split(':').next().unwrap_or_default();
        let host_name = host.rsplit_once(':').map_or(host, |(name, _)| name);
        let is_traced = tracing == Tracing::On;
        let definitions = format!(
            r#"{{"vhosts":[{{"name":"{name}","tracing":{is_traced}}}],"permissions":[{{"user":"{user}","vhost":"{name}","configure":".*","write":".*","read":".*"}}]}}"#
        );
        Self {
            url: format!("{scheme}://{authority}/{name}{options}"),
            definitions,
            management_url: format!("http://{credentials}@{host_name}:{MANAGEMENT_PORT}/api/definitions"),
        }
    }

    /// Makes it on a broker that is not this process's, and returns its AMQP URL.
    pub(crate) async fn create_elsewhere(self) -> Result<String, HarnessError> {
        match std::env::var_os(IMPORT_DEFINITIONS) {
            Some(script) => {
                // Named, because temporary folders may forbid to run what is in them.
                let mut shell = Command::new("sh");
                shell.arg(script);
                run(shell, &self.definitions, "create a virtual host").await?;
            }
            None => self.create_by_management().await?,
        }
        Ok(self.url)
    }

    async fn create_by_management(&self) -> Result<(), HarnessError> {
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--silent", "--show-error", "--max-time", "30"])
            .args(["--header", "content-type: application/json", "--data-binary", "@-"])
            .arg(&self.management_url);
        run(curl, &self.definitions, "create a virtual host with curl").await
    }
}

/// Runs a program to its end, with `input` on its stdin.
///
/// # Errors
/// When it cannot be started, or ends in failure.
pub(crate) async fn run(mut program: Command, input: &str, action: &str) -> Result<(), HarnessError> {
    let output = async {
        let piped = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.kill_on_drop(true).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that ends without reading says why itself.
            let _ = stdin.write_all(input.as_bytes()).await;
        }
        child.wait_with_output().await
    };
    let output = output.await.map_err(HarnessError::io(action))?;
    if output.status.success() {
        return Ok(());
    }
    let text = [output.stdout, output.stderr].concat();
    let reason = format!("{}: {}", output.status, String::from_utf8_lossy(&text).trim());
    Err(HarnessError::Refused { action: action.to_owned(), source: reason.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_host_and_options_stay_and_the_virtual_host_changes() {
        let made = VirtualHost::named("test_1", "amqp://regatta:secret@127.0.0.1:5672/%2f?heartbeat=5", Tracing::Off);
        assert_eq!(made.url, "amqp://regatta:secret@127.0.0.1:5672/test_1?heartbeat=5");
        assert_eq!(made.management_url, "http://regatta:secret@127.0.0.1:15672/api/definitions");
        assert!(made.definitions.contains(r#""user":"regatta","vhost":"test_1""#), "{}", made.definitions);
        assert!(made.definitions.contains(r#"{"name":"test_1","tracing":false}"#), "{}", made.definitions);
    }

    #[test]
    fn url_without_credentials_means_the_guest() {
        let made = VirtualHost::named("test_1", "amqp://broker", Tracing::On);
        assert_eq!(made.url, "amqp://broker/test_1");
        assert_eq!(made.management_url, "http://guest:guest@broker:15672/api/definitions");
        assert!(made.definitions.contains(r#"{"name":"test_1","tracing":true}"#), "{}", made.definitions);
    }

    #[tokio::test]
    async fn error_of_a_failed_program_quotes_what_it_said() {
        let mut program = Command::new("sh");
        program.args(["-c", "read word; echo \"no $word\" >&2; exit 3"]);
        let error = run(program, "rights\n", "ask").await.unwrap_err();
        let reason = std::error::Error::source(&error).unwrap().to_string();
        assert_eq!(format!("{error}: {reason}"), "failed to ask: exit status: 3: no rights");
    }
}
