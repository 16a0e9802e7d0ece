//! Normalizes the client's spelling of a folder, once, at the edge: one folder is one store, whether it was
//! named by a URL or by a path. The disk is not read; a link keeps its own name.

use crate::convert::{has_drive, path_of_url};
use protocol::error::ProtocolError;

/// A folder as sessions are stored under it: the path of a `file:` URL, or the given text, without a slash at
/// its end. Other URLs are kept.
pub(super) fn spelled(named: &str) -> String {
    spelled_on(named, cfg!(windows))
}

/// A folder that a session belongs to; fails for a relative path, which would be another one for each process.
///
/// # Errors
/// `InvalidParams` for `workspaceFolder`.
pub(super) fn given_folder(named: &str) -> Result<String, ProtocolError> {
    let folder = spelled(named);
    let is_url = folder.split_once("://").is_some_and(|(scheme, _)| !scheme.is_empty() && scheme != "file");
    if folder.is_empty() || folder.starts_with('/') || has_drive(&folder) || is_url {
        return Ok(folder);
    }
    Err(ProtocolError::invalid("workspaceFolder", "must be an absolute path or a URL"))
}

fn spelled_on(named: &str, is_windows: bool) -> String {
    let mut path = path_of_url(named).unwrap_or_else(|| named.to_owned());
    if is_windows {
        path = path.replace('\\', "/");
        let unrooted = path.strip_prefix('/').filter(|rest| has_drive(rest)).map(str::to_owned);
        path = unrooted.unwrap_or(path);
        if has_drive(&path)
            && let Some(drive) = path.get_mut(..1)
        {
            drive.make_ascii_uppercase();
        }
    }
    let trimmed = path.trim_end_matches('/');
    let is_root =
        trimmed.is_empty() && !path.is_empty() || is_windows && trimmed.len() == 2 && has_drive(trimmed);
    if is_root { format!("{trimmed}/") } else { trimmed.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_folder_has_one_spelling() {
        let cases = [
            ("/code/w", "/code/w"),
            ("/code/w/", "/code/w"),
            ("file:///code/w", "/code/w"),
            ("FILE://localhost/code/w//", "/code/w"),
            ("file:///code/a%20b%C3%A9", "/code/a bé"),
            ("file:///code/100%", "/code/100%"),
            ("file:///code/%ff", "file:///code/%ff"),
            ("/code/a%20b", "/code/a%20b"),
            ("file:///", "/"),
            ("file://host/share", "//host/share"),
            ("vscode-remote://ssh/code/w/", "vscode-remote://ssh/code/w"),
            ("/C:/w", "/C:/w"),
            ("", ""),
        ];
        for (named, path) in cases {
            assert_eq!(spelled_on(named, false), path, "{named}");
        }
        for named in ["file:///c%3A/w", "file:///C:/w/", "c:\\w", "C:/w"] {
            assert_eq!(spelled_on(named, true), "C:/w", "{named}");
        }
        assert_eq!(spelled_on("c:\\", true), "C:/");
        for relative in ["w", "./w", "~/w", "file://w", "../w"] {
            assert!(given_folder(relative).is_err(), "{relative}");
        }
        for absolute in ["/w", "file:///w", "C:/w", "vscode-remote://ssh/code/w", ""] {
            assert!(given_folder(absolute).is_ok(), "{absolute}");
        }
        assert_eq!(spelled_on("\\\\host\\share", true), spelled_on("file://host/share", true));
    }
}
