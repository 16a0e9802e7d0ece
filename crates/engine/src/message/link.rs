//! Resource links: references to content that a client can read, without the content itself.

use super::Text;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// A reference to a resource, with the fields of MCP's `resource_link`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceLink {
    /// The URI of the resource.
    pub uri: String,
    /// The name, for programs and for people if there is no title.
    pub name: String,
    /// The title for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The content in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The MIME type of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The size of the content, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
}

impl ResourceLink {
    /// Returns the link as a model reads it: one line, and the description if there is one.
    pub fn framed(&self) -> Text {
        let mut text = format!("[resource {}: {}", self.title.as_deref().unwrap_or(&self.name), self.uri);
        if let Some(mime_type) = &self.mime_type {
            let _ = write!(text, ", {mime_type}");
        }
        if let Some(size) = self.size {
            let _ = write!(text, ", {size} bytes");
        }
        text.push(']');
        if let Some(description) = &self.description {
            let _ = write!(text, "\n{description}");
        }
        text.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_reads_as_a_line_and_its_description() {
        let bare = ResourceLink { uri: "file:///w/a.md".into(), name: "a.md".into(), ..Default::default() };
        assert_eq!(&*bare.framed(), "[resource a.md: file:///w/a.md]");
        let full = ResourceLink {
            title: Some("Notes".into()),
            description: Some("What was decided.".into()),
            mime_type: Some("text/markdown".into()),
            size: Some(12),
            ..bare
        };
        let text = "[resource Notes: file:///w/a.md, text/markdown, 12 bytes]\nWhat was decided.";
        assert_eq!(&*full.framed(), text);
    }
}
