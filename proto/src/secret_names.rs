//! Names that indicate secrets.

/// Words that mark a name as that of a secret.
const SECRET_WORDS: [&str; 14] = [
    "key",
    "apikey",
    "token",
    "auth",
    "authorization",
    "secret",
    "password",
    "passwd",
    "pwd",
    "passphrase",
    "credential",
    "credentials",
    "bearer",
    "jwt",
];
/// Parts of words that indicate a credential, as in `PGPASSWORD` and `cookie`.
const SECRET_PARTS: [&str; 4] = ["password", "passwd", "secret", "cookie"];
/// Words that indicate one together, also where nothing parts them, as in `accesstoken` and `api_keys`.
const SECRET_COMPOUNDS: [&str; 6] =
    ["apikey", "accesskey", "accesstoken", "authtoken", "privatekey", "subscriptionkey"];
/// Names that contain such a word, but whose values are not secret.
const HARMLESS: [&str; 8] = [
    "idempotency-key",
    "max-tokens",
    "max-token",
    "token-limit",
    "key-id",
    "tokenizers-parallelism",
    "sort-key",
    "cache-key",
];

/// `true` if a variable, header or field of this name probably has a secret value: one of its words is key, token, auth, secret or similar.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    let mut plain = String::with_capacity(name.len() + 4);
    let mut was_small = false;
    for c in name.chars() {
        // `apiKey` counts as two words.
        if c.is_ascii_uppercase() && was_small {
            plain.push('-');
        }
        was_small = c.is_ascii_lowercase();
        plain.push(if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    }
    if HARMLESS.contains(&plain.as_str()) {
        return false;
    }
    let joined = plain.replace('-', "");
    SECRET_COMPOUNDS.iter().any(|compound| joined.contains(compound))
        || plain
            .split('-')
            .any(|word| SECRET_WORDS.contains(&word) || SECRET_PARTS.iter().any(|part| word.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_told_from_others() {
        for name in [
            "HF_TOKEN",
            "PGPASSWORD",
            "AWS_SECRET_ACCESS_KEY",
            "x-litellm-api-key",
            "api_key",
            "apiKey",
            "Authorization",
            "X-Auth-Token",
            "client_secret",
            "ocp-apim-subscription-key",
            "set-cookie",
            "APIKEY",
            "x-jwt",
            "x-bearer",
            "x-accesstoken",
            "x-authtoken",
            "x-subscriptionkey",
            "x-accesskey",
            "x-privatekey",
            "api_keys",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "OpenAI-Organization",
            "max_tokens",
            "max_completion_tokens",
            "X-Title",
            "HTTP-Referer",
            "keyboard",
            "monkey",
            "tokens",
            "author",
            "Idempotency-Key",
            "TOKENIZERS_PARALLELISM",
            "reasoning",
            "HF_HOME",
            "CUDA_VISIBLE_DEVICES",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
