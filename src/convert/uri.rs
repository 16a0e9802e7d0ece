//! Paths and `file:` URIs. A path on the wire may be given as a URI; it is a path everywhere inside.

use std::fmt::Write as _;

/// Returns the path that a text names: that of a `file:` URI, else the text itself.
pub fn path(named: &str) -> String {
    path_of_url(named).unwrap_or_else(|| named.to_owned())
}

/// The path of a `file:` URL, also of the short form `file:/path`; `None` for other texts, and if it is not UTF-8.
pub fn path_of_url(named: &str) -> Option<String> {
    let (scheme, rest) = named.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") || !rest.starts_with('/') {
        return None;
    }
    let rest = rest.split(['?', '#']).next().unwrap_or_default();
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", rest),
    };
    let path = decoded(path)?;
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return Some(format!("//{host}{path}"));
    }
    let drive = path.strip_prefix('/').filter(|path| has_drive(path)).map(str::to_owned);
    Some(drive.unwrap_or(path))
}

/// `true` if the path begins with a drive letter.
pub fn has_drive(path: &str) -> bool {
    matches!(path.as_bytes(), [letter, b':'] | [letter, b':', b'/', ..] if letter.is_ascii_alphabetic())
}

/// Returns the URI of an absolute path, or of a folder that is named by a URI; `None` for a relative path.
pub fn uri_of(path: &str) -> Option<String> {
    if path.contains("://") {
        return Some(path.to_owned());
    }
    let (host, path) = match path.strip_prefix("//") {
        Some(shared) => shared.split_at(shared.find('/')?),
        None => ("", path),
    };
    let root = match path.as_bytes() {
        [b'/', ..] => "",
        _ if has_drive(path) => "/",
        _ => return None,
    };
    let mut uri = format!("file://{host}{root}");
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'_' | b'.' | b'~' | b':' => uri.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => uri.push(char::from(byte)),
            byte => drop(write!(uri, "%{byte:02X}")),
        }
    }
    Some(uri)
}

/// Decodes percent escapes; `None` if the result is not UTF-8. A percent sign before anything but two hex
/// digits is kept.
fn decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, behind @ ..] = rest {
        let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
        match (first, behind) {
            (b'%', [high, low, after @ ..]) if digit(high).is_some() && digit(low).is_some() => {
                bytes.push(digit(high)? * 16 + digit(low)?);
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = behind;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_and_their_uris_name_the_same() {
        let both = [
            ("/code/w", "file:///code/w"),
            ("/code/a bé/100%#?.rs", "file:///code/a%20b%C3%A9/100%25%23%3F.rs"),
            ("//host/share/a", "file://host/share/a"),
            ("C:/w a", "file:///C:/w%20a"),
        ];
        for (given, uri) in both {
            assert_eq!(uri_of(given).as_deref(), Some(uri));
            assert_eq!(path(uri), given);
        }
        for short in ["file:/code/w", "FILE:///code/w", "file://localhost/code/w", "file:///code/w?a#L7"] {
            assert_eq!(path(short), "/code/w", "{short}");
        }
        assert_eq!(path("file:///c%3A/w/a.rs"), "c:/w/a.rs");
        assert_eq!(path("profile:/x"), "profile:/x");
        assert_eq!(uri_of("vscode-remote://ssh/w").as_deref(), Some("vscode-remote://ssh/w"));
        assert_eq!((uri_of("src/a.rs"), uri_of("")), (None, None));
        assert_eq!(path("src/a.rs"), "src/a.rs");
    }
}
