//! Secrets that are searched for: pieces of each, in every usual encoding.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};

/// Length of the pieces of a secret that count as showing it.
const PIECE: usize = 16;

/// A secret that somebody put somewhere.
#[derive(Debug)]
pub(crate) struct Marker {
    /// Place of the secret, in words for a failure.
    pub(crate) name: String,
    needles: Vec<(&'static str, String)>,
}

impl Marker {
    /// Of `secret`, which begins and ends with letters and digits that are nowhere else.
    pub(crate) fn new(name: &str, secret: &str) -> Self {
        let mut needles = Vec::new();
        for piece in [&secret[..PIECE], &secret[secret.len() - PIECE..]] {
            assert!(piece.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_'), "{piece}");
            needles.push(("plain", piece.to_owned()));
            needles.extend(encoded(piece.as_bytes()));
        }
        Self { name: name.to_owned(), needles }
    }

    /// Of the private key in `pem`, of the curve P-256 as in PKCS #8: the two lines in which its number is, and a piece of the number.
    pub(crate) fn of_key(name: &str, pem: &str) -> Self {
        let lines: Vec<&str> = pem.lines().filter(|line| !line.starts_with("-----")).take(2).collect();
        let mut needles: Vec<_> = lines.iter().map(|line| ("plain", (*line).to_owned())).collect();
        // The second line begins within the number; what follows the number is the public key.
        needles.extend(encoded(&STANDARD.decode(lines[1]).unwrap()[..PIECE]));
        Self { name: name.to_owned(), needles }
    }

    /// The encoding in which `text` shows it, and what stands around.
    pub(crate) fn shown_in(&self, text: &str) -> Option<(&'static str, String)> {
        self.needles.iter().find_map(|(encoding, needle)| {
            let at = text.find(needle)?;
            let before: String = text[..at].chars().rev().take(160).collect();
            let around = before.chars().rev().chain(text[at..].chars().take(needle.len() + 80)).collect();
            Some((*encoding, around))
        })
    }
}

/// `piece` in encodings that write other characters than its own.
fn encoded(piece: &[u8]) -> Vec<(&'static str, String)> {
    let each = |write: fn(u8) -> String| piece.iter().copied().map(write).collect::<String>();
    let hex = each(|byte| format!("{byte:02x}"));
    let mut needles = vec![
        ("hex", hex.to_uppercase()),
        ("hex", hex),
        ("percent", each(|byte| format!("%{byte:02X}"))),
        ("percent", each(|byte| format!("%{byte:02x}"))),
        ("unicode", each(|byte| format!("\\u{byte:04x}"))),
        ("unicode", each(|byte| format!("\\u{byte:04X}"))),
        ("bytes", each(|byte| format!("{byte}, ")).trim_end_matches(", ").to_owned()),
    ];
    for before in 0..3 {
        let written = STANDARD_NO_PAD.encode([&b"..."[..before], piece].concat());
        // Characters at both ends depend on the text around.
        needles.push(("base64", written[(before * 8).div_ceil(6)..written.len() - 1].to_owned()));
    }
    needles
}
