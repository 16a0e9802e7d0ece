//! The model call for a better title, after the first turn.

use super::take_title;
use super::words::title;
use crate::core::Core;
use crate::model::quiet::{BufferedCall, Folded};
use crate::values::effect::{AskModel, Effect, Purpose};
use crate::values::input::{ModelCallId, Timer};
use crate::values::settings::Titles;
use crate::values::stored::TitleFrom;
use engine::delta::Delta;
use engine::message::{Body, Content};
use engine::prompt::item::{Item, Role};
use engine::prompt::request::{Answer, Failure, Request, ToolChoice};
use engine::text;

/// Bytes of each message that the model is shown.
const SHOWN: usize = 2000;

const INSTRUCTION: &str = "Below is the beginning of a conversation. Name it in at most eight words, in its own \
     language. Answer with the name alone: no quotation marks, no full stop.";

/// The running call for a title, if there is one.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Titler(Option<BufferedCall>);

impl Titler {
    /// Asks a model for a better title after the first turn, if that is allowed.
    pub fn ask(&mut self, core: &mut Core<'_>) {
        let settings = core.settings();
        let may = settings.titles == Titles::Model && settings.may_ask(&settings.model);
        let is_ours = core.head().title_from == Some(TitleFrom::Request);
        if !may || !is_ours || self.0.is_some() {
            return;
        }
        let counter = core.counter();
        let mut begun = String::new();
        for message in core.transcript().messages().iter().take(4) {
            let said = match &message.body {
                Body::User(content) => content.iter().find_map(Content::text).map(|text| text.to_string()),
                Body::Assistant { .. } => message.body.texts().first().map(|text| text.to_string()),
                Body::Tool(_) | Body::Event { .. } => None,
            };
            begun.extend(said.into_iter().map(|said: String| format!("{}\n\n", text::head(&said, SHOWN))));
        }
        let asked = format!("{INSTRUCTION}\n\n<conversation>\n{begun}</conversation>");
        let tokens = counter.count(&asked);
        let (model, deadline) =
            (core.settings().model.clone(), core.settings().first_word_ms(&core.settings().model));
        let request = Request {
            items: vec![Item::made(Role::User, asked, tokens)],
            tools: Default::default(),
            tool_choice: ToolChoice::Auto,
            temperature_zero: true,
            max_output: Some(64),
            room: Some(core.settings().room(&model, tokens)),
            cache_breakpoints: Vec::new(),
        };
        let quiet = BufferedCall::new(core, Purpose::Title, &model);
        let call = quiet.id();
        self.0 = Some(quiet);
        let ask =
            AskModel { call, turn: None, purpose: Purpose::Title, model, tokens, count_up_to: None, request };
        core.push(Effect::AskModel(Box::new(ask)));
        core.start(Timer::Model(call), deadline);
    }

    pub fn is_call(&self, call: ModelCallId) -> bool {
        self.0.as_ref().is_some_and(|quiet| quiet.id() == call)
    }

    pub fn hear(&mut self, core: &Core<'_>, delta: Delta) -> Option<Folded> {
        Some(self.0.as_mut()?.hear(core, delta))
    }

    /// See [`BufferedCall::after_sign`].
    pub fn after_sign(&self, core: &Core<'_>, more_ms: u64) -> Option<u64> {
        self.0.as_ref()?.after_sign(core, &core.settings().model, more_ms)
    }

    pub fn begin_again(&mut self, core: &mut Core<'_>) {
        if let Some(quiet) = &mut self.0 {
            quiet.begin_again(core);
        }
    }

    /// Takes over the model's title; without one the session keeps its own.
    pub fn done(&mut self, core: &mut Core<'_>, outcome: Result<Answer, Failure>) {
        let Some(mut quiet) = self.0.take() else { return };
        let Ok(answer) = outcome else {
            quiet.broke(core);
            return core.trace("no model named the session");
        };
        quiet.answered(core, answer.usage);
        let said = title(&answer.completion(&quiet.into_draft()).text);
        match said.filter(|_| core.head().title_from == Some(TitleFrom::Request)) {
            Some(title) => take_title(core, title, TitleFrom::Model),
            None => core.trace("a name for the session came and was not needed, or was none"),
        }
    }

    /// Stops waiting for a title; the model may go on.
    pub fn forget(&mut self, core: &mut Core<'_>) {
        if let Some(mut quiet) = self.0.take() {
            quiet.broke(core);
        }
    }

    /// Cancels the model call.
    pub fn cancel(&mut self, core: &mut Core<'_>) {
        if let Some(mut quiet) = self.0.take() {
            quiet.cancel(core);
        }
    }
}
