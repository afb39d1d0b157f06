//! Inputs of a coordinator's sweeps, verdicts of their judges, and files that they leave behind.

use anyhow::Context;
use bytes::Bytes;
use regatta_catalog::Input;
use regatta_coordinator::{VerdictsPage, VerdictsRequest};
use regatta_proto::{Digest, ModelRef, SweepId};
use reqwest::{Method, StatusCode};

use super::Client;

impl Client {
    /// Inputs of the sweep, by digest.
    pub(crate) async fn inputs(&self, sweep: &SweepId) -> anyhow::Result<Vec<Input>> {
        self.json(self.request(Method::GET, &format!("sweeps/{sweep}/inputs"))).await
    }

    /// One of these.
    pub(crate) async fn input(&self, sweep: &SweepId, digest: &Digest) -> anyhow::Result<Bytes> {
        let response = self.send(self.request(Method::GET, &format!("sweeps/{sweep}/inputs/{digest}"))).await?;
        response.bytes().await.with_context(|| format!("failed to read what {sweep} is made of"))
    }

    /// Verdicts on the first of `questions` that `judge` of the sweep has given.
    pub(crate) async fn verdicts(
        &self,
        sweep: &SweepId,
        judge: &ModelRef,
        questions: &[Digest],
    ) -> anyhow::Result<VerdictsPage> {
        let request = VerdictsRequest { judge: judge.clone(), questions: questions.to_vec() };
        self.json(self.request(Method::POST, &format!("sweeps/{sweep}/verdicts")).json(&request)).await
    }

    /// URL at which a browser finds a file that the sweep has left behind; `None` when the coordinator asks for a token.
    pub(crate) fn address_of(&self, sweep: &SweepId, path: &str) -> Option<String> {
        self.token.is_none().then(|| format!("{}/v1/sweeps/{sweep}/files/{path}", self.base))
    }

    /// Names of all files that the sweep has left behind.
    pub(crate) async fn files(&self, sweep: &SweepId) -> anyhow::Result<Vec<String>> {
        self.json(self.request(Method::GET, &format!("sweeps/{sweep}/files"))).await
    }

    /// A file that the sweep has left behind; `None` when there is none yet.
    pub(crate) async fn file(&self, sweep: &SweepId, path: &str) -> anyhow::Result<Option<Bytes>> {
        let response = self.answered(self.request(Method::GET, &format!("sweeps/{sweep}/files/{path}"))).await?;
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(None);
        }
        let file = self.accepted(response).await?;
        Ok(Some(file.bytes().await.context("failed to read a file of the sweep")?))
    }
}
