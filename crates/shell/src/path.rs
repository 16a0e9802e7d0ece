//! Paths as text: joined, normalized and matched without a file system.

/// `true` if a path does not depend on a working directory.
pub fn is_absolute(path: &str) -> bool {
    let mut start = path.bytes();
    let has_drive = matches!(
        (start.next(), start.next(), start.next()),
        (Some(drive), Some(b':'), Some(b'/' | b'\\')) if drive.is_ascii_alphabetic()
    );
    path.starts_with('/') || path == "~" || path.starts_with("~/") || has_drive
}

/// Joins a path to a folder and removes `.`, `..` and repeated slashes. The result may be empty: the folder itself.
pub fn joined(folder: &str, path: &str) -> String {
    let whole =
        if is_absolute(path) || folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
    normalized(&whole)
}

/// Removes `.`, `..`, repeated and trailing slashes. A `..` that leads out of a relative path remains.
pub fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let is_rooted = path.starts_with('/');
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." && last != "~" => drop(parts.pop()),
                None if is_rooted => {}
                _ => parts.push(part),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    if is_rooted { format!("/{joined}") } else { joined }
}

/// The last part of a path, or the path itself.
pub fn name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit('/').next().unwrap_or(path)
}

/// `true` if a path lies in a folder, at any depth, and is not the folder itself.
pub fn is_in(path: &str, folder: &str) -> bool {
    folder.is_empty() || path.strip_prefix(folder).is_some_and(|rest| folder == "/" || rest.starts_with('/'))
}

/// `true` if a glob of a shell matches a path: `*` and `?` stop at slashes, `**` does not, `[ab]` is one of a set. A
/// pattern that is equal to the path matches too, as in a shell that finds no match.
pub fn matches(pattern: &str, path: &str) -> bool {
    if pattern == path {
        return true;
    }
    let (pattern, path): (Vec<char>, Vec<char>) = (pattern.chars().collect(), path.chars().collect());
    let (mut at, mut from) = (0, 0);
    // Backtracks to the last star, then to the last double one, so the time is bounded by the product of the lengths
    // times that of the path.
    let mut star: Option<(usize, usize)> = None;
    let mut double: Option<(usize, usize)> = None;
    while from < path.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                let stars = pattern.iter().skip(at).take_while(|c| **c == '*').count();
                at += stars;
                (star, double) =
                    if stars > 1 { (None, Some((at, from))) } else { (Some((at, from)), double) };
                continue;
            }
            Some('?') if path[from] != '/' => Some(1),
            Some('[') if path[from] != '/' => set(pattern.get(at..).unwrap_or_default(), path[from]),
            Some(c) if *c == path[from] => Some(1),
            _ => None,
        };
        if let Some(length) = step {
            (at, from) = (at + length, from + 1);
        } else if let Some((after, was)) = star.filter(|(_, was)| path[*was] != '/') {
            star = Some((after, was + 1));
            (at, from) = (after, was + 1);
        } else if let Some((after, was)) = double {
            (star, double) = (None, Some((after, was + 1)));
            (at, from) = (after, was + 1);
        } else {
            return false;
        }
    }
    pattern.iter().skip(at).all(|c| *c == '*')
}

/// The length of the set at the start of a pattern, if it holds the character.
fn set(pattern: &[char], wanted: char) -> Option<usize> {
    let end = pattern.iter().skip(2).position(|c| *c == ']')? + 2;
    let inside = pattern.get(1..end)?;
    let (is_negated, inside) = match inside {
        ['!' | '^', rest @ ..] => (true, rest),
        all => (false, all),
    };
    let mut is_found = inside.contains(&wanted);
    for range in inside.windows(3) {
        is_found |= range[1] == '-' && (range[0]..=range[2]).contains(&wanted);
    }
    (is_found != is_negated).then_some(end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_joined_without_dots() {
        for (folder, path, expected) in [
            ("", "./a//b/../c", "a/c"),
            ("/w/x", "../a", "/w/a"),
            ("/w", "/etc/a/", "/etc/a"),
            ("", "../../a", "../../a"),
            ("/", "../a", "/a"),
            ("/w", "~/a", "~/a"),
            ("/w", "C:/a", "C:/a"),
            ("src", ".", "src"),
        ] {
            assert_eq!(joined(folder, path), expected, "{folder} {path}");
        }
    }

    #[test]
    fn globs_stop_at_slashes() {
        for (pattern, path, expected) in [
            ("*.log", "a.log", true),
            ("*.log", "b/a.log", false),
            ("**/*.log", "c/b/a.log", true),
            ("src/**", "src/b/a.log", true),
            ("src/?[a-c].rs", "src/xb.rs", true),
            ("src/?[!a-c].rs", "src/xb.rs", false),
            ("app/[id]/page.tsx", "app/[id]/page.tsx", true),
            ("a*b*c", "aXbXbXc", true),
            ("*", "", true),
            ("[", "[", true),
            ("[a", "a", false),
        ] {
            assert_eq!(matches(pattern, path), expected, "{pattern} {path}");
        }
        let many = "a*".repeat(200);
        assert!(!matches(&format!("{many}b"), &"a".repeat(2000)), "in bounded time");
    }
}
