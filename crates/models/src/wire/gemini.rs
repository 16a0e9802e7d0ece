//! Gemini's `generateContent`: the request body. The stream is parsed in `stream`.

mod stream;

pub(super) use stream::Candidate;

use super::blocks::own;
use super::content::{
    AFTER, BEFORE, NO_PICTURE, Picture, Piece, arguments, budget, call_id, effort, is_off, most_output,
    piece, schema, segment, thinks, thinks_little, tool_name,
};
use super::{Post, Terms, count_of, text_of};
use crate::known;
use engine::endpoint::Wire;
use engine::endpoint::options::RequestOptions;
use engine::message::MADE_BY;
use engine::prompt::item::{Item, ItemPart, Role};
use engine::prompt::request::{Request, ToolChoice};
use serde_json::{Map, Value, json};

/// The block in which a signature is stored that belongs to text or to a call, not to thinking.
const SIGNATURE: &str = "redacted_thinking";
/// Field of such a block: the number of the call that it signs, counted from zero in its answer.
const OF_CALL: &str = "call";
/// Field of such a block: `true` if it came on a part without text behind the text.
const OWN_PART: &str = "ownPart";
/// The value that the provider documents for calls which it did not make itself, such as those of another model:
/// a call of the current turn without a signature is rejected.
const NOT_SIGNED: &str = "skip_thought_signature_validator";

/// Builds the request for this wire. The model is a part of the path.
pub(super) fn post(request: &Request, terms: &Terms, options: &RequestOptions) -> Post {
    let mut body = RequestBody {
        terms,
        signs_calls: known::manner(&terms.model).is_none_or(|manner| manner.signs_calls),
        system: Vec::new(),
        contents: Vec::new(),
        pictures: Vec::new(),
    };
    let name_of = |item: &Item| {
        let calls = request.items.iter().flat_map(|item| &item.calls);
        let call = calls.into_iter().find(|call| Some(&call.id) == item.call_id.as_ref());
        tool_name(call.map_or("", |call| &call.name)).into_owned()
    };
    for item in &request.items {
        body.item(item, name_of);
    }
    body.close();
    let RequestBody { system, contents, .. } = body;

    let mut fields = Map::new();
    let mut put = |key: &str, value: Value| drop(fields.insert(key.to_owned(), value));
    if !system.is_empty() {
        put("systemInstruction", json!({ "parts": system }));
    }
    let with_tools =
        !request.tools.is_empty() && (request.tool_choice == ToolChoice::Auto || terms.tool_choice_none);
    if with_tools {
        let functions: Vec<Value> = request
            .tools
            .iter()
            .map(|tool| {
                json!({
                    "name": tool_name(&tool.name),
                    "description": tool.description,
                    "parametersJsonSchema": schema(&tool.input_schema),
                })
            })
            .collect();
        put("tools", json!([{ "functionDeclarations": functions }]));
        if request.tool_choice == ToolChoice::None {
            put("toolConfig", json!({ "functionCallingConfig": { "mode": "NONE" } }));
        }
    }
    let generation = generation(request, terms, options);
    if !generation.is_empty() {
        put("generationConfig", Value::Object(generation));
    }
    put("contents", Value::Array(contents));
    Post {
        path: format!("/models/{}:streamGenerateContent?alt=sse", segment(&terms.model)).into(),
        headers: Vec::new(),
        body: Value::Object(fields),
    }
}

/// Limits and thinking of an answer.
fn generation(request: &Request, terms: &Terms, options: &RequestOptions) -> Map<String, Value> {
    let is_off = is_off(terms, options);
    let thinks = thinks(terms, options);
    let mut generation = Map::new();
    let mut put = |key: &str, value: Value| drop(generation.insert(key.to_owned(), value));
    if let Some(most) = most_output(request, terms, options) {
        put("maxOutputTokens", json!(most));
    }
    // The provider advises against a low temperature for its models that think: they repeat themselves.
    if request.temperature_zero && !thinks {
        put("temperature", json!(0));
    }
    if is_off {
        put("thinkingConfig", json!({ "thinkingBudget": 0 }));
    } else if thinks_little(request, terms) {
        put("thinkingConfig", json!({ "thinkingLevel": "low" }));
    } else if thinks && !request.temperature_zero {
        let mut thinking = Map::from_iter([("includeThoughts".to_owned(), json!(true))]);
        thinking.extend(effort(request, options).map(|level| ("thinkingLevel".to_owned(), json!(level))));
        thinking.extend(budget(options).map(|tokens| ("thinkingBudget".to_owned(), json!(tokens))));
        put("thinkingConfig", Value::Object(thinking));
    }
    generation
}

/// A body being built.
struct RequestBody<'a> {
    terms: &'a Terms,
    /// `true` if the model's calls have ids and signatures, which it wants back.
    signs_calls: bool,
    system: Vec<Value>,
    contents: Vec<Value>,
    /// Pictures of the tool results so far: results of calls made side by side stand together.
    pictures: Vec<Value>,
}

