//! A session's title: made of its first request without a model, replaced by a model's where that is allowed, and never
//! changed again once a client has given one.

use super::Step;
use super::effect::{AskModel, Effect, Purpose};
use super::event::{EventBody, Thread};
use super::input::Timer;
use super::settings::Titles;
use super::state::{Patience, Titling};
use super::stored::TitleFrom;
use engine::delta::Draft;
use engine::id::Ordinal;
use engine::message::{Body, Content};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::{self, Request, ToolChoice};
use engine::text;

/// Characters of a title.
const LONGEST: usize = 80;
/// Bytes of the conversation that a model is shown.
const SHOWN: usize = 2000;

const INSTRUCTION: &str = "Below is the beginning of a conversation. Name it in at most eight words, in its own \
     language. Answer with the name alone: no quotation marks, no full stop.";

impl Step<'_> {
    /// Names the session after its first request, unless it has a name.
    pub(super) fn name_after(&mut self, request: Ordinal) {
        let message = self.session.transcript.message(request).cloned();
        if let Some(Body::User(content)) = message.as_ref().map(|message| &message.body) {
            self.name_by(content);
        }
    }

    /// Names the session after the first request that says something, unless it has a name: where it came from a file,
    /// system texts and words of the program may stand before it.
    pub(super) fn name_after_taken(&mut self) {
        let mut messages = self.session.transcript.messages().iter();
        let first =
            messages.find(|message| matches!(&message.body, Body::User(said) if asked(said).is_some()));
        if let Some(request) = first.map(|message| message.ord) {
            self.name_after(request);
        }
    }

    /// Names the session after what a user says, unless it has a name.
    pub(super) fn name_by(&mut self, content: &[Content]) {
        if self.session.head.title.is_some() {
            return;
        }
        if let Some(title) = asked(content) {
            self.take_title(title, TitleFrom::Request);
        }
    }

    fn take_title(&mut self, title: String, from: TitleFrom) {
        self.session.head.title = Some(title);
        self.session.head.title_from = Some(from);
        self.write_head();
        self.emit_thread();
    }

    /// Says what the session is, beside its messages and what runs.
    pub(super) fn emit_thread(&mut self) {
        let thread = self.session.thread();
        self.emit(EventBody::ThreadUpdated(Box::new(thread)));
    }

    /// The first turn is over: a model may find a better name.
    pub(super) fn ask_for_title(&mut self) {
        let settings = &self.session.settings;
        let may = settings.titles == Titles::Model && settings.may_ask(&settings.model);
        let is_ours = self.session.head.title_from == Some(TitleFrom::Request);
        if !may || !is_ours || self.session.titling.is_some() {
            return;
        }
        let counter = self.around.counter;
        let mut begun = String::new();
        for message in self.session.transcript.messages().iter().take(4) {
            let said = match &message.body {
                Body::User(content) => content.iter().find_map(Content::text).map(|text| text.to_string()),
                Body::Assistant { .. } => message.body.texts().first().map(|text| text.to_string()),
                Body::Tool(_) | Body::Event { .. } => None,
            };
            begun.extend(said.into_iter().map(|said: String| format!("{}\n\n", text::head(&said, SHOWN))));
        }
        let asked = format!("{INSTRUCTION}\n\n<conversation>\n{begun}</conversation>");
        let tokens = counter.count(&asked);
        let (model, deadline) = (settings.model.clone(), settings.first_word_ms(&settings.model));
        let request = Request {
            items: vec![Item::made(Role::User, asked, tokens)],
            tools: Default::default(),
            tool_choice: ToolChoice::Auto,
            temperature_zero: true,
            max_output: Some(64),
            room: Some(settings.room(&model, tokens)),
            cache_breakpoints: Vec::new(),
        };
        let call = self.next_call();
        let patience = Patience::new(self.around.now, self.session.settings.model_deadline_ms);
        self.session.titling = Some(Titling { call, draft: Draft::default(), patience });
        let ask = AskModel { call, turn: None, purpose: Purpose::Title, model, tokens, request };
        self.effects.push(Effect::AskModel(Box::new(ask)));
        self.effects.push(Effect::Start(Timer::Model(call), deadline));
    }

    /// A model named the session, or did not: then it keeps the name that it has.
    pub(super) fn titled(&mut self, draft: Draft, outcome: Result<request::Answer, String>) {
        let Ok(answer) = outcome else { return self.trace("no model named the session") };
        let said = title(&answer.completion(&draft).text);
        match said.filter(|_| self.session.head.title_from == Some(TitleFrom::Request)) {
            Some(title) => self.take_title(title, TitleFrom::Model),
            None => self.trace("a name for the session came and was not needed, or was none"),
        }
    }

    /// The session has other words for the user's next request.
    pub(super) fn set_draft(&mut self, reply: super::input::ReplyTo, draft: Option<engine::message::Text>) {
        let draft = draft.filter(|draft| !draft.is_empty());
        let is_new = self.session.draft != draft;
        self.session.draft = draft.clone();
        if !self.session.is_stored {
            self.write_head();
        }
        // Also where it is the same: the store may have failed when it came first.
        self.write(super::stored::Write::Draft(draft));
        if is_new {
            self.emit_thread();
        }
        let state = self.session.state.name();
        self.reply(reply, Ok(super::effect::Answer::Done(state)));
    }
}

impl super::Session {
    /// What it is, beside its messages and what runs.
    pub(super) fn thread(&self) -> Thread {
        Thread {
            title: self.head.title.clone(),
            generation: self.head.generation,
            draft: self.draft.clone(),
            scope: self.scope.clone(),
            pins: self.pins().to_vec(),
        }
    }
}

/// A title after what a user asked.
fn asked(content: &[Content]) -> Option<String> {
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
fn title(said: &str) -> Option<String> {
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
