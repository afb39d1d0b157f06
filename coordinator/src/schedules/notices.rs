//! Notices about ticks: written with what they tell of, sent afterwards, at least once.

use jiff::{SignedDuration, Timestamp};
use regatta_backends::{MissedTicks, NewNotice, TickRow};
use regatta_proto::Digest;
use serde::Serialize;
use serde_json::Value;

use super::document::{NightEvent, ScheduleSpec};
use super::edges::Message;
use super::status::NightOutcome;
use crate::{Coordinator, CoordinatorError};

/// Most notices that are sent at once.
const SENT_AT_ONCE: u32 = 32;
/// Tries before a notice is given up: with the pauses between them, over half a day.
const TRIES: u32 = 21;
/// Pause after the first failure, doubled for each further one.
const PAUSE: SignedDuration = SignedDuration::from_secs(10);
/// Longest pause between two tries.
const PAUSE_MAX: SignedDuration = SignedDuration::from_hours(1);
/// Longest judgement that goes with a notice, in bytes; a longer one stays with the sweep.
const JUDGEMENT_BYTES_MAX: usize = 64 << 10;

/// The body of a notice.
#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    schedule: &'a str,
    event: NightEvent,
    tick: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ticks: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sweep: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ended_at: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spent_nanodollars: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(flatten)]
    outcome: Option<&'a NightOutcome>,
    #[serde(skip_serializing_if = "Option::is_none")]
    judgement: Option<&'a Value>,
}

impl Coordinator {
    /// Notices about a tick, one for each channel.
    pub(super) fn notices_of(
        &self,
        schedule: &ScheduleSpec,
        event: NightEvent,
        tick: &TickRow,
        reason: Option<&str>,
        outcome: Option<(&NightOutcome, Option<&Value>)>,
    ) -> Result<Vec<NewNotice>, CoordinatorError> {
        let judgement = outcome.and_then(|(_, document)| document);
        let body = Body {
            r#type: "schedule.night",
            schedule: schedule.name.as_str(),
            event,
            tick: tick.at,
            since: None,
            ticks: None,
            sweep: tick.sweep.as_ref().map(regatta_proto::SweepId::as_str),
            ended_at: tick.ended_at,
            spent_nanodollars: tick.spent.map(|spent| spent.0),
            reason,
            outcome: outcome.map(|(outcome, _)| outcome),
            judgement: judgement.filter(|document| document.to_string().len() <= JUDGEMENT_BYTES_MAX),
        };
        written(schedule, event, tick.at, &body)
    }

    /// Notices about ticks that are missed, one for each channel.
    pub(super) fn notices_of_missed(
        &self,
        schedule: &ScheduleSpec,
        missed: &MissedTicks,
    ) -> Result<Vec<NewNotice>, CoordinatorError> {
        let body = Body {
            r#type: "schedule.night",
            schedule: schedule.name.as_str(),
            event: NightEvent::Missed,
            tick: missed.at,
            since: Some(missed.since),
            ticks: Some(missed.stands_for),
            sweep: None,
            ended_at: None,
            spent_nanodollars: None,
            reason: Some(&missed.reason),
            outcome: None,
            judgement: None,
        };
        written(schedule, NightEvent::Missed, missed.at, &body)
    }

    /// Sends what waits. A channel that does not answer holds up nobody else.
    pub(super) async fn send_notices(&self) -> Result<(), CoordinatorError> {
        let Some(scheduling) = &self.scheduling else { return Ok(()) };
        let now = self.clock.now();
        let waiting = self.ledger.waiting_notices(now, SENT_AT_ONCE).await?;
        let sent = waiting.into_iter().map(async |notice| {
            let message = Message { id: notice.id, channel: notice.channel, body: notice.body, at: now };
            let result = scheduling.messenger.send(&message).await;
            (message, notice.tries, result)
        });
        for (message, tries, result) in futures::future::join_all(sent).await {
            match result {
                Ok(()) => {
                    self.metrics.notices.with_label_values(&["sent"]).inc();
                    self.ledger.notice_sent(&message.id).await?;
                }
                Err(problem) => {
                    let next = (tries + 1 < TRIES).then(|| now + pause_after(tries));
                    self.metrics.notices.with_label_values(&[if next.is_some() { "failed" } else { "given_up" }]).inc();
                    tracing::warn!(channel = message.channel, notice = message.id, problem, "a notice was not taken");
                    self.ledger.notice_failed(&message.id, &problem, next).await?;
                }
            }
        }
        Ok(())
    }
}

fn pause_after(failures: u32) -> SignedDuration {
    let doubled = PAUSE.as_secs().saturating_mul(1 << failures.min(16));
    SignedDuration::from_secs(doubled).min(PAUSE_MAX)
}

fn written(
    schedule: &ScheduleSpec,
    event: NightEvent,
    tick: Timestamp,
    body: &Body<'_>,
) -> Result<Vec<NewNotice>, CoordinatorError> {
    let body = serde_json::to_string(body)?;
    let channels = schedule.notify.channels(event);
    // A night that is resumed and ends anew is told anew; what is told again by a second leader is the same.
    let id = |channel: &str| Digest::of(format!("{}\n{tick}\n{channel}\n{body}", schedule.name).as_bytes()).to_string();
    Ok(channels.into_iter().map(|channel| NewNotice { id: id(&channel), channel, body: body.clone() }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notice_is_tried_for_over_half_a_day() {
        let pauses: i64 = (0..TRIES - 1).map(|failures| pause_after(failures).as_secs()).sum();
        assert!((12 * 3600..24 * 3600).contains(&pauses), "{pauses}");
    }
}
