//! `regatta token`: credentials of people and programs at a coordinator.

use std::process::ExitCode;

use anyhow::Context;
use comfy_table::{Table, presets};
use jiff::{SignedDuration, Timestamp};
use rand::TryRngCore;
use rand::rngs::OsRng;
use regatta_backends::{Quota, StorageQuota, TokenRow};
use regatta_coordinator::{QuotaRequest, TokenList, TokenRequest};
use regatta_proto::{ApiToken, Clock as _, Money, OwnerName, SystemClock, binary_size};

use crate::args::{CreateTokenArgs, QuotaLimits, TokenArgs, TokenCommand};
use crate::client::Client;
use crate::exit::BadConfiguration;
use crate::output;
use crate::plain_table::fitted;

pub(crate) async fn run(args: TokenArgs) -> anyhow::Result<ExitCode> {
    match args.what {
        TokenCommand::Create(args) => create(args).await?,
        TokenCommand::List(args) => {
            let list = Client::new(&args.client)?.tokens().await?;
            let text = match args.json {
                true => serde_json::to_string_pretty(&list)?,
                false => tables(&list, SystemClock.now()),
            };
            output::line(&text);
        }
        TokenCommand::Revoke(args) => {
            Client::new(&args.client)?.revoke_token(&args.id).await?;
            output::note(&format!("{} is refused from now on; what it submitted stays", args.id));
        }
        TokenCommand::Quota(args) => {
            let client = Client::new(&args.client)?;
            // Nothing given must never read as no limit.
            let (quota, storage) = match args.none {
                true => (Some(Quota::default()), Some(StorageQuota::default())),
                false => (changed(&client, &args.owner, args.limits).await?, storage(args.limits)?),
            };
            client.set_quota(&QuotaRequest { owner: args.owner.clone(), quota, storage }).await?;
            for told in quota.map(told).into_iter().chain(storage.map(told_of_storage)) {
                output::note(&format!("{} may {told}", args.owner));
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn create(args: CreateTokenArgs) -> anyhow::Result<()> {
    let client = Client::new(&args.client)?;
    // Drawn here: the coordinator is told its digest, and has the token itself only when it is shown.
    let token = draw()?;
    let expires_at = args.expires_days.map(|days| SystemClock.now() + SignedDuration::from_hours(24 * i64::from(days)));
    let row = client
        .create_token(&TokenRequest {
            id: token.id().clone(),
            digest: token.digest(),
            owner: args.owner.clone(),
            scopes: args.scopes,
            expires_at,
            quota: changed(&client, &args.owner, args.quota).await?,
            storage: storage(args.quota)?,
        })
        .await?;
    if args.json {
        let mut document = serde_json::to_value(&row)?;
        document["token"] = token.text().into();
        output::line(&document.to_string());
    } else {
        output::line(token.text());
        output::note(&described(&row));
    }
    Ok(())
}

fn described(row: &TokenRow) -> String {
    let until = row.expires_at.map_or_else(|| "for ever".to_owned(), |at| format!("until {at}"));
    format!(
        "token {} of {} ({}), {until}; it is shown this once: keep it in REGATTA_TOKEN, and end it with: regatta token revoke {}",
        row.id, row.owner, row.scopes, row.id
    )
}

fn draw() -> anyhow::Result<ApiToken> {
    let (mut id, mut secret) = ([0; 6], [0; 32]);
    let drawn = OsRng.try_fill_bytes(&mut id).and_then(|()| OsRng.try_fill_bytes(&mut secret));
    drawn.context("failed to draw a token from the system's randomness")?;
    ApiToken::of(id, secret).context("failed to write a token")
}

/// The quota of stored bytes that `limits` give.
fn storage(limits: QuotaLimits) -> anyhow::Result<Option<StorageQuota>> {
    let Some(gib) = limits.stored_gib else { return Ok(None) };
    let quota = StorageQuota::from_gib(gib);
    Ok(Some(quota.ok_or_else(|| BadConfiguration(format!("--stored-gib: {gib} is no amount of GiB")))?))
}

/// The quota of `owner` with `limits` in place of its own; `None` if none is given of what is granted.
async fn changed(client: &Client, owner: &OwnerName, limits: QuotaLimits) -> anyhow::Result<Option<Quota>> {
    if limits.budget_usd.is_none() && limits.sessions.is_none() {
        return Ok(None);
    }
    let budget = limits.budget_usd.map(|dollars| {
        Money::from_dollars(dollars)
            .ok_or_else(|| BadConfiguration(format!("--budget-usd: {dollars} is no amount of dollars")))
    });
    let owners = client.tokens().await?.owners;
    let present = owners.into_iter().find(|row| row.owner == *owner).map(|row| row.quota).unwrap_or_default();
    Ok(Some(Quota { budget: budget.transpose()?.or(present.budget), sessions: limits.sessions.or(present.sessions) }))
}

fn told(quota: Quota) -> String {
    let budget = quota.budget.map_or_else(|| "any money".to_owned(), |budget| budget.to_string());
    let sessions = quota.sessions.map_or_else(|| "any number of".to_owned(), |count| count.to_string());
    format!("be granted {budget} and {sessions} sessions in all")
}

fn told_of_storage(quota: StorageQuota) -> String {
    format!("have {} stored at a time", quota.bytes.map_or_else(|| "any number of bytes".to_owned(), binary_size))
}

fn tables(list: &TokenList, now: Timestamp) -> String {
    let mut tokens = table(&["token", "owner", "scopes", "created", "by", "state"]);
    for row in &list.tokens {
        let state = match (row.revoked_at, row.expires_at) {
            (Some(at), _) => format!("revoked {at}"),
            (None, Some(at)) if at <= now => format!("expired {at}"),
            (None, Some(at)) => format!("until {at}"),
            (None, None) => "for ever".to_owned(),
        };
        tokens.add_row([
            row.id.to_string(),
            row.owner.to_string(),
            row.scopes.to_string(),
            row.created_at.to_string(),
            row.created_by.to_string(),
            state,
        ]);
    }
    let mut owners = table(&["owner", "granted", "of", "sessions granted", "of", "stored", "of"]);
    for row in &list.owners {
        let budget = row.quota.budget.map_or_else(|| "any".to_owned(), |budget| budget.to_string());
        let sessions = row.quota.sessions.map_or_else(|| "any".to_owned(), |count| count.to_string());
        let storage = row.storage.bytes.map_or_else(|| "any".to_owned(), binary_size);
        let (granted, stored) = (row.granted.to_string(), binary_size(row.stored_bytes));
        let granted_sessions = row.granted_sessions.to_string();
        owners.add_row([row.owner.to_string(), granted, budget, granted_sessions, sessions, stored, storage]);
    }
    format!("{}\n\n{}", fitted(tokens), fitted(owners))
}

fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(header.to_vec());
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_and_owners_are_listed_without_anything_that_could_be_used() {
        let list: TokenList = serde_json::from_value(serde_json::json!({
            "tokens": [
                { "id": "0a1b2c3d4e5f", "owner": "alice", "scopes": ["read", "submit"], "created_at": "2026-01-01T00:00:00Z",
                  "created_by": "operator", "expires_at": "2026-01-31T00:00:00Z", "revoked_at": null },
                { "id": "1a1b2c3d4e5f", "owner": "ci", "scopes": ["submit"], "created_at": "2026-01-01T00:00:00Z",
                  "created_by": "operator", "expires_at": "2026-01-02T00:00:00Z", "revoked_at": null },
                { "id": "2a1b2c3d4e5f", "owner": "bob", "scopes": ["admin"], "created_at": "2026-01-01T00:00:00Z",
                  "created_by": "alice", "expires_at": null, "revoked_at": "2026-01-03T00:00:00Z" },
            ],
            "owners": [
                { "owner": "alice", "quota": { "budget": 100_000_000_000_u64, "sessions": null }, "granted": 12_500_000_000_u64,
                  "granted_sessions": 400, "stored_bytes": 1_610_612_736_u64, "storage": { "bytes": 10_737_418_240_u64 } },
                // As a coordinator of the version before tells it.
                { "owner": "bob", "quota": { "budget": null, "sessions": 7 }, "granted": 0, "granted_sessions": 0 },
            ],
        }))
        .unwrap();
        insta::assert_snapshot!(tables(&list, "2026-01-10T00:00:00Z".parse().unwrap()));
    }

    #[test]
    fn no_token_is_drawn_twice() {
        let (one, other) = (draw().unwrap(), draw().unwrap());
        assert_ne!(one.text(), other.text());
        assert_ne!(one.id(), other.id());
    }
}
