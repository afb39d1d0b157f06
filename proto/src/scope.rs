//! Rights at a coordinator's API.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// One right. `admin` includes all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// Read all sweeps, schedules and results, whoever owns them.
    Read,
    /// Submit sweeps and write schedules; cancel, resume and change one's own.
    Submit,
    /// All actions on everybody's sweeps: tokens, quotas, retention, the audit log.
    Admin,
}

impl Scope {
    const ALL: [Self; 3] = [Self::Read, Self::Submit, Self::Admin];

    /// Name in SQL, documents and on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Submit => "submit",
            Self::Admin => "admin",
        }
    }

    const fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Submit => 2,
            Self::Admin => 4,
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Scope {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| format!("unknown scope {text:?} (known: read, submit, admin)"))
    }
}

/// A set of rights. As text: `read,submit`.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(from = "Vec<Scope>", into = "Vec<Scope>")]
pub struct Scopes(u8);

impl Scopes {
    /// No right.
    pub const NONE: Self = Self(0);

    /// `true` if these rights allow actions that need `scope`.
    #[must_use]
    pub const fn allow(self, scope: Scope) -> bool {
        self.0 & (scope.bit() | Scope::Admin.bit()) != 0
    }

    /// `true` if the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The union of both sets.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<I: IntoIterator<Item = Scope>>(scopes: I) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl From<Vec<Scope>> for Scopes {
    fn from(scopes: Vec<Scope>) -> Self {
        scopes.into_iter().collect()
    }
}

impl From<Scopes> for Vec<Scope> {
    fn from(scopes: Scopes) -> Self {
        Scope::ALL.into_iter().filter(|scope| scopes.0 & scope.bit() != 0).collect()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, scope) in Vec::from(*self).into_iter().enumerate() {
            write!(f, "{}{scope}", if index == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Scopes({self})")
    }
}

impl FromStr for Scopes {
    type Err = String;
    /// At least one scope, separated by commas.
    fn from_str(text: &str) -> Result<Self, String> {
        text.split(',').map(|scope| scope.trim().parse::<Scope>()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(text: &str) -> Scopes {
        text.parse().unwrap()
    }

    #[test]
    fn an_admin_may_everything_and_nobody_else_more_than_is_said() {
        for scope in Scope::ALL {
            assert!(scopes("admin").allow(scope) && !Scopes::NONE.allow(scope), "{scope}");
        }
        assert!(scopes("read").allow(Scope::Read) && !scopes("read").allow(Scope::Submit));
        assert!(!scopes("submit").allow(Scope::Read) && !scopes("read,submit").allow(Scope::Admin));
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        assert_eq!(scopes(" submit, read,submit").to_string(), "read,submit");
        assert_eq!(serde_json::to_string(&scopes("read,admin")).unwrap(), r#"["read","admin"]"#);
        assert_eq!("".parse::<Scopes>().unwrap_err(), r#"unknown scope "" (known: read, submit, admin)"#);
    }
}
