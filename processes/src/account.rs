//! The user that a program runs as.

use std::fs;

/// File that lists the users of this machine.
const USERS: &str = "/etc/passwd";

/// A user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Account {
    /// Number of the user.
    pub uid: u32,
    /// Number of its group.
    pub gid: u32,
}

impl Account {
    /// The user of this name or number. One that is only a number has the group of the same number.
    ///
    /// # Errors
    /// When there is no such user.
    pub fn of(user: &str) -> Result<Self, String> {
        Self::listed(&fs::read_to_string(USERS).unwrap_or_default(), user)
            .ok_or_else(|| format!("there is no user {user:?} in {USERS}; name one that is there, or a number"))
    }

    /// `true` if it may do everything.
    #[must_use]
    pub const fn is_root(self) -> bool {
        self.uid == 0 || self.gid == 0
    }

    fn listed(users: &str, user: &str) -> Option<Self> {
        let found = users.lines().find_map(|line| {
            let mut fields = line.split(':');
            let (name, uid, gid) = (fields.next()?, fields.nth(1)?, fields.next()?);
            (name == user || uid == user).then_some(Self { uid: uid.parse().ok()?, gid: gid.parse().ok()? })
        });
        found.or_else(|| user.parse().ok().map(|number| Self { uid: number, gid: number }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_is_named_or_numbered() {
        let users = "root:x:0:0:root:/root:/bin/sh\nagents:x:990:980::/nonexistent:/usr/sbin/nologin\n";
        assert_eq!(Account::listed(users, "agents"), Some(Account { uid: 990, gid: 980 }));
        assert_eq!(Account::listed(users, "990"), Some(Account { uid: 990, gid: 980 }));
        assert_eq!(Account::listed(users, "5000"), Some(Account { uid: 5000, gid: 5000 }));
        assert_eq!(Account::listed(users, "nobody"), None);
        assert!(Account::listed(users, "root").unwrap().is_root());
    }
}
