//! Trajectories: a session as one JSON object that people and other programs may read and change. Unknown
//! keys are preserved. The caller locates the file.

use super::json::{Object, list, needed, number, object, owned, text, whole};
use super::jsonl::{message_line, messages as our_messages, set};
use super::parts::{contents, joined};
use super::{Entry, Format, Import, ImportError, Skipped, completions};
use engine::compact::metadata::{Persisted, SummaryEntry, listed, unlisted};
use engine::id::MessageId;
use engine::message::source::SOURCE_KEYS;
use engine::message::{Body, Message, NewMessage, SYSTEM_IN_HISTORY};
use engine::text::sha256_hex;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Known keys of the file.
const FILE_KEYS: &[&str] = &[
    "id",
    "format",
    "title",
    "version",
    "createdAt",
    "updatedAt",
    "summaries",
    "threadhold",
    "unreadable",
    "saved",
    "digest",
    "messages",
];

/// Known keys of a message in the native form.
const MESSAGE_KEYS: &[&str] = &[
    "id",
    "turnId",
    "type",
    "role",
    "kind",
    "externalId",
    "createdAt",
    "visibleToModel",
    "parts",
    "shown",
    "citations",
    "usage",
    "extra",
];

/// Known keys of a message in the form of chat completions, as other programs write it.
const OTHERS_KEYS: &[&str] = &[
    "id",
    "role",
    "content",
    "thinking_blocks",
    "reasoning_content",
    "tool_calls",
    "tool_call_id",
    "tool_call_ids",
    "exit_code",
    "usage",
];

/// The content of a file as read.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trajectory {
    /// The session's id.
    pub id: String,
    /// The title, if any.
    pub title: Option<String>,
    /// The number of times the file was written; 0 if not stated.
    pub version: u64,
    /// ISO-8601.
    pub created_at: Option<String>,
    /// ISO-8601.
    pub updated_at: Option<String>,
    /// The messages, in order.
    pub messages: Vec<FileMessage>,
    /// Compactions that were in force, oldest first.
    pub summaries: Vec<SummaryEntry>,
    /// Unknown keys, and messages that could not be read.
    pub others: Others,
    /// Unreadable records with place and reason.
    pub skipped: Vec<Skipped>,
    /// Indexes into `messages` before which a message could not be read at all, in order.
    pub gaps: Vec<usize>,
    /// The number of messages in the last version that a sidecar wrote; `None` if none did.
    pub saved: Option<u32>,
    /// `true` if title and messages are unchanged since a sidecar wrote the file.
    pub is_as_written: bool,
}

/// A message of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct FileMessage {
    /// The id in the file.
    pub id: Option<String>,
    /// The id of the turn that contains the message.
    pub turn: Option<String>,
    /// The message itself.
    pub message: NewMessage,
    /// The unknown keys.
    pub others: Object,
}

/// Data of a file that has no place in a session. Written back unchanged, with one limit: an integer of more
/// than 64 bits becomes the nearest 64-bit float, because values are read by `serde_json`. Programs that need
/// such numbers exactly write them as text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Others {
    /// Unknown keys of the file itself.
    pub file: Object,
    /// Messages that could not be read in full, verbatim.
    pub unreadable: Vec<Value>,
}

/// A session to write.
#[derive(Debug, Clone)]
pub struct Content {
    /// The session's id.
    pub id: String,
    /// The title, if any.
    pub title: Option<String>,
    /// ISO-8601.
    pub created_at: String,
    /// ISO-8601.
    pub updated_at: String,
    /// All messages of the session.
    pub messages: Vec<Arc<Message>>,
    /// Compactions in force, oldest first.
    pub summaries: Vec<Persisted>,
}

/// `true` if a session of this id can have a file: the id is the file's name.
pub fn is_name(id: &str) -> bool {
    let is_good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=128).contains(&id.len()) && id.chars().all(is_good)
}

