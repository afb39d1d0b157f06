//! Failed TLS handshakes, in a sentence that says what to do.

/// Names of the options by which a client is told about TLS.
#[derive(Debug, Clone, Copy)]
pub struct TlsOptions {
    /// Option for the file of the authorities that count.
    pub authorities: &'static str,
    /// Options for the client's certificate and its key; `None` where the client shows none to anybody.
    pub identity: Option<&'static str>,
}

impl TlsOptions {
    /// Options of a client that trusts the system's authorities, and shows no certificate.
    pub const OF_SYSTEM: Self = Self { authorities: "SSL_CERT_FILE", identity: None };
}

/// Reasons for which a handshake fails, and words of errors by which each is known: of rustls, of its alerts, and of PostgreSQL.
const REASONS: [(Reason, &[&str]); 8] = [
    (Reason::UnknownAuthority, &["UnknownIssuer"]),
    (Reason::OtherName, &["certificate not valid for name"]),
    (Reason::Expired, &["certificate expired"]),
    (Reason::NotYet, &["certificate not valid yet"]),
    (Reason::NotShown, &["fatal alert: CertificateRequired", "requires a valid client certificate"]),
    (
        Reason::NotTaken,
        &[
            "fatal alert: UnknownCA",
            "fatal alert: CertificateUnknown",
            "fatal alert: CertificateExpired",
            "fatal alert: BadCertificate",
            "fatal alert: DecryptError",
            "fatal alert: AccessDenied",
            "fatal alert: HandshakeFailure",
        ],
    ),
    (Reason::NoTls, &["corrupt message of type InvalidContentType"]),
    // A client learns that its certificate was refused only after its own part of the handshake, and not even that where it has
    // noticed the end of the connection before it reads the alert.
    (Reason::Ended, &["operation was canceled: connection was not ready"]),
];

#[derive(Debug, Clone, Copy)]
enum Reason {
    UnknownAuthority,
    OtherName,
    Expired,
    NotYet,
    NotShown,
    NotTaken,
    NoTls,
    Ended,
}

/// Advice about the failed handshake of which an error with its causes says `told`; `None` if it is about something else.
#[must_use]
pub fn handshake_advice(told: &str, options: TlsOptions) -> Option<String> {
    let (reason, _) = REASONS.iter().find(|(_, words)| words.iter().any(|words| told.contains(words)))?;
    let TlsOptions { authorities, identity } = options;
    Some(match reason {
        Reason::UnknownAuthority => format!(
            "the server's certificate is of an authority that is not trusted here; name the file of that authority with {authorities}"
        ),
        Reason::OtherName => "the server's certificate is for another name than the address has; use the name that it is for, or have the \
                              server show one for this address"
            .to_owned(),
        Reason::Expired => {
            "the server's certificate has expired; renew it there, or set the clock of this machine right".to_owned()
        }
        Reason::NotYet => {
            "the server's certificate is not valid yet; set the clock of this machine right, or have the server show one that is in force"
                .to_owned()
        }
        Reason::NotShown => match identity {
            Some(identity) => {
                format!("the server asks for a client certificate, and none was shown; name one with {identity}")
            }
            None => "the server asks for a client certificate, and none is shown from here; have it take connections without one, or \
                     reach it by a proxy that shows one"
                .to_owned(),
        },
        Reason::NotTaken => match identity {
            Some(identity) => format!(
                "the server did not take the client certificate; name one that has not expired and is of an authority that the server \
                 knows, with {identity}"
            ),
            None => "the server ended the handshake, and may want a client certificate, which is not shown from here; look into its log"
                .to_owned(),
        },
        Reason::Ended => format!(
            "the server ended the connection as soon as it was made; if it asks for client certificates, {}",
            match identity {
                Some(identity) => format!("name one of an authority that it knows with {identity}"),
                None => "reach it by a proxy that shows one, because none is shown from here".to_owned(),
            }
        ),
        Reason::NoTls => "the server speaks no TLS at this address; write the port at which it does, or the address without TLS".to_owned(),
    })
}

/// `told`, with the advice where it is about a handshake.
#[must_use]
pub fn with_handshake_advice(told: String, options: TlsOptions) -> String {
    match handshake_advice(&told, options) {
        Some(advice) => format!("{told}; {advice}"),
        None => told,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPTIONS: TlsOptions = TlsOptions { authorities: "--ca", identity: Some("--client-cert and --client-key") };

    #[test]
    fn each_reason_says_what_to_do_and_other_errors_say_nothing() {
        let about = |told: &str| handshake_advice(told, OPTIONS).unwrap_or_default();
        assert!(about("io: invalid peer certificate: UnknownIssuer").ends_with("with --ca"));
        assert!(about("received fatal alert: CertificateRequired").ends_with("with --client-cert and --client-key"));
        assert!(about("received fatal alert: UnknownCA").contains("did not take the client certificate"));
        assert!(about("invalid peer certificate: certificate expired: verified at time 3").contains("clock"));
        assert!(about("invalid peer certificate: certificate not valid yet: verification time 3").contains("clock"));
        let ended = "client error (Canceled): operation was canceled: connection was not ready";
        assert!(about(ended).ends_with("name one of an authority that it knows with --client-cert and --client-key"));
        assert_eq!(about("connection refused"), "");
        let without = |told: &str| handshake_advice(told, TlsOptions::OF_SYSTEM).unwrap_or_default();
        assert!(without("invalid peer certificate: UnknownIssuer").ends_with("with SSL_CERT_FILE"));
        assert!(without("received fatal alert: CertificateRequired").contains("none is shown from here"));
        assert!(without("received fatal alert: HandshakeFailure").contains("may want a client certificate"));
        assert_eq!(with_handshake_advice("connection refused".to_owned(), OPTIONS), "connection refused");
    }
}
