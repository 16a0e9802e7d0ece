//! Prompts and resources of a server, bounded in number and size.

use engine::text::one_line;
use rmcp::model::{Prompt as GivenPrompt, Resource as GivenResource};

/// Most prompts, and most resources, of a server.
pub(crate) const MOST: usize = 200;
/// Most pages of a list.
pub(crate) const MOST_PAGES: usize = 20;
/// Most arguments of a prompt.
const MOST_ARGUMENTS: usize = 20;
/// Longest name or description, and longest URI.
const MOST_WORDS: usize = 500;
const MOST_URI: usize = 2048;

/// Prompts and resources, each by name.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Contents {
    /// The prompts.
    pub prompts: Vec<Prompt>,
    /// The resources.
    pub resources: Vec<Resource>,
}

/// A prompt: a message that the server writes from arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    /// The server's own name.
    pub name: String,
    /// The server's description.
    pub description: Option<String>,
    /// Arguments: the name, the description, and `true` for one that is needed.
    pub arguments: Vec<(String, Option<String>, bool)>,
}

/// A resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// The URI.
    pub uri: String,
    /// The name.
    pub name: String,
    /// The server's description.
    pub description: Option<String>,
    /// The MIME type of the content.
    pub mime_type: Option<String>,
}

impl Contents {
    /// The lists of a server within bounds. An entry whose name is too long to be asked for is left out.
    pub(crate) fn of(prompts: Vec<GivenPrompt>, resources: Vec<GivenResource>) -> Self {
        let words = |text: Option<String>| text.map(|text| one_line(&text, MOST_WORDS));
        let is_name = |name: &str, most: usize| {
            !name.is_empty() && name.len() <= most && !name.chars().any(char::is_control)
        };
        let argument = |argument: rmcp::model::PromptArgument| {
            (argument.name, words(argument.description), argument.required == Some(true))
        };
        let prompts = prompts.into_iter().filter(|prompt| is_name(&prompt.name, MOST_WORDS));
        let prompts = prompts.map(|prompt| {
            let arguments = prompt.arguments.unwrap_or_default().into_iter();
            let arguments = arguments.filter(|argument| is_name(&argument.name, MOST_WORDS));
            Prompt {
                name: prompt.name,
                description: words(prompt.description.or(prompt.title)),
                arguments: arguments.take(MOST_ARGUMENTS).map(argument).collect(),
            }
        });
        let resources = resources.into_iter().filter(|resource| is_name(&resource.uri, MOST_URI));
        let resources = resources.map(|resource| Resource {
            uri: resource.uri,
            name: one_line(&resource.name, MOST_WORDS),
            description: words(resource.description.or(resource.title)),
            mime_type: words(resource.mime_type),
        });
        let mut all =
            Self { prompts: prompts.take(MOST).collect(), resources: resources.take(MOST).collect() };
        all.prompts.sort_by(|a, b| a.name.cmp(&b.name));
        all.resources.sort_by(|a, b| a.uri.cmp(&b.uri));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lists_are_bounded_and_sorted() {
        let prompts = (0..MOST + 5).map(|n| json!({ "name": format!("p{n:03}"), "description": "a\nb" }));
        let prompts = prompts.chain([json!({ "name": "" }), json!({ "name": "x".repeat(MOST_WORDS + 1) })]);
        let prompts = prompts.map(|prompt| serde_json::from_value(prompt).unwrap()).collect();
        let resources = json!([
            { "uri": "file:///b", "name": "b" },
            { "uri": "file:///a", "name": "a", "title": "A" },
            { "uri": format!("file:///{}", "x".repeat(MOST_URI)), "name": "c" },
        ]);
        let contents = Contents::of(prompts, serde_json::from_value(resources).unwrap());
        assert_eq!(contents.prompts.len(), MOST);
        assert_eq!(contents.prompts[0].description.as_deref(), Some("a b"));
        let named: Vec<_> =
            contents.resources.iter().map(|one| (&*one.uri, one.description.as_deref())).collect();
        assert_eq!(named, [("file:///a", Some("A")), ("file:///b", None)]);
    }
}
