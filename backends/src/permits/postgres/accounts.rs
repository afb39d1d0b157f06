//! Accounts, one row each.

use deadpool_postgres::{Object, Transaction};
use regatta_proto::{AccountId, AccountReply, AccountRequest, Money, SweepId};

use super::super::PermitsError;
use super::super::account::{Account, AccountState};
use super::{CLOCK_MS, clock};
use crate::ledger::columns::stored_json;
use crate::ledger::postgres::pool::Fault;

/// Result of a transaction: outside, failures of the database; inside, refusals of a transaction that went well.
type Answer<T> = Result<Result<T, PermitsError>, Fault>;

pub(super) async fn open(tx: &Transaction<'_>, id: &AccountId, cap: Money, spent: Money) -> Answer<()> {
    let insert = "INSERT INTO permit_accounts (sweep, model, state) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
    let new = written(&Account::new(cap, spent, Money::ZERO))?;
    if tx.execute(insert, &[&id.sweep.as_str(), &model(id), &new]).await? > 0 {
        return Ok(Ok(()));
    }
    let Some((state, _)) = locked(tx, id).await? else { return Ok(Err(unknown(id))) };
    let mut account = match parsed(&state, id) {
        Ok(account) => account,
        Err(error) => return Ok(Err(error)),
    };
    account.set_cap(cap);
    write(tx, id, &account).await.map(Ok)
}

pub(super) async fn close(tx: &Transaction<'_>, sweep: &SweepId) -> Result<(), Fault> {
    tx.execute("DELETE FROM permit_accounts WHERE sweep = $1", &[&sweep.as_str()]).await?;
    Ok(())
}

pub(super) async fn settle(tx: &Transaction<'_>, request: &AccountRequest) -> Answer<AccountReply> {
    let id = &request.account;
    let Some((state, now)) = locked(tx, id).await? else { return Ok(Err(unknown(id))) };
    let mut account = match parsed(&state, id) {
        Ok(account) => account,
        Err(error) => return Ok(Err(error)),
    };
    let reply = account.settle(now, request);
    write(tx, id, &account).await?;
    Ok(Ok(reply))
}

pub(super) async fn read(client: &Object, id: &AccountId) -> Answer<Option<AccountState>> {
    let select = format!("SELECT state, {CLOCK_MS} FROM permit_accounts WHERE sweep = $1 AND model = $2");
    let select = client.prepare_cached(&select).await?;
    let Some(row) = client.query_opt(&select, &[&id.sweep.as_str(), &model(id)]).await? else { return Ok(Ok(None)) };
    let (state, now): (String, i64) = (row.try_get(0)?, row.try_get(1)?);
    Ok(parsed(&state, id).map(|mut account| Some(account.read(clock(now)))))
}

/// The state of an account, which nobody else changes until the transaction ends, and the time since when.
async fn locked(tx: &Transaction<'_>, id: &AccountId) -> Result<Option<(String, u64)>, Fault> {
    let select = format!(
        "WITH locked AS MATERIALIZED (SELECT state FROM permit_accounts WHERE sweep = $1 AND model = $2 FOR UPDATE)
         SELECT state, {CLOCK_MS} FROM locked"
    );
    let select = tx.prepare_cached(&select).await?;
    let Some(row) = tx.query_opt(&select, &[&id.sweep.as_str(), &model(id)]).await? else { return Ok(None) };
    Ok(Some((row.try_get(0)?, clock(row.try_get(1)?))))
}

async fn write(tx: &Transaction<'_>, id: &AccountId, account: &Account) -> Result<(), Fault> {
    let update = tx.prepare_cached("UPDATE permit_accounts SET state = $3 WHERE sweep = $1 AND model = $2").await?;
    tx.execute(&update, &[&id.sweep.as_str(), &model(id), &written(account)?]).await?;
    Ok(())
}

/// As the key has it: empty for the account of the whole sweep.
fn model(id: &AccountId) -> String {
    id.model.as_ref().map(ToString::to_string).unwrap_or_default()
}

fn written(account: &Account) -> Result<String, Fault> {
    Ok(stored_json(account, "permit_accounts.state")?)
}

fn parsed(state: &str, id: &AccountId) -> Result<Account, PermitsError> {
    let unreadable =
        |error: serde_json::Error| PermitsError::UnreadableAccount { account: id.clone(), reason: error.to_string() };
    serde_json::from_str(state).map_err(unreadable)
}

fn unknown(id: &AccountId) -> PermitsError {
    PermitsError::UnknownAccount { account: id.clone() }
}
