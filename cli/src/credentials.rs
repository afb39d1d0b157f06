//! Users and passwords in addresses that messages and logs show.

use crate::exit::BadConfiguration;

/// Refuses `address` if it has a user or a password, without showing any of it: errors of whoever connects repeat addresses. `given` says where
/// it was given, and `instead` what to do.
pub(crate) fn refuse_credentials(address: &str, given: &str, instead: &str) -> anyhow::Result<()> {
    // Also in what is no URL: who forgot the scheme has written the password all the same.
    if !address.contains('@') {
        return Ok(());
    }
    Err(BadConfiguration(format!(
        "the address in {given} has a user or a password, which messages about it would show; leave them out, and {instead}"
    ))
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_a_user_or_a_password_is_refused_and_not_told() {
        for address in [
            "https://user:hidden@host.example",
            "http://hidden@host.example:9000/path",
            "http:///user:hidden@host.example",
            "user:hidden@host.example:9000",
            "https://user:hid/den@host.example",
        ] {
            let refused =
                refuse_credentials(address, "S3_ENDPOINT", "give the key in AWS_SECRET_ACCESS_KEY").unwrap_err();
            let said = refused.to_string();
            assert!(refused.downcast_ref::<BadConfiguration>().is_some());
            assert!(said.contains("S3_ENDPOINT") && said.ends_with("give the key in AWS_SECRET_ACCESS_KEY"), "{said}");
            assert!(!said.contains("hid") && !said.contains("example"), "{said}");
        }
        refuse_credentials("https://host.example:8443/path", "S3_ENDPOINT", "").unwrap();
    }
}