impl RequestBody<'_> {
    fn item(&mut self, item: &Item, name_of: impl Fn(&Item) -> String) {
        if item.role != Role::Tool {
            self.put_pictures();
        }
        match item.role {
            Role::System => self.system.extend(item.parts.iter().filter_map(|part| content(part, false))),
            Role::User => {
                for part in contents(item, self.terms.images) {
                    self.push("user", part);
                }
            }
            Role::Tool => self.result(item, &name_of(item)),
            Role::Assistant => self.assistant(item),
        }
    }

    /// Adds a tool result. Its pictures follow: the response itself is an object of text.
    fn result(&mut self, item: &Item, name: &str) {
        let (texts, pictures): (Vec<Value>, Vec<Value>) =
            contents(item, self.terms.images).into_iter().partition(|part| part.get("text").is_some());
        let texts: Vec<&str> = texts.iter().filter_map(|part| text_of(part, "text")).collect();
        let mut response = Map::new();
        if self.signs_calls {
            let id = item.call_id.as_ref().map_or("", |call| call.as_str());
            response.insert("id".to_owned(), json!(call_id(id)));
        }
        response.insert("name".to_owned(), json!(name));
        response.insert("response".to_owned(), json!({ "result": texts.join(super::content::BETWEEN) }));
        self.push("user", json!({ "functionResponse": response }));
        self.pictures.extend(pictures);
    }

    fn put_pictures(&mut self) {
        for picture in std::mem::take(&mut self.pictures) {
            self.push("user", picture);
        }
    }

    fn assistant(&mut self, item: &Item) {
        let mut signatures: Vec<(u64, &str)> = Vec::new();
        // `true` if the last part is this answer's text, to which a signature behind it belongs.
        let mut follows_text = false;
        for part in &item.parts {
            match part {
                ItemPart::Content(_) => {
                    let Some(part) = content(part, false) else { continue };
                    self.push("model", part);
                    follows_text = true;
                    continue;
                }
                ItemPart::Reasoning { text, signature: Some(signature), block } => {
                    let block = block.as_deref().and_then(|block| stamped(block, Some(&self.terms.model)));
                    let Some(block) = block.map(Value::Object) else { continue };
                    if text_of(&block, "type") != Some(SIGNATURE) {
                        let thought =
                            json!({ "text": &**text, "thought": true, "thoughtSignature": &**signature });
                        self.push("model", thought);
                    } else if let Some(call) = count_of(&block, OF_CALL) {
                        signatures.push((call, signature));
                        continue;
                    } else {
                        let is_apart = block.get(OWN_PART).is_some_and(|is_own| *is_own == json!(true));
                        self.sign_text(signature, follows_text && !is_apart);
                    }
                }
                // Thinking without a signature need not go back.
                ItemPart::Reasoning { .. } => continue,
                ItemPart::Raw(wire) => {
                    let Some(part) = wire.as_object().and_then(|part| stamped(part, None)) else { continue };
                    self.push("model", Value::Object(part));
                }
            }
            follows_text = false;
        }
        let is_signed = |at: usize| {
            let at = u64::try_from(at).ok();
            signatures.iter().find(|(call, _)| Some(*call) == at).map(|(_, signature)| *signature)
        };
        for (at, call) in item.calls.iter().enumerate() {
            let mut function = Map::new();
            if self.signs_calls {
                function.insert("id".to_owned(), json!(call_id(call.id.as_str())));
            }
            function.insert("name".to_owned(), json!(tool_name(&call.name)));
            function.insert("args".to_owned(), Value::Object(arguments(&call.arguments)));
            let mut part = json!({ "functionCall": function });
            // Of calls made side by side only the first has a signature.
            let not_signed = (self.signs_calls && at == 0).then_some(NOT_SIGNED);
            if let (Some(signature), Value::Object(part)) = (is_signed(at).or(not_signed), &mut part) {
                part.insert("thoughtSignature".to_owned(), json!(signature));
            }
            self.push("model", part);
        }
    }

    /// Signs the text before it, or adds a part of its own without text.
    fn sign_text(&mut self, signature: &str, follows_text: bool) {
        let last =
            self.contents.last_mut().and_then(|content| content.get_mut("parts")?.as_array_mut()?.last_mut());
        match last {
            Some(Value::Object(text)) if follows_text => {
                text.insert("thoughtSignature".to_owned(), json!(signature));
            }
            _ => self.push("model", json!({ "text": "", "thoughtSignature": signature })),
        }
    }

    /// Appends a part. Neighbours of one role share a content.
    fn push(&mut self, role: &'static str, part: Value) {
        if self.contents.is_empty() && role == "model" {
            self.contents.push(json!({ "role": "user", "parts": [{ "text": BEFORE }] }));
        }
        let last = self.contents.last_mut().filter(|last| text_of(last, "role") == Some(role));
        match last.and_then(|last| last.get_mut("parts")?.as_array_mut()) {
            Some(parts) => parts.push(part),
            None => self.contents.push(json!({ "role": role, "parts": [part] })),
        }
    }

    /// Ends the conversation with the user.
    fn close(&mut self) {
        self.put_pictures();
        if self.contents.last().is_none_or(|last| text_of(last, "role") == Some("model")) {
            self.push("user", json!({ "text": AFTER }));
        }
    }
}

/// A block of this wire, and of `model` where that is given. Nothing in a block's form tells that it is Gemini's,
/// so one without a stamp is not.
fn stamped(block: &Map<String, Value>, model: Option<&str>) -> Option<Map<String, Value>> {
    own(block, Wire::Gemini, model).filter(|_| block.contains_key(MADE_BY))
}

fn contents(item: &Item, images: bool) -> Vec<Value> {
    item.parts.iter().filter_map(|part| content(part, images)).collect()
}

/// A text or an image part. Images by address are not fetched by this provider.
fn content(part: &ItemPart, images: bool) -> Option<Value> {
    let ItemPart::Content(content) = part else { return None };
    match piece(content, images) {
        Piece::Text(text) if text.is_empty() => None,
        Piece::Text(text) => Some(json!({ "text": text })),
        Piece::Picture(Picture::Value { mime_type, base64 }) => {
            Some(json!({ "inlineData": { "mimeType": mime_type, "data": base64 } }))
        }
        Piece::Picture(Picture::Address(_)) => Some(json!({ "text": NO_PICTURE })),
    }
}
