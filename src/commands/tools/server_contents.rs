//! Prompts and resources of servers as people name them in a message: `/server:prompt arguments` for a prompt, and
//! `@server:uri` for a resource.

use protocol::message::{Content, Part};
use protocol::tool::server::{McpContentParams, McpContentsResult, McpPrompt};
use std::collections::BTreeSet;

/// Most resources that one message may name.
const MOST_NAMED: usize = 20;

/// The name by which a prompt is entered; `None` if it cannot be one word.
pub(in crate::commands) fn command(prompt: &McpPrompt) -> Option<String> {
    let name = format!("{}:{}", prompt.server, prompt.name);
    (!name.chars().any(char::is_whitespace)).then_some(name)
}

/// The content of a message without what is read instead of it, and what is to be read for it, in order.
pub(in crate::commands) fn named(
    known: &McpContentsResult,
    session: &str,
    content: Content,
) -> (Content, Vec<McpContentParams>) {
    let blank = || McpContentParams {
        session_id: session.to_owned(),
        server: String::new(),
        prompt: None,
        arguments: None,
        uri: None,
    };
    if let [Part::Text { text, .. }] = content.0.as_slice()
        && let Some((prompt, words)) = prompt(known, text)
    {
        let (server, name) = (prompt.server.clone(), Some(prompt.name.clone()));
        let arguments = Some(arguments(prompt, words));
        return (Content(Vec::new()), vec![McpContentParams { server, prompt: name, arguments, ..blank() }]);
    }
    let servers: BTreeSet<&str> = known.resources.iter().map(|resource| resource.server.as_str()).collect();
    let texts = content.0.iter().filter_map(|part| match part {
        Part::Text { text, .. } => Some(text.as_str()),
        _ => None,
    });
    let mut reads: Vec<McpContentParams> = Vec::new();
    for word in texts.flat_map(str::split_whitespace).filter_map(|word| word.strip_prefix('@')) {
        let word = word.trim_end_matches(['.', ',', ';', '!', '?', ')']);
        let found =
            servers.iter().find_map(|server| Some((*server, word.strip_prefix(server)?.strip_prefix(':')?)));
        let Some((server, uri)) = found.filter(|(_, uri)| !uri.is_empty()) else { continue };
        let read = McpContentParams { server: server.to_owned(), uri: Some(uri.to_owned()), ..blank() };
        if !reads.contains(&read) && reads.len() < MOST_NAMED {
            reads.push(read);
        }
    }
    (content, reads)
}

/// The prompt that a text enters, with the words behind it.
fn prompt<'k, 't>(known: &'k McpContentsResult, text: &'t str) -> Option<(&'k McpPrompt, &'t str)> {
    let text = text.trim().strip_prefix('/')?;
    let (name, words) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let found = known.prompts.iter().find(|prompt| command(prompt).as_deref() == Some(name))?;
    Some((found, words.trim()))
}

/// The arguments in the prompt's order, a word each; the last one takes the rest.
fn arguments(prompt: &McpPrompt, words: &str) -> std::collections::BTreeMap<String, String> {
    let words = words.splitn(prompt.arguments.len().max(1), char::is_whitespace);
    let words = words.map(str::trim).filter(|word| !word.is_empty());
    prompt.arguments.iter().map(|argument| argument.name.clone()).zip(words.map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::tool::server::{McpArgument, McpResource};

    fn known() -> McpContentsResult {
        let argument = |name: &str| McpArgument { name: name.to_owned(), description: None, required: true };
        let prompt = McpPrompt {
            server: "s".to_owned(),
            name: "review".to_owned(),
            description: None,
            arguments: vec![argument("file"), argument("why")],
        };
        let resource = McpResource {
            server: "s".to_owned(),
            uri: "file:///a".to_owned(),
            name: "a".to_owned(),
            description: None,
            mime_type: None,
        };
        McpContentsResult { prompts: vec![prompt], resources: vec![resource] }
    }

    fn reads(text: &str) -> (Content, Vec<String>) {
        let (content, reads) = named(&known(), "id", Content::text(text));
        let shown = |read: McpContentParams| {
            let McpContentParams { server, prompt, arguments, uri, .. } = read;
            format!("{server} {:?} {:?}", prompt.or(uri).unwrap(), arguments.unwrap_or_default())
        };
        (content, reads.into_iter().map(shown).collect())
    }

    #[test]
    fn prompts_and_resources_are_named_in_a_message() {
        let (content, read) = reads("/s:review a.rs it is slow");
        assert_eq!(content, Content(Vec::new()));
        assert_eq!(read, [r#"s "review" {"file": "a.rs", "why": "it is slow"}"#]);
        let text = "Look at @s:file:///a, and @s:file:///b; not at @t:file:///a or s:file:///a. @s:file:///a";
        assert_eq!(
            reads(text),
            (Content::text(text), vec![r#"s "file:///a" {}"#.into(), r#"s "file:///b" {}"#.into()])
        );
        for text in ["/s:other a", "/review", "user@s:file", "@s:"] {
            assert_eq!(reads(text), (Content::text(text), Vec::new()), "{text}");
        }
    }
}
