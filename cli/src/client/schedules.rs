//! Schedules of a coordinator.

use jiff::Timestamp;
use regatta_coordinator::{SchedulePut, ScheduleRequest, ScheduleStatus, TickStatus};
use regatta_proto::ScheduleName;
use reqwest::Method;
use serde::Deserialize;

use super::Client;

/// A tick that was asked for.
#[derive(Deserialize)]
pub(super) struct Asked {
    at: Timestamp,
}

impl Client {
    pub(crate) async fn put_schedule(&self, request: &ScheduleRequest) -> anyhow::Result<SchedulePut> {
        self.json(self.request(Method::POST, "schedules").json(request)).await
    }

    pub(crate) async fn schedules(&self) -> anyhow::Result<Vec<ScheduleStatus>> {
        self.whole("schedules").await
    }

    pub(crate) async fn schedule(&self, name: &ScheduleName) -> anyhow::Result<ScheduleStatus> {
        self.json(self.request(Method::GET, &format!("schedules/{name}"))).await
    }

    /// At most `limit` ticks, newest first.
    pub(crate) async fn history(&self, name: &ScheduleName, limit: u32) -> anyhow::Result<Vec<TickStatus>> {
        self.json(self.request(Method::GET, &format!("schedules/{name}/history?limit={limit}"))).await
    }

    /// Pauses or resumes a schedule.
    pub(crate) async fn change_schedule(&self, name: &ScheduleName, change: &str) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("schedules/{name}/{change}")).json(&())).await.map(drop)
    }

    /// Asks for a sweep of a schedule; returns its tick.
    pub(crate) async fn run_schedule(&self, name: &ScheduleName) -> anyhow::Result<Timestamp> {
        let asked: Asked = self.json(self.request(Method::POST, &format!("schedules/{name}/run")).json(&())).await?;
        Ok(asked.at)
    }

    pub(crate) async fn delete_schedule(&self, name: &ScheduleName) -> anyhow::Result<()> {
        self.send(self.request(Method::DELETE, &format!("schedules/{name}"))).await.map(drop)
    }
}
