//! Tokens, owners and their quotas, and the audit log of a coordinator.

use regatta_backends::{AuditRow, OwnerRow, TokenRow};
use regatta_coordinator::{QuotaRequest, TokenList, TokenRequest};
use regatta_proto::TokenId;
use reqwest::{Method, StatusCode};

use super::{Client, FIRST_PAGE, LISTED_MAX};

impl Client {
    pub(crate) async fn create_token(&self, request: &TokenRequest) -> anyhow::Result<TokenRow> {
        self.json(self.request(Method::POST, "tokens").json(request)).await
    }

    /// All tokens and owners.
    pub(crate) async fn tokens(&self) -> anyhow::Result<TokenList> {
        // Coordinators of before there were pages name all owners beside their tokens.
        let mut owners = Vec::new();
        let of_page = |page: TokenList| {
            owners.extend(page.owners);
            page.tokens
        };
        let tokens = self.pages("tokens", FIRST_PAGE, LISTED_MAX, of_page).await?;
        if owners.is_empty() {
            owners = self.owners().await?;
        }
        Ok(TokenList { tokens, owners })
    }

    /// All owners with a quota or with sweeps.
    async fn owners(&self) -> anyhow::Result<Vec<OwnerRow>> {
        let first = self.answered(self.request(Method::GET, "owners?limit=1")).await?;
        if first.status() == StatusCode::NOT_FOUND {
            // Of a coordinator of before there were pages, while another may have answered with a page of tokens: only the whole list has all
            // owners then, and one that is left out would seem to have no quota.
            let whole: TokenList = self.json(self.request(Method::GET, "tokens")).await?;
            return Ok(whole.owners);
        }
        self.accepted(first).await?;
        self.whole("owners").await
    }

    pub(crate) async fn revoke_token(&self, id: &TokenId) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, &format!("tokens/{id}/revoke")).json(&())).await.map(drop)
    }

    pub(crate) async fn set_quota(&self, request: &QuotaRequest) -> anyhow::Result<()> {
        self.send(self.request(Method::POST, "quotas").json(request)).await.map(drop)
    }

    /// At most `limit` entries of the audit log with numbers below `before`, newest first.
    pub(crate) async fn audit(&self, before: Option<u64>, limit: u32) -> anyhow::Result<Vec<AuditRow>> {
        let before = before.map_or_else(String::new, |number| format!("&before={number}"));
        self.pages("audit", &format!("?limit={limit}{before}"), limit as usize, |page: Vec<AuditRow>| page).await
    }
}
