//! Questions of tool servers in a chat, one after the other.

use super::{Phase, Talk};
use crate::commands::chat::form::{Filled, Form};
use protocol::tool::server::McpElicitParams;
use tower_lsp::jsonrpc::Id;

impl Talk {
    /// Asks what a tool server wants to know, behind other questions of servers.
    pub(super) fn elicit(&mut self, id: Id, params: McpElicitParams) {
        self.forms.push_back(Form::new(id, params));
        if !matches!(self.phase, Phase::Filling(_)) {
            self.next_form();
        }
    }

    pub(super) fn next_form(&mut self) {
        self.phase = match self.forms.pop_front() {
            Some(form) => {
                self.note(&form.about);
                Phase::Filling(form)
            }
            None => {
                self.display.works(None);
                Phase::Running
            }
        };
        self.is_prompted = false;
    }

    /// Takes a line of the form that is asked. Once it is filled in, the answer is sent.
    pub(super) async fn fill(&mut self, line: &str) {
        let Phase::Filling(form) = &mut self.phase else { return };
        match form.fill(line) {
            Filled::Next(Some(why)) => self.note(&why),
            Filled::Next(None) => {}
            Filled::Done(result) => {
                self.client.answer(&form.request, &result).await;
                self.next_form();
            }
        }
    }
}
