//! Makes a title of a text.

use engine::message::Content;

/// Characters of a title, at most.
const LONGEST: usize = 80;

/// The title for a user's request.
pub(super) fn asked(content: &[Content]) -> Option<String> {
    content.iter().find_map(|part| match part {
        Content::Text(text) => title(own_words(text)),
        _ => None,
    })
}

/// Tags in which programs wrap a user's own text.
const OWN: [&str; 6] = ["userRequest", "user_query", "user_request", "user_message", "user_input", "task"];

/// A user's own text behind what a program put before it: blocks such as
/// `<environment_info>…</environment_info>`, each on lines of its own.
fn own_words(said: &str) -> &str {
    let mut rest = said.trim_start();
    while let Some((name, inner, behind)) = block(rest) {
        if OWN.contains(&name) {
            return inner;
        }
        rest = behind;
    }
    rest
}

/// Name and content of the block that a text begins with, and the text behind it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.strip_prefix('<')?.split_once('>')?;
    let name = head.split_whitespace().next()?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let (inner, behind) = rest.split_once(&format!("</{name}>"))?;
    let next = behind.trim_start_matches([' ', '\t', '\r']);
    let ends_line = next.is_empty() || next.starts_with('\n') || next.starts_with('<');
    (is_name && ends_line).then_some((name, inner, behind.trim_start()))
}

/// The first line with a letter or digit, cut at the end of a word.
pub(super) fn title(said: &str) -> Option<String> {
    let line = said.lines().map(str::trim).find(|line| line.chars().any(char::is_alphanumeric))?;
    let line = line.trim_matches(|c: char| matches!(c, '"' | '#' | '*' | '`') || c.is_whitespace());
    let words: Vec<&str> = line.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LONGEST {
        return Some(line);
    }
    let cut: String = line.chars().take(LONGEST).collect();
    let whole = cut.rsplit_once(' ').map_or(&*cut, |(whole, _)| whole);
    Some(format!("{whole}…"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn title_skips_blocks_that_programs_put_before_the_request() {
        let cases = [
            (
                "<environment_info>\nOS: Linux\n</environment_info>\n<workspace_info>a\n</workspace_info>\n",
                None,
            ),
            (
                "<context>\nToday\n</context>\n<userRequest>\ncreate a file\nthere\n</userRequest>\n",
                Some("create a file"),
            ),
            ("<system-reminder>x</system-reminder>\n\nFix the tests", Some("Fix the tests")),
            ("<command-name a=\"b\">/clear</command-name><note>n</note>", None),
            ("<Button>Save</Button> does nothing", Some("<Button>Save</Button> does nothing")),
            ("<div> is never closed", Some("<div> is never closed")),
            ("a < b", Some("a < b")),
        ];
        for (said, expected) in cases {
            assert_eq!(asked(&[Content::Text(said.into())]).as_deref(), expected, "{said:?}");
        }
    }

    #[test]
    fn title_is_the_first_line_with_text() {
        let long = "word ".repeat(30);
        let cases = [
            ("\n---\n## Fix  the\ttests\nplease", Some("Fix the tests".to_owned())),
            ("\"Parser fixes\"", Some("Parser fixes".to_owned())),
            ("  \n ---", None),
            (&long, Some(format!("{}…", "word ".repeat(16).trim_end()))),
        ];
        for (said, expected) in cases {
            assert_eq!(title(said), expected, "{said:?}");
        }
    }
}
