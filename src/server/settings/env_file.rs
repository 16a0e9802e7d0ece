//! Files of environment variables, as `envFile` of a tool server names them: a variable on each line. Their values are
//! secrets, so that no error has any of them.

use protocol::tool::server::HeaderValue;
use std::collections::BTreeMap;

/// Most variables of a file.
const MOST_VARIABLES: usize = 200;

/// The variables of a file. Nothing in a value is replaced but escapes between double quotes.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, HeaderValue>, String> {
    let mut all = BTreeMap::new();
    for (at, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, value) = line.split_once('=').ok_or_else(|| format!("line {} has no `=`", at + 1))?;
        let name = name.trim();
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
            return Err(format!("line {} has a name that is none", at + 1));
        }
        all.insert(name.to_owned(), HeaderValue::Text(unquoted(value.trim())));
        if all.len() > MOST_VARIABLES {
            return Err(format!("it has more than {MOST_VARIABLES} variables"));
        }
    }
    Ok(all)
}

fn unquoted(value: &str) -> String {
    let between = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = between('"') {
        return inner.replace("\\n", "\n").replace("\\\"", "\"");
    }
    match between('\'') {
        Some(inner) => inner.to_owned(),
        // A comment begins behind a blank.
        None => value.split(" #").next().unwrap_or_default().trim_end().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_variables() {
        let text = "\u{feff}# a comment\n\nA=1\r\nexport B = two words # said\nC=\"x # \\\"y\\\"\"\nD='$A'\nE=\nF=a=b#c\n";
        let expected =
            [("A", "1"), ("B", "two words"), ("C", "x # \"y\""), ("D", "$A"), ("E", ""), ("F", "a=b#c")];
        let expected = expected.map(|(name, value)| (name.to_owned(), HeaderValue::Text(value.to_owned())));
        assert_eq!(parse(text), Ok(expected.into()));
    }

    #[test]
    fn unusable_lines_are_named_without_their_content() {
        assert_eq!(parse("A=1\ns3cret\n"), Err("line 2 has no `=`".to_owned()));
        assert_eq!(parse("s3 cret=1"), Err("line 1 has a name that is none".to_owned()));
        let many: String = (0..=MOST_VARIABLES).map(|n| format!("A{n}=1\n")).collect();
        assert_eq!(parse(&many), Err("it has more than 200 variables".to_owned()));
    }
}
