//! Addresses of others as they are configured.

/// An address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    /// Host and port.
    pub authority: String,
    /// Path and query, with their slash.
    pub path: String,
}

impl Url {
    /// Written out.
    pub fn text(&self, scheme: &str) -> String {
        format!("{scheme}://{}{}", self.authority, self.path)
    }

    /// The host, without port and brackets.
    pub fn host(&self) -> &str {
        let host = self.authority.rsplit_once(':').map_or(self.authority.as_str(), |(host, _)| host);
        host.trim_start_matches('[').trim_end_matches(']')
    }

    /// `scheme://host[:port][/path]`; the port is 80 unless named.
    pub fn parse(text: &str, scheme: &str) -> Option<Url> {
        Url::parse_with(text, scheme, 80)
    }

    /// The same with another port where none is named.
    pub fn parse_with(text: &str, scheme: &str, port_unnamed: u16) -> Option<Url> {
        let rest = text.strip_prefix(scheme)?.strip_prefix("://")?;
        let at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(at);
        let port = authority.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
        // A name and a password would be shown wherever the address is.
        if authority.is_empty()
            || authority.contains('@')
            || port.is_some_and(|port| port.parse::<u16>().is_err())
            || text.contains('#')
        {
            return None;
        }
        let authority =
            if port.is_none() { format!("{authority}:{port_unnamed}") } else { authority.to_owned() };
        Some(Url {
            authority,
            path: if path.starts_with('/') { path.to_owned() } else { format!("/{path}") },
        })
    }
}

/// A node of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeUrl {
    /// Address of the source.
    pub url: Url,
    /// Whether it is asked in secret: `https`.
    pub is_encrypted: bool,
}

impl NodeUrl {
    /// `http://` or `https://`; the port is 80 or 443 unless named.
    pub fn parse(text: &str) -> Option<NodeUrl> {
        let plain = |url| NodeUrl { url, is_encrypted: false };
        let encrypted = |url| NodeUrl { url, is_encrypted: true };
        let found = Url::parse_with(text, "http", 80).map(plain);
        found.or_else(|| Url::parse_with(text, "https", 443).map(encrypted))
    }
}
