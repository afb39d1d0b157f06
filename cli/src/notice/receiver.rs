//! The receiver that a person names on the command line.

use std::time::Duration;

use regatta_proto::{TlsOptions, with_handshake_advice};
use reqwest::{Client, Url};

use super::post;
use super::program::Program;
use crate::exit::BadConfiguration;

/// Time that a command has.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(30);
/// Variables that programs of a desktop need. Keys of providers are not passed on.
const OF_DESKTOP: [&str; 6] =
    ["HOME", "USER", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS"];

pub(super) enum Receiver {
    Address { client: Client, url: Url },
    Command(Program),
}

impl Receiver {
    /// The address, or else the command line of a shell, that is `named`.
    ///
    /// # Errors
    /// [`BadConfiguration`] when it is neither.
    pub(super) fn new(named: &str) -> anyhow::Result<Self> {
        // Not quoted: an address may hold a secret.
        let refused =
            |problem: &str| BadConfiguration(format!("the receiver of notices (--notify, REGATTA_NOTIFY) {problem}"));
        let named = named.trim();
        let Some(first) = named.split_whitespace().next() else {
            return Err(refused("is empty; give an address (https://…) or a command").into());
        };
        // A command may begin with a variable whose value is an address.
        let is_of_a_scheme = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if !first.split_once("://").is_some_and(|(scheme, _)| scheme.chars().all(is_of_a_scheme)) {
            return Ok(Self::Command(Program {
                program: "/bin/sh".to_owned(),
                arguments: vec!["-c".to_owned(), named.to_owned()],
                timeout: COMMAND_TIMEOUT,
                pass_env: OF_DESKTOP.map(str::to_owned).to_vec(),
            }));
        }
        let url: Url = named.parse().map_err(|_| refused("is no address; write it as https://ci.example/hook"))?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(refused("is an address that is not of https or http").into());
        }
        Ok(Self::Address { client: post::client()?, url })
    }

    /// Gives it the notice `body`.
    ///
    /// # Errors
    /// With the reason for which it was not taken.
    pub(super) async fn tell(&self, id: &str, body: &str) -> Result<(), String> {
        let told = match self {
            Self::Address { client, url } => {
                let request = client.post(url.clone()).header("content-type", "application/json");
                post::taken(request.header("webhook-id", id).body(body.to_owned())).await
            }
            Self::Command(program) => program.tell(id, body).await,
        };
        told.map_err(|error| with_handshake_advice(format!("{error:#}"), TlsOptions::OF_SYSTEM))
    }
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderMap;
    use axum::routing::post;
    use tokio::sync::mpsc;

    use super::*;

    #[tokio::test]
    async fn an_address_gets_the_notice_as_json_with_its_id() {
        let (sender, mut received) = mpsc::unbounded_channel();
        let take = move |headers: HeaderMap, body: String| async move {
            sender.send((headers, body)).unwrap();
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move { axum::serve(listener, axum::Router::new().route("/hook", post(take))).await });
        let receiver = Receiver::new(&format!("http://{address}/hook")).unwrap();
        receiver.tell("n-1", "{\"state\":\"complete\"}").await.unwrap();
        let (headers, body) = received.recv().await.unwrap();
        assert_eq!(body, "{\"state\":\"complete\"}");
        assert_eq!(headers["content-type"], "application/json");
        assert_eq!(headers["webhook-id"], "n-1");
        let other = Receiver::new(&format!("http://{address}/hunter2")).unwrap();
        assert_eq!(other.tell("n-2", "{}").await, Err("it answered 404 Not Found".to_owned()));
    }

    #[tokio::test]
    async fn a_command_is_a_shells_and_reads_the_notice() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("told").display().to_string();
        let receiver = Receiver::new(&format!("/bin/cat > {file} && echo \" $REGATTA_NOTICE_ID\" >> {file}")).unwrap();
        receiver.tell("n-1", "{}").await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "{} n-1\n");
        let receiver = Receiver::new(&format!("HOOK=https://ci.example/hook && echo $HOOK > {file}")).unwrap();
        receiver.tell("n-1", "{}").await.unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "https://ci.example/hook\n");
        let problem = Receiver::new("echo no route >&2; exit 3").unwrap().tell("n-2", "{}").await.unwrap_err();
        assert_eq!(problem, "/bin/sh ended with exit status: 3: no route");
    }

    #[tokio::test]
    async fn what_a_command_leaves_in_the_background_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let fifo = folder.path().join("fifo");
        // It holds the standard error of the command until somebody writes.
        let command = format!("mkfifo {0} && (cat {0} >&2 &)", fifo.display());
        assert_eq!(Receiver::new(&command).unwrap().tell("n-1", "{}").await, Ok(()));
        std::fs::write(&fifo, "now").unwrap();
    }

    #[test]
    fn what_is_neither_an_address_nor_a_command_is_refused_without_being_told() {
        for named in ["  ", "ftp://x.example/hunter2", "https://", "https://x.example:port/hunter2"] {
            let error = Receiver::new(named).err().unwrap();
            assert!(error.downcast_ref::<BadConfiguration>().is_some(), "{named}");
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
