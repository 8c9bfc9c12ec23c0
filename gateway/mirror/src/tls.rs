//! TLS 1.3 with raw public keys (RFC 7250): no certificates, no authorities, no names; a key is known or it is not.

use crate::keys::{Fingerprint, Identity};
use std::sync::Arc;
use tokio_rustls::rustls::client::AlwaysResolvesClientRawPublicKeys;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use tokio_rustls::rustls::server::AlwaysResolvesServerRawPublicKeys;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{
    ClientConfig, DigitallySignedStruct, DistinguishedName, Error, ServerConfig, SignatureScheme,
};

/// What is asked for in the handshake, where a host's name would stand.
pub(crate) const NAME: &str = "ringside";

/// Whom one side lets in.
#[derive(Debug)]
struct Pinned {
    keys: Vec<Fingerprint>,
    /// The setting that names them.
    setting: &'static str,
    provider: Arc<CryptoProvider>,
}

impl Pinned {
    fn check(&self, public_key: &CertificateDer<'_>) -> Result<(), Error> {
        let found = Fingerprint::of(public_key);
        match self.keys.contains(&found) {
            true => Ok(()),
            false => Err(Error::General(format!(
                "the other side's key is {found}, which `{}` does not name",
                self.setting
            ))),
        }
    }

    fn verify(
        &self,
        message: &[u8],
        public_key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(public_key.as_ref());
        verify_tls13_signature_with_raw_key(
            message,
            &key,
            signed,
            &self.provider.signature_verification_algorithms,
        )
    }
}

/// TLS 1.2 is not spoken.
fn no_earlier<T>() -> Result<T, Error> {
    Err(Error::General("TLS 1.3 alone is spoken here".to_owned()))
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.check(end_entity).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_earlier()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for Pinned {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.check(end_entity).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        no_earlier()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

fn pinned(keys: &[Fingerprint], setting: &'static str) -> (Arc<Pinned>, Arc<CryptoProvider>) {
    let provider = Arc::new(default_provider());
    (Arc::new(Pinned { keys: keys.to_vec(), setting, provider: provider.clone() }), provider)
}

/// Of the side that connects; `setting` is the one that names the keys.
pub(crate) fn client(
    identity: &Identity,
    keys: &[Fingerprint],
    setting: &'static str,
) -> Result<Arc<ClientConfig>, Error> {
    let (pinned, provider) = pinned(keys, setting);
    let own = Arc::new(AlwaysResolvesClientRawPublicKeys::new(identity.key.clone()));
    let builder = ClientConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let builder = builder.dangerous().with_custom_certificate_verifier(pinned);
    Ok(Arc::new(builder.with_client_cert_resolver(own)))
}

/// Of the side that listens; `setting` is the one that names the keys.
pub(crate) fn server(
    identity: &Identity,
    keys: &[Fingerprint],
    setting: &'static str,
) -> Result<Arc<ServerConfig>, Error> {
    let (pinned, provider) = pinned(keys, setting);
    let own = Arc::new(AlwaysResolvesServerRawPublicKeys::new(identity.key.clone()));
    let builder = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13])?;
    let mut config = builder.with_client_cert_verifier(pinned).with_cert_resolver(own);
    // Every connection shows its key anew.
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}