/// Reads a file.
///
/// # Errors
/// If it is not JSON, or not an object with an id and a list of messages.
pub fn read(bytes: &[u8]) -> Result<Trajectory, ImportError> {
    let bytes = super::json::without_mark(bytes)?;
    let mut import = Import::new(Format::Trajectory);
    let mut root = whole(bytes, &mut import)?;
    let not_this = |place: &str, reason: &str| ImportError::NotThisFormat {
        format: Format::Trajectory,
        place: format!("`{place}`"),
        reason: reason.to_owned(),
    };
    let Some(root) = root.as_object_mut() else { return Err(not_this("the file", "is not an object")) };
    let id = owned(root, "id").ok_or_else(|| not_this("id", "is missing or not a string"))?;
    let Some(Value::Array(said)) = root.shift_remove("messages") else {
        return Err(not_this("messages", "is missing or not a list"));
    };
    let title = owned(root, "title");
    let digest = digest(title.as_deref(), &said);
    let mut others = Others { unreadable: list(root, "unreadable").to_vec(), ..Others::default() };
    let (mut messages, mut gaps) = (Vec::new(), Vec::new());
    for (index, value) in said.into_iter().enumerate() {
        let (before, at) = (import.skipped.len(), messages.len());
        let place = format!("messages[{index}]");
        let read = value.as_object().ok_or_else(|| "is not an object".to_owned());
        match read.and_then(|record| message(&id, record, &place, &mut import)) {
            Ok(read) => messages.extend(read),
            Err(reason) => import.skip(place, reason),
        }
        if import.skipped.len() > before {
            // The readable parts are written back as a message, without the rest.
            others.unreadable.push(value);
            gaps.extend((messages.len() == at).then_some(at));
        }
    }
    let summaries = list(root, "summaries").iter().filter_map(Value::as_object).filter_map(summary);
    let beside = text(root, "threadhold").map(unlisted).unwrap_or_default();
    let summaries = summaries.chain(beside).collect();
    let rest = root.iter().filter(|(key, _)| !FILE_KEYS.contains(&key.as_str()));
    others.file = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    Ok(Trajectory {
        version: root.get("version").and_then(Value::as_u64).unwrap_or_default(),
        created_at: text(root, "createdAt").or(text(root, "created_at")).map(str::to_owned),
        updated_at: text(root, "updatedAt").or(text(root, "updated_at")).map(str::to_owned),
        saved: number(root, "saved"),
        is_as_written: text(root, "digest") == Some(&digest),
        id,
        title,
        messages,
        summaries,
        others,
        skipped: import.skipped,
        gaps,
    })
}

/// Imports only the messages. Summaries are omitted, because prompts start from the originals.
pub(super) fn import(bytes: &[u8]) -> Result<Import, ImportError> {
    let read = read(bytes)?;
    let mut import = Import::new(Format::Trajectory);
    import.title = read.title;
    import.skipped = read.skipped;
    import.entries = read.messages.into_iter().map(|kept| Entry::Message(kept.message)).collect();
    Ok(import)
}

/// Hashes title and messages, without unknown keys.
fn digest(title: Option<&str>, messages: &[Value]) -> String {
    let known = messages.iter().map(|message| match message {
        Value::Object(message) => {
            let is_known = |key: &str| MESSAGE_KEYS.contains(&key) || OTHERS_KEYS.contains(&key);
            let known = message.iter().filter(|(key, _)| is_known(key));
            Value::Object(known.map(|(key, value)| (key.clone(), value.clone())).collect())
        }
        other => other.clone(),
    });
    sha256_hex(json!([title, known.collect::<Vec<_>>()]).to_string().as_bytes())
}

fn summary(of: &Object) -> Option<SummaryEntry> {
    let round_id = owned(of, "toolCallRoundId")?;
    Some(SummaryEntry { round_id, text: owned(of, "text")?, own: owned(of, "threadhold"), recorded: None })
}

