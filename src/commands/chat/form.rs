//! Questions of tool servers: a form whose fields are asked one after the other.

use crate::commands::visible::visible;
use protocol::check::fault;
use protocol::tool::server::{McpElicitAction, McpElicitParams, McpElicitResult};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use tower_lsp::jsonrpc::Id;

/// A form that the user fills in.
#[derive(Debug)]
pub(super) struct Form {
    /// The request to answer.
    pub request: Id,
    /// The question, for the user.
    pub about: String,
    left: VecDeque<Field>,
    content: Map<String, Value>,
    /// `true` once the user agreed to answer.
    is_begun: bool,
}

/// A field of a form.
#[derive(Debug, Clone)]
struct Field {
    name: String,
    schema: Value,
    is_required: bool,
}

/// The outcome of a line.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Filled {
    /// The next field is asked; a note says why if it is the same one.
    Next(Option<String>),
    /// The whole answer.
    Done(McpElicitResult),
}

impl Form {
    pub fn new(request: Id, params: McpElicitParams) -> Self {
        let required = params.schema["required"].as_array().cloned().unwrap_or_default();
        let fields = params.schema["properties"].as_object().cloned().unwrap_or_default();
        let field = |(name, schema): (String, Value)| Field {
            is_required: required.iter().any(|required| *required == name),
            name,
            schema,
        };
        Self {
            request,
            about: format!("{} asks: {}", visible(&params.server), visible(&params.message)),
            left: fields.into_iter().map(field).collect(),
            content: Map::new(),
            is_begun: false,
        }
    }

    /// The prompt for the next line.
    pub fn prompt(&self) -> String {
        match self.left.front().filter(|_| self.is_begun) {
            Some(field) => field.prompt(),
            None => "answer? y / n".to_owned(),
        }
    }

    /// Takes a line.
    pub fn fill(&mut self, line: &str) -> Filled {
        let line = line.trim();
        if !self.is_begun {
            match line.to_lowercase().as_str() {
                "y" | "yes" => self.is_begun = true,
                "n" | "no" => {
                    return Filled::Done(McpElicitResult { action: McpElicitAction::Decline, content: None });
                }
                _ => return Filled::Next(None),
            }
        } else if let Some(field) = self.left.front() {
            match field.value(line) {
                Ok(value) => {
                    self.content.extend(value.map(|value| (field.name.clone(), value)));
                    self.left.pop_front();
                }
                Err(why) => return Filled::Next(Some(why)),
            }
        }
        if !self.left.is_empty() {
            return Filled::Next(None);
        }
        let content = Some(std::mem::take(&mut self.content));
        Filled::Done(McpElicitResult { action: McpElicitAction::Accept, content })
    }
}

impl Field {
    fn prompt(&self) -> String {
        let text = |key: &str| self.schema[key].as_str().map(visible);
        let mut about: Vec<String> = text("description").into_iter().collect();
        let choices = choices(&self.schema);
        match self.schema["type"].as_str() {
            Some("boolean") => about.push("y / n".to_owned()),
            Some("array") => about.push(format!("some of {}, separated by commas", choices.join(", "))),
            _ if !choices.is_empty() => about.push(format!("one of {}", choices.join(", "))),
            Some(kind @ ("number" | "integer")) => about.push(kind.to_owned()),
            _ => {}
        }
        match self.schema.get("default") {
            Some(default) => about.push(format!("empty for {}", visible(&default.to_string()))),
            None if !self.is_required => about.push("may be empty".to_owned()),
            None => {}
        }
        let name = text("title").unwrap_or_else(|| visible(&self.name));
        if about.is_empty() { name.to_string() } else { format!("{name} ({})", about.join("; ")) }
    }

