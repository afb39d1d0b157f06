//! Signatures of tokens, checked by `ring` as all other cryptography of this program is. Nothing is signed here.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_2048_8192_SHA384,
    RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256, RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512,
    RsaParameters, RsaPublicKeyComponents, UnparsedPublicKey, VerificationAlgorithm,
};

static RING: CryptoProvider = CryptoProvider {
    signer_factory: no_signer,
    verifier_factory: verifier,
    key_utils: KeyUtils {
        rsa_pub_components_from_private_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        rsa_pub_components_from_public_key: |_| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ec_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        ed_pub_components_from_private_key: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
        compute_digest: |_, _| Err(ErrorKind::UnsupportedAlgorithm.into()),
    },
};

/// Has the library check signatures by `ring`; further calls change nothing.
pub(super) fn install() {
    // Only this function installs one.
    let _ = RING.install_default();
}

fn no_signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::UnsupportedAlgorithm.into())
}

/// Checks signatures of one algorithm by one key.
struct ByRing {
    algorithm: Algorithm,
    means: Means,
    key: DecodingKey,
}

enum Means {
    Rsa(&'static RsaParameters),
    Point(&'static dyn VerificationAlgorithm),
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let (family, means) = match algorithm {
        Algorithm::RS256 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PKCS1_2048_8192_SHA256)),
        Algorithm::RS384 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PKCS1_2048_8192_SHA384)),
        Algorithm::RS512 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PKCS1_2048_8192_SHA512)),
        Algorithm::PS256 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PSS_2048_8192_SHA256)),
        Algorithm::PS384 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PSS_2048_8192_SHA384)),
        Algorithm::PS512 => (AlgorithmFamily::Rsa, Means::Rsa(&RSA_PSS_2048_8192_SHA512)),
        Algorithm::ES256 => (AlgorithmFamily::Ec, Means::Point(&ECDSA_P256_SHA256_FIXED)),
        Algorithm::ES384 => (AlgorithmFamily::Ec, Means::Point(&ECDSA_P384_SHA384_FIXED)),
        Algorithm::EdDSA => (AlgorithmFamily::Ed, Means::Point(&ED25519)),
        // A secret that both sides have is none that an issuer publishes; and the library may learn of further algorithms.
        _ => return Err(ErrorKind::InvalidAlgorithm.into()),
    };
    if key.family() != family {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(ByRing { algorithm: *algorithm, means, key: key.clone() }))
}

impl Verifier<Vec<u8>> for ByRing {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        let checked = match (&self.means, self.key.kind()) {
            (Means::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
            (Means::Point(algorithm), DecodingKeyKind::SecretOrDer(point)) => {
                UnparsedPublicKey::new(*algorithm, point).verify(message, signature)
            }
            (Means::Rsa(_), DecodingKeyKind::SecretOrDer(_))
            | (Means::Point(_), DecodingKeyKind::RsaModulusExponent { .. }) => return Err(Error::new()),
        };
        checked.map_err(|_| Error::new())
    }
}

impl JwtVerifier for ByRing {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

#[cfg(test)]
mod tests {
    use jsonwebtoken::crypto::verify;

    use super::*;

    // Of a key that was thrown away: made by `openssl dgst -sha256 -sign`, the second with rsa_padding_mode:pss.
    const MODULUS: &str = "gug8BSWXlvh_mI-cmDCfNKgPgdgTGTD5ZMvmFt6MNJEeIaxGEckImUiCMsMkrj9FPEdoYNfCxbUHDL2QEvIRjwhAGEjPfiFIqgj71IXa834zRK\
        y5SIaw13G3zsjQrKbcfLMzSDhWiH1LRj6Y7fX2oR2dGz8_3TzKrY6Z_uAmSOE-d2CLjcvelQZC2pw1QrY4et10tv7MgPtPdoeOZTDeDb81YlSC\
        nnvqBzeDzdX_j0Rr9pfhPQyWhXSUmer54ummjEPQVG_Q_kaKBnV-sSOIjqX9ssZjiXxL_cv_6iKZGrLSTjx6okK8imesa0DsCWTien5HzIN2MD\
        tpul1onWURrw";
    const MESSAGE: &str = "eyJhbGciOiAiUlMyNTYifQ.eyJpc3MiOiAiYSB0ZXN0In0";
    const PKCS1: &str = "Ha_kHxK70F3ZZjrh_RGez09SftN8glneDa92msYNZw6_1WbZrUKZYXwlxjwyEfu7dTpPcd6FdgHa3bosniGd7y_jDn6e1bOlr3_7gyiOpVY7Qp\
        zErfvTZyR0a7Rbc7V2_EJL-lMeNvnnadpbDV82ew3ms5T1yDGWgoh2wjdhK1ayMzBrWvvas6PnbyED1s73cDQMwcMijF-EZys8eT5Ze4qOkYT5\
        -ZKomS5rBlW6U0ZX31PZkM9YOER5_adrp041qMd-C7O0Eb895ccpLa2jXuxv9iz43obUxXZs1atwpNA2_Lyekok0blGf7DCtvN48NXirxyZDSw\
        wIiKkanWildg";
    const PSS: &str = "OUs4ANRXl-06YkOWnvCI1MPKK1KacvZ5Acho5FoIeTjD77K9-Qbu5b_VMx0fxRkgufGceHSD5ZE2F3gfucd-1hNPYfGd1rPB3Cwb6YlRn9qC2p\
        HyrcS60UD5mfeap50XwXhiuGOxm3iRKw6wUDjPUKaVEF82e11sNNd4JmOhy1bMGGbnIThuC_SiGP_v--5A1whoHKyFflpHuSSyX1esYK2p9Uve\
        c-bRzwczDPhOol0qe5281h6IPeliLQz1vyyMbu5o7YLZ7rAawz09z1vr1I3EtQ0VHeLuQq6BiHCJj8ZZFGY0aTb0ghjZPI5bAA8e2w4uq1MTzt\
        LnjVoy-s02Xg";

    #[test]
    fn signatures_by_rsa_are_checked_in_both_paddings_and_not_mistaken_for_each_other() {
        install();
        let key = DecodingKey::from_rsa_components(MODULUS, "AQAB").unwrap();
        let is_signed =
            |signature: &str, message: &str, algorithm| verify(signature, message.as_bytes(), &key, algorithm);
        assert!(is_signed(PKCS1, MESSAGE, Algorithm::RS256).unwrap());
        assert!(is_signed(PSS, MESSAGE, Algorithm::PS256).unwrap());
        assert!(!is_signed(PSS, MESSAGE, Algorithm::RS256).unwrap());
        assert!(!is_signed(PKCS1, MESSAGE, Algorithm::RS384).unwrap());
        assert!(!is_signed(PKCS1, "another", Algorithm::RS256).unwrap());
        for of_another_kind in [Algorithm::HS256, Algorithm::ES256, Algorithm::EdDSA] {
            assert!(is_signed(PKCS1, MESSAGE, of_another_kind).is_err(), "{of_another_kind:?}");
        }
    }
}
