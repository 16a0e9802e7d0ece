//! The model that sums up: which one it is, how it is asked, and who is asked where it fails (source: 002). What follows
//! from a summary is the ladder's.

use super::Step;
use super::effect::{AskModel, Effect, Purpose};
use super::input::Timer;
use super::settings::ModelFacts;
use super::state::{Compacting, Job, Patience, Then};
use engine::compact::ladder::{Ask, Outcome};
use engine::delta::Draft;

impl Step<'_> {
    /// The model that sums up, and the one that does where it fails: a model of its own where the settings name one, else
    /// the one whose prompt is too large.
    pub(super) fn summarizer<'s>(&'s self, job: &'s Job) -> (&'s ModelFacts, Option<&'s ModelFacts>) {
        let settings = &self.session.settings;
        let of_render = match &job.then {
            Then::Render(rendering) => rendering.render.model.as_ref(),
            Then::Generate | Then::Report(_) | Then::Rest => None,
        };
        let main = job.old_model.as_ref().or(of_render).unwrap_or(&settings.model);
        match &settings.summary_model {
            Some(own) => (own, settings.may_ask(main).then_some(main)),
            None => (main, None),
        }
    }

    /// Asks a model to sum up; what waits for it.
    pub(super) fn call_for_summary(&mut self, ask: Ask, job: Job) -> Compacting {
        let Ask { request, mode, waiting } = ask;
        let call = self.next_call();
        let (model, spare) = self.summarizer(&job);
        let (model, spare) = (model.clone(), spare.cloned());
        let patience = Patience::new(self.around.now, self.session.settings.model_deadline_ms);
        let draft = Draft::default();
        let running = Compacting { call, mode, model, spare, request, draft, patience, waiting, job };
        self.send_for_summary(&running);
        running
    }

    fn send_for_summary(&mut self, running: &Compacting) {
        let (call, model, mut request) = (running.call, running.model.clone(), running.request.clone());
        if !model.tool_choice_none {
            request = request.without_forbidden_tools();
        }
        let tools = if request.tools.is_empty() { 0 } else { self.session.fixed.tool_tokens() };
        let tokens = tools + request.items.iter().map(|item| item.tokens).sum::<u32>();
        let tokens = self.session.unanchored(&model).read(tokens);
        request.room = Some(self.session.room(&model, tokens));
        let (turn, deadline) = (self.turn_id(), self.session.settings.first_word_ms(&model));
        let ask = AskModel { call, turn, purpose: Purpose::Summary, model, tokens, request };
        self.effects.push(Effect::AskModel(Box::new(ask)));
        self.effects.push(Effect::Start(Timer::Model(call), deadline));
    }

    /// A model that sums up came to this end. Where it failed and another one can be asked, that one is asked the same:
    /// whether it is.
    pub(super) fn ask_spare(&mut self, running: &mut Compacting, outcome: &Outcome) -> bool {
        let why = match outcome {
            Outcome::Failed(why) => why,
            Outcome::Deadline => "it did not answer in time",
            Outcome::Answered(_) => return false,
        };
        let Some(spare) = running.spare.take() else { return false };
        self.trace(format!("the model for summaries failed, the main one is asked: {why}"));
        running.call = self.next_call();
        running.model = spare;
        running.draft = Draft::default();
        running.waiting.asked_again();
        running.patience = Patience::new(self.around.now, self.session.settings.model_deadline_ms);
        self.send_for_summary(running);
        true
    }
}
