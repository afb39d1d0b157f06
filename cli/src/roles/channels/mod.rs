//! Channels of notices: webhooks and commands of the coordinator's policy file. A schedule only names them.

mod command;
mod webhook;

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use futures::future::BoxFuture;
use regatta_coordinator::{Message, Messenger};
use regatta_proto::{TlsOptions, with_handshake_advice};

use self::command::Command;
pub(super) use self::command::Declared as DeclaredCommand;
pub(super) use self::webhook::Declared as DeclaredWebhook;
use self::webhook::Webhook;

/// The channels of a coordinator.
#[derive(Debug, Default)]
pub(crate) struct Channels {
    webhooks: BTreeMap<String, Webhook>,
    commands: BTreeMap<String, Command>,
}

impl Channels {
    /// The channels of a policy, with the secrets that it names.
    pub(super) fn new(
        webhooks: BTreeMap<String, DeclaredWebhook>,
        commands: BTreeMap<String, DeclaredCommand>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> anyhow::Result<Self> {
        let mut channels = Self::default();
        for (name, webhook) in webhooks {
            let webhook = Webhook::new(webhook, variable).with_context(|| format!("webhooks.{name}"))?;
            channels.webhooks.insert(name, webhook);
        }
        for (name, command) in commands {
            let command = Command::new(command).with_context(|| format!("commands.{name}"))?;
            channels.commands.insert(name, command);
        }
        Ok(channels)
    }

    fn unknown(&self, channel: &str) -> String {
        let of = |kind: &'static str, names: Vec<&String>| {
            names.into_iter().map(|name| format!("{kind}/{name}")).collect::<Vec<_>>()
        };
        let known =
            [of("webhook", self.webhooks.keys().collect()), of("command", self.commands.keys().collect())].concat();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        format!("the coordinator's policy (--policy) has no {channel}; it has {known}")
    }
}

impl Messenger for Channels {
    fn knows(&self, channel: &str) -> Result<(), String> {
        let found = match channel.split_once('/') {
            Some(("webhook", name)) => self.webhooks.contains_key(name),
            Some(("command", name)) => self.commands.contains_key(name),
            Some(_) | None => false,
        };
        if found { Ok(()) } else { Err(self.unknown(channel)) }
    }

    fn send<'a>(&'a self, message: &'a Message) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let sent = match message.channel.split_once('/') {
                Some(("webhook", name)) => match self.webhooks.get(name) {
                    Some(webhook) => webhook.send(message).await,
                    None => return Err(self.unknown(&message.channel)),
                },
                Some(("command", name)) => match self.commands.get(name) {
                    Some(command) => command.run(message).await,
                    None => return Err(self.unknown(&message.channel)),
                },
                Some(_) | None => return Err(self.unknown(&message.channel)),
            };
            sent.map_err(|error| with_handshake_advice(format!("{error:#}"), TlsOptions::OF_SYSTEM))
        })
    }
}

/// Refuses a name of a variable that is none.
fn check_variable(name: &str) -> anyhow::Result<()> {
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    // Not quoted: it may be the secret itself.
    if !is_name {
        bail!(
            "this is no name of a variable (it has {} characters); name the one that holds the secret, and never write the secret here",
            name.chars().count()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[derive(Default, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    struct File {
        webhooks: BTreeMap<String, DeclaredWebhook>,
        commands: BTreeMap<String, DeclaredCommand>,
    }

    fn parsed(text: &str) -> anyhow::Result<Channels> {
        let variable = |name: &str| match name {
            "GOOD" => Some("0123456789abcdef".to_owned()),
            "SHORT" => Some("short".to_owned()),
            _ => None,
        };
        let File { webhooks, commands } = serde_yaml_ng::from_str(text)?;
        Channels::new(webhooks, commands, &variable)
    }

    #[test]
    fn a_schedule_finds_what_the_policy_names_and_nothing_else() {
        let channels = parsed(
            "webhooks: { ci: { url: 'https://ci.example/hook', secret_env: GOOD } }
commands: { page: { command: [/bin/page] } }",
        )
        .unwrap();
        assert_eq!(channels.knows("webhook/ci"), Ok(()));
        assert_eq!(channels.knows("command/page"), Ok(()));
        let error = channels.knows("command/ci").unwrap_err();
        assert_eq!(error, "the coordinator's policy (--policy) has no command/ci; it has webhook/ci, command/page");
        assert!(Channels::default().knows("webhook/ci").unwrap_err().ends_with("it has none"));
    }

    #[tokio::test]
    async fn a_receiver_whose_certificate_is_a_strangers_gets_nothing_and_it_is_said_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("https://localhost:{}/hunter2", listener.local_addr().unwrap().port());
        let (tls, stop) = (Some(crate::tls::tests::strangers(folder.path())), CancellationToken::new());
        let serving = crate::listener::serve_tls(listener, tls, 64, axum::Router::new(), stop.clone());
        let channels = parsed(&format!("webhooks: {{ ci: {{ url: '{url}', secret_env: GOOD }} }}")).unwrap();
        let message = Message {
            id: "msg_1".to_owned(),
            channel: "webhook/ci".to_owned(),
            body: "{}".to_owned(),
            at: jiff::Timestamp::UNIX_EPOCH,
        };
        let problem = channels.send(&message).await.unwrap_err();
        assert!(problem.contains("name the file of that authority with SSL_CERT_FILE"), "{problem}");
        assert!(!problem.contains("hunter2"), "{problem}");
        stop.cancel();
        serving.await.unwrap();
    }

    #[test]
    fn an_address_that_is_refused_is_not_told() {
        for address in [
            "ftp://user:hunter2@x.example/hook",
            "https://user:hunter2@x.example/hook",
            "https://user:hunter2@x.example:port",
            "ftp://x.example/hunter2",
        ] {
            let text = format!("webhooks: {{ ci: {{ url: '{address}', secret_env: GOOD }} }}");
            let error = format!("{:#}", parsed(&text).unwrap_err());
            assert!(error.contains("webhooks.ci: url: ") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_secret_in_the_place_of_a_variable_is_not_told() {
        for text in [
            "webhooks: { ci: { url: 'https://x.example', secret_env: 'hunter2!' } }",
            "commands: { page: { command: [/bin/page], pass_env: ['hunter2!'] } }",
        ] {
            let error = format!("{:#}", parsed(text).unwrap_err());
            assert!(error.contains("variable") && !error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_policy_is_said_with_its_place() {
        let refused = |text: &str| format!("{:#}", parsed(text).unwrap_err());
        let errors = [
            refused("webhooks: { ci: { url: 'https://x.example', secret_env: NOT_SET } }"),
            refused("webhooks: { ci: { url: 'https://x.example', secret_env: SHORT } }"),
            refused("webhooks: { ci: { url: 'https://x.example', secret_env: 'hunter2!' } }"),
            refused("webhooks: { ci: { url: 'ftp://x.example', secret_env: GOOD } }"),
            refused("webhooks: { ci: { url: 'https://user:word@x.example', secret_env: GOOD } }"),
            refused("webhooks: { ci: { url: 'https://x.example' } }"),
            refused("commands: { page: { command: [] } }"),
            refused("commands: { page: { command: [x], timeout_s: 900 } }"),
            refused("commands: { page: { command: [x], shell: true } }"),
        ];
        insta::assert_snapshot!(errors.join("\n"));
    }
}