    /// The value that a line stands for; `None` if the field stays empty.
    fn value(&self, line: &str) -> Result<Option<Value>, String> {
        if line.is_empty() {
            return match self.schema.get("default") {
                Some(default) => Ok(Some(default.clone())),
                None if !self.is_required => Ok(None),
                None => Err("a value is needed".to_owned()),
            };
        }
        let value = match self.schema["type"].as_str() {
            Some("boolean") => match line.to_lowercase().as_str() {
                "y" | "yes" | "true" => json!(true),
                "n" | "no" | "false" => json!(false),
                _ => return Err("enter y or n".to_owned()),
            },
            Some("number" | "integer") => match line.parse::<i64>() {
                Ok(number) => json!(number),
                Err(_) => line.parse::<f64>().map_or_else(|_| json!(line), |number| json!(number)),
            },
            Some("array") => line.split(',').map(|one| Value::from(one.trim())).collect(),
            _ => json!(line),
        };
        match fault(&self.schema, &value) {
            None => Ok(Some(value)),
            Some(fault) => Err(format!("it {}", fault.reason)),
        }
    }
}

/// The values that a field may have, if they are listed.
fn choices(schema: &Value) -> Vec<String> {
    let of = if schema["items"].is_object() { &schema["items"] } else { schema };
    let constants = ["oneOf", "anyOf"].into_iter().flat_map(|key| of[key].as_array().into_iter().flatten());
    let listed = of["enum"].as_array().into_iter().flatten();
    let all = listed.chain(constants.map(|one| &one["const"])).filter_map(Value::as_str);
    all.map(|choice| visible(choice).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: Value, required: &[&str]) -> Form {
        let params = McpElicitParams {
            session_id: "s".into(),
            tool_call_id: "c".into(),
            server: "all".into(),
            message: "Who are you?".into(),
            schema: json!({ "type": "object", "properties": properties, "required": required }),
            agent: None,
        };
        Form::new(Id::Number(1), params)
    }

    /// The prompt for each line, with the note that came before it, and the answer.
    fn filled(mut form: Form, lines: &[&str]) -> (Vec<String>, Option<Value>) {
        let mut asked = vec![form.prompt()];
        for line in lines {
            match form.fill(line) {
                Filled::Done(result) => return (asked, serde_json::to_value(result).ok()),
                Filled::Next(note) => {
                    asked.push(
                        note.map_or_else(|| form.prompt(), |note| format!("{note}! {}", form.prompt())),
                    );
                }
            }
        }
        (asked, None)
    }

    #[test]
    fn fields_are_asked_until_they_fit() {
        let properties = json!({
            "age": { "type": "integer", "minimum": 0 },
            "colour": { "type": "string", "enum": ["red", "blue"], "default": "red" },
            "fits": { "type": "boolean", "description": "Does it fit?" },
            "more": { "type": "array", "items": { "type": "string", "enum": ["a", "b"] } },
            "name": { "type": "string", "title": "Your name" },
        });
        let lines =
            ["maybe", "y", "old", "-1", "42", "green", "", "perhaps", "no", "a, c", "a, b", "", "Ada"];
        let (asked, answer) = filled(form(properties, &["name", "age"]), &lines);
        let expected = [
            "answer? y / n",
            "answer? y / n",
            "age (integer)",
            "it must be an integer, not a string! age (integer)",
            "it must be at least 0! age (integer)",
            "colour (one of red, blue; empty for \"red\")",
            "it must be one of \"red\", \"blue\"! colour (one of red, blue; empty for \"red\")",
            "fits (Does it fit?; y / n; may be empty)",
            "enter y or n! fits (Does it fit?; y / n; may be empty)",
            "more (some of a, b, separated by commas; may be empty)",
            "it must be one of \"a\", \"b\"! more (some of a, b, separated by commas; may be empty)",
            "Your name",
            "a value is needed! Your name",
        ];
        assert_eq!(asked, expected);
        let content = json!({ "age": 42, "colour": "red", "fits": false, "more": ["a", "b"], "name": "Ada" });
        assert_eq!(answer, Some(json!({ "action": "accept", "content": content })));
    }

    #[test]
    fn question_can_be_declined_or_need_no_field() {
        assert_eq!(filled(form(json!({}), &[]), &["n"]).1, Some(json!({ "action": "decline" })));
        let accepted = json!({ "action": "accept", "content": {} });
        assert_eq!(filled(form(json!({}), &[]), &["y"]).1, Some(accepted));
    }
}
