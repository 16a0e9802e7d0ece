//! Content in both protocols: blocks of the Agent Client Protocol become parts of a message, and parts become blocks.

use crate::convert::uri::{path_of_url, uri_of};
use agent_client_protocol_schema::v1::{
    BlobResourceContents, ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent,
    ResourceLink, TextResourceContents,
};
use protocol::message::Part;

/// The part that a block of a prompt becomes; the error names what is not accepted.
pub(super) fn part(block: ContentBlock) -> Result<Part, String> {
    Ok(match block {
        ContentBlock::Text(text) => Part::text(text.text),
        ContentBlock::Image(image) => {
            Part::Image { mime_type: image.mime_type, data: image.data, meta: None }
        }
        ContentBlock::ResourceLink(link) => Part::ResourceLink {
            uri: link.uri,
            name: link.name,
            title: link.title,
            description: link.description,
            mime_type: link.mime_type,
            size: link.size.and_then(|size| u64::try_from(size).ok()),
            meta: None,
        },
        ContentBlock::Resource(EmbeddedResource { resource, .. }) => match resource {
            EmbeddedResourceResource::TextResourceContents(TextResourceContents { text, uri, .. }) => {
                match path_of_url(&uri) {
                    Some(path) => Part::ContextFile { path, text, meta: None },
                    None => Part::Resource { uri, text, meta: None },
                }
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => bytes(blob),
            _ => return Err("an embedded resource is neither text nor a blob".to_owned()),
        },
        ContentBlock::Audio(_) => return Err("audio is not accepted; agentCapabilities say so".to_owned()),
        _ => return Err("a content block has an unknown type".to_owned()),
    })
}

/// A picture if the bytes are one; of others no model sees more than their name.
fn bytes(blob: BlobResourceContents) -> Part {
    let BlobResourceContents { blob, uri, mime_type, .. } = blob;
    match mime_type {
        Some(mime_type) if mime_type.starts_with("image/") => {
            Part::Image { mime_type, data: blob, meta: None }
        }
        mime_type => Part::ResourceLink {
            name: uri.rsplit('/').next().unwrap_or_default().to_owned(),
            uri,
            title: None,
            description: None,
            mime_type,
            size: None,
            meta: None,
        },
    }
}

/// The block that a part is shown as; `None` for thinking, calls and what only models and providers read.
pub(super) fn block(part: &Part) -> Option<ContentBlock> {
    Some(match part {
        Part::Text { text, .. } => ContentBlock::from(text.as_str()),
        Part::Image { mime_type, data, .. } if data.starts_with("http") => {
            let link = ResourceLink::new(data.clone(), data.clone()).mime_type(mime_type.clone());
            ContentBlock::ResourceLink(link)
        }
        Part::Image { mime_type, data, .. } => {
            ContentBlock::Image(ImageContent::new(data.clone(), mime_type.clone()))
        }
        Part::Resource { uri, text, .. } => embedded(uri.clone(), text),
        Part::ContextFile { path, text, .. } => embedded(uri_of(path).unwrap_or_else(|| path.clone()), text),
        Part::ResourceLink { uri, name, title, description, mime_type, size, .. } => {
            let link = ResourceLink::new(name.clone(), uri.clone())
                .title(title.clone())
                .description(description.clone())
                .mime_type(mime_type.clone())
                .size(size.and_then(|size| i64::try_from(size).ok()));
            ContentBlock::ResourceLink(link)
        }
        _ => return None,
    })
}

fn embedded(uri: String, text: &str) -> ContentBlock {
    let resource = EmbeddedResourceResource::TextResourceContents(TextResourceContents::new(text, uri));
    ContentBlock::Resource(EmbeddedResource::new(resource))
}
