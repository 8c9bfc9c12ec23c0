//! Origins of pages, as browsers write them.

use std::fmt;

/// An origin as browsers write it: scheme, host, and the port where it is not the scheme's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin(String);

impl Origin {
    /// Reads one; `None` for anything else, a path behind it included.
    pub fn parse(text: &str) -> Option<Origin> {
        let text = text.to_ascii_lowercase();
        let (scheme, authority, port) = match text.split_once("://")? {
            ("https", authority) => ("https", authority, ":443"),
            ("http", authority) => ("http", authority, ":80"),
            _ => return None,
        };
        let authority = authority.strip_suffix(port).unwrap_or(authority);
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte);
        let is_authority = !authority.is_empty() && authority.bytes().all(is_allowed);
        is_authority.then(|| Origin(format!("{scheme}://{authority}")))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_read_as_browsers_write_them() {
        for (text, expected) in [
            ("https://app.example", Some("https://app.example")),
            ("https://App.Example:443", Some("https://app.example")),
            ("http://127.0.0.1:3000", Some("http://127.0.0.1:3000")),
            ("http://[::1]:80", Some("http://[::1]")),
            ("http://a:443", Some("http://a:443")),
            ("https://app.example/", None),
            ("https://app.example/x", None),
            ("https://user@app.example", None),
            ("https://", None),
            ("*", None),
            ("null", None),
            ("app.example", None),
            ("ftp://app.example", None),
        ] {
            let read = Origin::parse(text).map(|origin| origin.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
    }
}
