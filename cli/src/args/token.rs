//! Arguments of `regatta token` and `regatta audit`.

use clap::{Args, Subcommand};
use regatta_proto::{ApiToken, IdError, OwnerName, Scopes, TokenId};

use super::ClientArgs;

#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) what: TokenCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token for a person or a program, and print it: it is shown this once
    Create(CreateTokenArgs),
    /// List tokens, and what owners were granted and have stored of their quotas
    List(ListTokensArgs),
    /// Refuse a token from now on, for ever
    Revoke(RevokeTokenArgs),
    /// Set what an owner may be granted in all, and have stored at a time
    Quota(QuotaArgs),
}

/// Limits of an owner. What was granted counts, whether it was used or not; what is stored counts until it is removed.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct QuotaLimits {
    /// Most dollars that the owner's sweeps may have as budgets, in all
    #[arg(long, value_name = "USD")]
    pub(crate) budget_usd: Option<f64>,
    /// Most sessions that the owner's sweeps may have, in all
    #[arg(long, value_name = "N")]
    pub(crate) sessions: Option<u64>,
    /// Most GiB that the owner may have stored at a time: files of data sets, recorded verdicts, lists of them, locks of sweeps
    #[arg(long, value_name = "GIB")]
    pub(crate) stored_gib: Option<f64>,
}

#[derive(Debug, Args)]
pub(crate) struct CreateTokenArgs {
    /// The person or program that will show it; what it submits belongs to this owner
    #[arg(long)]
    pub(crate) owner: OwnerName,
    /// Rights of the token, separated by commas: read, submit, admin
    #[arg(long, value_name = "SCOPES", default_value = "read,submit")]
    pub(crate) scopes: Scopes,
    /// Days after which it is refused; never when left out
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=3650))]
    pub(crate) expires_days: Option<u32>,
    #[command(flatten)]
    pub(crate) quota: QuotaLimits,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON, the token included
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ListTokensArgs {
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeTokenArgs {
    /// The token's id, the part between the first `_` and the second; of a whole token only that is sent
    #[arg(value_parser = id_of_token)]
    pub(crate) id: TokenId,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

/// The id that `text` is, or that of the token that it is: a secret would stand in the address of the request.
fn id_of_token(text: &str) -> Result<TokenId, IdError> {
    ApiToken::parse(text.trim()).map_or_else(|| text.parse(), |token| Ok(token.id().clone()))
}

#[derive(Debug, Args)]
pub(crate) struct QuotaArgs {
    /// The owner
    pub(crate) owner: OwnerName,
    /// Limits that are left out stay as they are
    #[command(flatten)]
    pub(crate) limits: QuotaLimits,
    /// Take all limits away
    #[arg(long, conflicts_with_all = ["budget_usd", "sessions", "stored_gib"], required_unless_present_any = ["budget_usd", "sessions", "stored_gib"])]
    pub(crate) none: bool,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AuditArgs {
    /// Most entries to show, from the newest
    #[arg(short = 'n', long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) limit: u32,
    /// Only entries before this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) before: Option<u64>,
    /// Only entries of this owner, among those
    #[arg(long)]
    pub(crate) owner: Option<String>,
    #[command(flatten)]
    pub(crate) client: ClientArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_whole_token_the_id_alone_is_sent() {
        let token = ApiToken::of([7; 6], [9; 32]).unwrap();
        for given in [token.text(), token.id().as_str()] {
            assert_eq!(id_of_token(given).unwrap(), *token.id());
        }
        assert!(id_of_token("no/id").is_err());
    }
}
