//! Bearer tokens of OpenID Connect: who signs in elsewhere has rights here, by what the coordinator's policy says of their claims.

mod declared;
mod keys;
mod signatures;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use anyhow::Context;
use futures::future::BoxFuture;
use jiff::Timestamp;
use jsonwebtoken::dangerous::insecure_decode_claims;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, Validation, decode, decode_header};
use regatta_coordinator::{BearerVerifier, Credential, Principal, Unverified};
use regatta_proto::{Clock, OwnerName, Scopes};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use self::declared::DeclaredIssuer;
use self::keys::Keys;

/// The issuers of a policy.
pub(crate) struct Issuers {
    issuers: Vec<Issuer>,
    clock: Arc<dyn Clock>,
}

struct Issuer {
    declared: DeclaredIssuer,
    keys: Keys,
}

type Claims = Map<String, Value>;

impl Issuers {
    /// # Errors
    /// With the field that makes no sense.
    pub(crate) fn new(declared: Vec<DeclaredIssuer>, clock: Arc<dyn Clock>) -> anyhow::Result<Self> {
        signatures::install();
        let issuers = declared.into_iter().enumerate().map(|(index, declared)| {
            let issuer = || -> anyhow::Result<Issuer> {
                keys::address(&declared.issuer).context("issuer")?;
                let place = declared.jwks_uri.as_deref().map(keys::address).transpose().context("jwks_uri")?;
                declared.check()?;
                let keys = Keys::new(declared.issuer.clone(), place)?;
                Ok(Issuer { declared: declared.clone(), keys })
            };
            issuer().with_context(|| format!("oidc[{index}]"))
        });
        Ok(Self { issuers: issuers.collect::<anyhow::Result<_>>()?, clock })
    }
}

fn refused<T>(why: impl Into<String>) -> Result<T, Unverified> {
    Err(Unverified::Refused(why.into()))
}

impl BearerVerifier for Issuers {
    fn verify<'a>(&'a self, token: &'a str) -> BoxFuture<'a, Result<Principal, Unverified>> {
        Box::pin(async move {
            // Only to choose the issuer: what is read here is believed once the signature is checked.
            #[derive(Deserialize)]
            struct Named {
                iss: String,
            }
            let Ok(Named { iss }) = insecure_decode_claims::<Named>(token) else {
                return refused(
                    "it is neither a token of this coordinator nor one of an issuer; set REGATTA_TOKEN to either",
                );
            };
            match self.issuers.iter().find(|issuer| issuer.declared.issuer == iss) {
                Some(issuer) => issuer.verify(token, self.clock.now()).await,
                None => refused("its issuer (iss) is not among those of the coordinator's policy (oidc)"),
            }
        })
    }
}

impl Issuer {
    async fn verify(&self, token: &str, now: Timestamp) -> Result<Principal, Unverified> {
        // An algorithm that this library does not know, `none` above all, ends here.
        let Ok(header) = decode_header(token) else {
            return refused("its header cannot be read, or names an unknown algorithm");
        };
        if !self.declared.algorithms.iter().any(|algorithm| Algorithm::from(*algorithm) == header.alg) {
            return refused(format!("it is signed by {:?}, which the policy does not allow (algorithms)", header.alg));
        }
        if header.crit.is_some() {
            return refused("it has extensions that must be understood (crit), and none is known here");
        }
        let found = self.keys.find(header.kid.as_deref(), now).await;
        let Some(key) = found.map_err(|error| Unverified::Unavailable(format!("{error:#}")))? else {
            return refused("its key (kid) is not among those of its issuer; sign in again");
        };
        let is_for_another =
            key.common.key_algorithm.is_some_and(|meant| meant.to_string() != format!("{:?}", header.alg));
        let Ok(decoding) = DecodingKey::from_jwk(&key) else {
            return refused("its key is of a kind that is not known here");
        };
        if is_for_another {
            return refused("its key is for another algorithm");
        }
        let mut validation = Validation::new(header.alg);
        validation.set_audience(&[&self.declared.audience]);
        validation.set_issuer(&[&self.declared.issuer]);
        validation.set_required_spec_claims(&["exp", "iss", "aud"]);
        // Times are checked below, by the clock of this process.
        (validation.validate_exp, validation.validate_nbf) = (false, false);
        let claims = match decode::<Claims>(token, &decoding, &validation) {
            Ok(decoded) => decoded.claims,
            Err(error) => {
                return refused(match error.kind() {
                    ErrorKind::InvalidAudience => {
                        format!(
                            "it is not for this coordinator: its audience (aud) is not {:?}",
                            self.declared.audience
                        )
                    }
                    ErrorKind::InvalidSignature => "its signature is not its issuer's; sign in again".to_owned(),
                    ErrorKind::MissingRequiredClaim(claim) => format!("it has no {claim}"),
                    _ => format!("{error}; sign in again"),
                });
            }
        };
        self.check_times(&claims, now)?;
        Ok(Principal {
            owner: self.owner(&claims)?,
            scopes: self.scopes(&claims),
            credential: Credential::Issuer(self.declared.issuer.clone()),
        })
    }

    fn check_times(&self, claims: &Claims, now: Timestamp) -> Result<(), Unverified> {
        let time = |name: &str| -> Result<Option<f64>, Unverified> {
            match claims.get(name) {
                None | Some(Value::Null) => Ok(None),
                Some(value) => match value.as_f64() {
                    Some(seconds) => Ok(Some(seconds)),
                    None => refused(format!("its {name} is no number")),
                },
            }
        };
        let (now, skew) = (now.as_second() as f64, self.declared.clock_skew_s as f64);
        match time("exp")? {
            Some(end) if end + skew > now => {}
            Some(_) => return refused("it has expired (exp); sign in again"),
            None => return refused("it has no exp"),
        }
        if time("nbf")?.is_some_and(|begin| begin - skew > now) {
            return refused("it is not valid yet (nbf); compare the clocks of its issuer and of the coordinator");
        }
        if time("iat")?.is_some_and(|at| at - skew > now) {
            return refused("it is of the future (iat); compare the clocks of its issuer and of the coordinator");
        }
        Ok(())
    }

    fn owner(&self, claims: &Claims) -> Result<OwnerName, Unverified> {
        let claim = &self.declared.owner_claim;
        let Some(name) = claims.get(claim).and_then(Value::as_str) else {
            return refused(format!("it has no {claim}, which names the owner (owner_claim)"));
        };
        // Anybody may write any address into a profile until it is verified.
        if claim == "email" && claims.get("email_verified") != Some(&Value::Bool(true)) {
            return refused("its email is not verified (email_verified); name another owner_claim, as sub");
        }
        match OwnerName::new(format!("{}{name}", self.declared.owner_prefix)) {
            Ok(owner) if !owner.is_reserved() => Ok(owner),
            Ok(owner) => refused(format!("{owner} is a reserved name; set owner_prefix in the policy")),
            Err(error) => refused(format!("its {claim} is no owner: {error}")),
        }
    }

    fn scopes(&self, claims: &Claims) -> Scopes {
        let values: Vec<&str> = match claims.get(&self.declared.scopes_claim) {
            Some(Value::String(words)) => words.split_whitespace().collect(),
            Some(Value::Array(values)) => values.iter().filter_map(Value::as_str).collect(),
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => Vec::new(),
        };
        let granted = values.into_iter().filter_map(|value| self.declared.grants.get(value)).flatten();
        granted.chain(&self.declared.everybody).copied().collect()
    }
}
