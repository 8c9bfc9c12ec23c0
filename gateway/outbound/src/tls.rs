//! Encryption on the way to a node or a price feed: TLS 1.2 and 1.3, by rustls, trusting whom the host trusts (`SSL_CERT_FILE` names
//! others), and whom a file names. One whose certificate is not trusted, or names another host, is as good as one that is not there.

use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// Whom is trusted to say who somebody is.
#[derive(Clone)]
pub struct Trust(Arc<ClientConfig>);

impl Trust {
    /// Those whom this machine trusts. Reads that once; `Err` says why nothing can be trusted.
    pub fn of_host() -> Result<Trust, String> {
        static TRUSTED: OnceLock<Result<Trust, String>> = OnceLock::new();
        TRUSTED.get_or_init(|| Trust::with_roots(native()?)).clone()
    }

    /// Those, and the authorities of a file (PEM), which is read anew each time; `Err` says why it cannot be, or that neither names
    /// anybody.
    pub fn of_host_and(authorities: &Path) -> Result<Trust, String> {
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", authorities.display());
        let mut roots = native().unwrap_or_else(|_| RootCertStore::empty());
        for authority in CertificateDer::pem_file_iter(authorities).map_err(|error| fault(&error))? {
            let authority = authority.map_err(|error| fault(&error))?;
            roots.add(authority).map_err(|error| fault(&error))?;
        }
        Trust::with_roots(roots)
    }

    /// Nobody: for who asks without encryption.
    pub fn nobody() -> Result<Trust, String> {
        Trust::with_roots(RootCertStore::empty())
    }

    /// These authorities alone.
    pub fn with_roots(roots: RootCertStore) -> Result<Trust, String> {
        let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
        Ok(Trust(Arc::new(builder.with_root_certificates(roots).with_no_client_auth())))
    }

    /// As rustls takes it.
    pub fn client(&self) -> &ClientConfig {
        &self.0
    }

    /// Shakes hands; the other end has shown that it is the host.
    pub async fn connect(&self, host: &str, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        let server = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        TlsConnector::from(self.0.clone()).connect(server, stream).await
    }
}

/// Whom this machine trusts.
fn native() -> Result<RootCertStore, String> {
    let found = rustls_native_certs::load_native_certs();
    let mut roots = RootCertStore::empty();
    let (known, _) = roots.add_parsable_certificates(found.certs);
    if known == 0 {
        return Err(format!("this host trusts no authority: {:?}", found.errors));
    }
    Ok(roots)
}