/// Reads a message in the native form, or in that of chat completions. A record with several results is
/// several messages.
fn message(id: &str, record: &Object, place: &str, import: &mut Import) -> Result<Vec<FileMessage>, String> {
    let own_id = owned(record, "id");
    let is_ours = record.contains_key("parts");
    let keys = if is_ours { MESSAGE_KEYS } else { OTHERS_KEYS };
    let found: Vec<NewMessage> = if is_ours {
        our_messages(import, place, record)?;
        let taken = std::mem::take(&mut import.entries).into_iter();
        taken
            .filter_map(|entry| match entry {
                Entry::Message(message) => Some(message),
                Entry::Compaction(_) => None,
            })
            .collect()
    } else {
        vec![of_others(record, place, import)?]
    };
    let rest = record.iter().filter(|(key, _)| !keys.contains(&key.as_str()));
    let mut others: Object = rest.map(|(key, value)| (key.clone(), value.clone())).collect();
    let is_derived = |known: &str| known.strip_prefix(id).is_some_and(|rest| rest.starts_with('/'));
    let foreign = own_id.clone().filter(|known| !is_derived(known));
    let turn = owned(record, "turnId");
    Ok(found
        .into_iter()
        .map(|mut message| {
            message.external_id = message.external_id.or_else(|| foreign.clone());
            FileMessage {
                id: own_id.clone(),
                turn: turn.clone(),
                message,
                others: std::mem::take(&mut others),
            }
        })
        .collect())
}

/// Reads a message as other programs write it. A role that no model has becomes a record that no model sees.
fn of_others(record: &Object, place: &str, import: &mut Import) -> Result<NewMessage, String> {
    if let Some(body) = completions::body(record, place, import)? {
        return Ok(NewMessage::new(body));
    }
    let role = needed(record, "role")?;
    let text = match record.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(other) => contents(Some(other), place, import)
            .map(|parts| joined(&parts))
            .unwrap_or_else(|_| other.to_string()),
        None => return Err(format!("is a message of the role `{role}` without a content")),
    };
    let kind = if role == "system" { SYSTEM_IN_HISTORY } else { role };
    let body = Body::Event { kind: kind.to_owned(), text: text.into() };
    Ok(NewMessage { visible_to_model: false, ..NewMessage::new(body) })
}

impl Trajectory {
    /// Returns the unknown keys as a message of the session, which preserves them if there is no file; `None`
    /// if there are none. Must be the session's first message.
    pub fn source_keys(&self) -> Option<NewMessage> {
        let each = self.messages.iter().enumerate().filter(|(_, kept)| !kept.others.is_empty());
        // The message itself takes position 0.
        let each: Object =
            each.map(|(at, kept)| ((at + 1).to_string(), kept.others.clone().into())).collect();
        if each.is_empty() && self.others == Others::default() {
            return None;
        }
        let all = json!({ "file": self.others.file, "messages": each, "unreadable": self.others.unreadable });
        let body = Body::Event { kind: SOURCE_KEYS.to_owned(), text: all.to_string().into() };
        Some(NewMessage { visible_to_model: false, ..NewMessage::new(body) })
    }

    /// Iterates over the messages, with `true` for one that begins a turn and `None` if the file states no turn.
    pub fn begins(&self) -> impl Iterator<Item = (Option<bool>, &FileMessage)> {
        let before = std::iter::once(None).chain(self.messages.iter().map(Some));
        self.messages.iter().zip(before).map(|(kept, before)| {
            let turn = kept.turn.as_ref();
            (turn.map(|turn| before.and_then(|before| before.turn.as_ref()) != Some(turn)), kept)
        })
    }
}

