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

/// How a node is spoken to secretly.
#[derive(Clone)]
pub struct Tls {
    connector: TlsConnector,
    server: ServerName<'static>,
}

impl Tls {
    /// For a host, by what this machine trusts. Reads that once; `Err` says why nothing can be trusted.
    pub fn of_host(host: &str) -> Result<Tls, String> {
        static TRUSTED: OnceLock<Result<Arc<ClientConfig>, String>> = OnceLock::new();
        let trusted = TRUSTED.get_or_init(|| client(native()?));
        Tls::new(host, trusted.clone()?)
    }

    /// For a host, by what this machine trusts and the authorities of a file (PEM), which is read anew each time; `Err` says why it
    /// cannot be, or that neither names anybody.
    pub fn of_host_and(host: &str, authorities: &Path) -> Result<Tls, String> {
        let fault = |error: &dyn std::fmt::Display| format!("{}: {error}", authorities.display());
        let mut roots = native().unwrap_or_else(|_| RootCertStore::empty());
        for authority in CertificateDer::pem_file_iter(authorities).map_err(|error| fault(&error))? {
            let authority = authority.map_err(|error| fault(&error))?;
            roots.add(authority).map_err(|error| fault(&error))?;
        }
        Tls::with_roots(host, roots)
    }

    /// For a host, by these authorities alone.
    pub fn with_roots(host: &str, roots: RootCertStore) -> Result<Tls, String> {
        Tls::new(host, client(roots)?)
    }

    fn new(host: &str, client: Arc<ClientConfig>) -> Result<Tls, String> {
        let server = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
        Ok(Tls { connector: TlsConnector::from(client), server })
    }

    /// Shakes hands; the other end has shown that it is the host.
    pub async fn connect(&self, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
        self.connector.connect(self.server.clone(), stream).await
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

fn client(roots: RootCertStore) -> Result<Arc<ClientConfig>, String> {
    let builder = ClientConfig::builder_with_provider(Arc::new(default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    Ok(Arc::new(builder.with_root_certificates(roots).with_no_client_auth()))
}
