//! A title in what somebody said.

use engine::message::Content;

/// Characters of a title.
const LONGEST: usize = 80;

/// A title after what a user asked.
pub(super) fn asked(content: &[Content]) -> Option<String> {
    content.iter().find_map(|part| match part {
        Content::Text(text) => title(own_words(text)),
        _ => None,
    })
}

/// Tags in which programs put a user's own words.
const OWN: [&str; 6] = ["userRequest", "user_query", "user_request", "user_message", "user_input", "task"];

/// A user's own words behind what a program put before them: blocks such as `<environment_info>…</environment_info>`, each
/// on lines of its own.
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

/// The name of the block that a text begins with, what stands in it, and what stands behind it.
fn block(text: &str) -> Option<(&str, &str, &str)> {
    let (head, rest) = text.strip_prefix('<')?.split_once('>')?;
    let name = head.split_whitespace().next()?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
    let (inner, behind) = rest.split_once(&format!("</{name}>"))?;
    let next = behind.trim_start_matches([' ', '\t', '\r']);
    let ends_line = next.is_empty() || next.starts_with('\n') || next.starts_with('<');
    (is_name && ends_line).then_some((name, inner, behind.trim_start()))
}

/// The first line that says something, cut where a word ends.
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
    fn a_title_is_of_what_the_user_asked_and_not_of_what_a_program_put_before_it() {
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
    fn a_title_is_the_first_line_that_says_something() {
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