/// The unknown keys that a session itself preserves: of the file, and of each message by its id.
fn kept_in(messages: &[Arc<Message>]) -> (Others, BTreeMap<String, Object>) {
    let kept = messages.iter().find_map(|message| match &message.body {
        Body::Event { kind, text } if kind == SOURCE_KEYS => Some((&message.id, text)),
        _ => None,
    });
    let Some((id, text)) = kept else { return Default::default() };
    let Ok(Value::Object(all)) = serde_json::from_str(text) else { return Default::default() };
    // Ids assigned together with this one differ from it only in the position; a later id at a reused
    // position has another suffix.
    let Some((session, own)) = id.as_str().rsplit_once("/m") else { return Default::default() };
    let ending = own.find('.').and_then(|at| own.get(at..)).unwrap_or_default();
    let of = |ord: &str| MessageId::new(format!("{session}/m{ord}{ending}")).as_str().to_owned();
    let each = object(&all, "messages").into_iter().flatten();
    let each = each.filter_map(|(ord, keys)| Some((of(ord), keys.as_object()?.clone())));
    let others = Others {
        file: object(&all, "file").cloned().unwrap_or_default(),
        unreadable: list(&all, "unreadable").to_vec(),
    };
    (others, each.collect())
}

/// Writes a session, with the unknown keys of the existing file `now`.
pub fn write(content: &Content, now: Option<&Trajectory>) -> String {
    let (mut others, mut keys) = kept_in(&content.messages);
    let said: Vec<&Arc<Message>> =
        content.messages.iter().filter(|message| !message.is_source_keys()).collect();
    if let Some(now) = now {
        others.file.extend(now.others.file.clone());
        let new = now.others.unreadable.iter().filter(|value| !others.unreadable.contains(value));
        let new: Vec<Value> = new.cloned().collect();
        others.unreadable.extend(new);
        for (at, kept) in now.messages.iter().enumerate().filter(|(_, kept)| !kept.others.is_empty()) {
            let is_it = |message: &&&Arc<Message>| {
                kept.id
                    .as_deref()
                    .is_some_and(|id| message.id.as_str() == id || message.external_id.as_deref() == Some(id))
            };
            let same = said.get(at).filter(|message| message.body.hash() == kept.message.body.hash());
            if let Some(message) = said.iter().find(is_it).or(same) {
                keys.entry(message.id.as_str().to_owned()).or_default().extend(kept.others.clone());
            }
        }
    }
    let messages: Vec<Value> = said
        .iter()
        .map(|message| {
            let mut line = message_value(message);
            for (key, value) in keys.remove(message.id.as_str()).into_iter().flatten() {
                if line.get(&key).is_none() {
                    set(&mut line, &key, Some(value));
                }
            }
            line
        })
        .collect();
    let mut file = json!({ "id": content.id, "format": "threadhold" });
    set(&mut file, "title", content.title.as_deref().map(Value::from));
    set(&mut file, "version", Some((now.map_or(0, |now| now.version) + 1).into()));
    set(&mut file, "createdAt", Some(content.created_at.as_str().into()));
    set(&mut file, "updatedAt", Some(content.updated_at.as_str().into()));
    let summaries = content.summaries.iter().filter_map(|persisted| match persisted {
        Persisted::Summary(summary) => serde_json::to_value(summary).ok(),
        Persisted::Own(_) => None,
    });
    set(&mut file, "summaries", some(summaries.collect()));
    set(&mut file, "threadhold", listed(&content.summaries).map(Value::from));
    set(&mut file, "unreadable", some(others.unreadable));
    set(&mut file, "saved", Some(messages.len().into()));
    set(&mut file, "digest", Some(digest(content.title.as_deref(), &messages).into()));
    for (key, value) in others.file {
        // The time of the last change, as another program names it: its own would never move again.
        let is_time = key == "updated_at" && value.is_string();
        set(&mut file, &key, Some(if is_time { content.updated_at.as_str().into() } else { value }));
    }
    set(&mut file, "messages", Some(messages.into()));
    let mut text = serde_json::to_string_pretty(&file).unwrap_or_default();
    text.push('\n');
    text
}

fn some(values: Vec<Value>) -> Option<Value> {
    (!values.is_empty()).then(|| values.into())
}

fn message_value(message: &Message) -> Value {
    let new = NewMessage::from(message);
    let mut line = Map::new();
    line.insert("id".to_owned(), message.id.as_str().into());
    line.insert("turnId".to_owned(), message.turn.as_str().into());
    if let Value::Object(mut all) = message_line(&new) {
        all.shift_remove("type");
        line.extend(all);
    }
    Value::Object(line)
}
