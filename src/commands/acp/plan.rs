//! The end of a turn in the mode `plan`: the user accepts the plan, which the agent then carries out, or keeps planning.

use super::agent::{Agent, Done, Work};
use super::option::Mode;
use super::permission::{self, PlanChoice};
use super::session::Prompt;
use agent_client_protocol_schema::v1::{CurrentModeUpdate, SessionUpdate, StopReason};
use protocol::message::Content;
use protocol::turn::TurnStatus;

/// The request that carries an accepted plan out.
const CARRY_OUT: &str = "I accept the plan. Carry it out.";

/// Plans that wait for the user.
pub(super) struct Planning<'a> {
    pub agent: &'a mut Agent,
}

impl Planning<'_> {
    /// Asks about the plan with which a turn ended, instead of answering its prompt. Gives the prompts back if there is
    /// nothing to ask.
    pub fn ask(
        &mut self,
        session: &str,
        turn: &str,
        status: TurnStatus,
        mut prompts: Vec<Prompt>,
    ) -> Vec<Prompt> {
        let Some(open) = self.agent.sessions.get(session) else { return prompts };
        let ends_well = status == TurnStatus::Completed && open.reason(status) == Some(StopReason::EndTurn);
        let plan = open.view.answer();
        // A prompt that waits is the user's answer to the plan.
        if open.mode != Mode::Plan || !ends_well || !open.prompts.is_empty() || !is_plan(plan) {
            return prompts;
        }
        let Some(prompt) = prompts.pop() else { return prompts };
        let (editor, of, turn, plan) =
            (self.agent.editor.clone(), session.to_owned(), turn.to_owned(), plan.to_owned());
        self.agent.work.begin(Work::Plan(of.clone(), prompt.request.clone()), async move {
            let choice = permission::ask_about_plan(&editor, of, &turn, plan).await;
            Done::Planned(choice, prompt, turn)
        });
        prompts
    }

    /// Goes on with the plan, or answers its prompt.
    pub async fn chosen(&mut self, session: String, choice: PlanChoice, prompt: Prompt, turn: &str) {
        let reason = match choice {
            PlanChoice::Accept => {
                if let Some(open) = self.agent.sessions.get_mut(&session) {
                    open.choose_mode(Mode::Agent);
                }
                let update = CurrentModeUpdate::new(Mode::Agent.id());
                self.agent.update(&session, [SessionUpdate::CurrentModeUpdate(update)]);
                return self.agent.start(prompt.request, session, Content::text(CARRY_OUT)).await;
            }
            PlanChoice::Keep => StopReason::EndTurn,
            PlanChoice::Cancel => StopReason::Cancelled,
        };
        self.agent.end(vec![prompt], &Ok(reason), Some(turn));
    }
}

/// `true` for a text with numbered steps, as the mode asks for.
fn is_plan(text: &str) -> bool {
    let begins = |line: &str, number: &str| {
        // Steps may be headings or bold.
        let line = line.trim_start_matches(|c: char| c.is_whitespace() || "#*-".contains(c));
        let rest = line.strip_prefix("Step ").unwrap_or(line).strip_prefix(number);
        rest.is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    };
    ["1", "2"].iter().all(|number| text.lines().any(|line| begins(line, number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_steps_are_a_plan() {
        for plan in [
            "So:\n\n1. Read a.rs\n2. Change it",
            "1) a\n  2) b",
            "## Step 1: a\n## Step 2: b",
            "**1.** a\n**2.** b",
        ] {
            assert!(is_plan(plan), "{plan}");
        }
        for other in ["", "A plan.", "Version 1.2 is out", "1. Only this", "10. a\n20. b"] {
            assert!(!is_plan(other), "{other}");
        }
    }
}
