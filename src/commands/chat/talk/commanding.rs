//! Lines of the user while the chat rests: messages, commands and changes of the session.

use super::{Next, Phase, Talk};
use crate::commands::chat::command::{Command, Typed, help};
use crate::commands::chat::contents;
use crate::commands::chat::opening::{self, Which};
use crate::commands::client::ClientError;
use protocol::methods::{SessionClose, TurnStart};
use protocol::session::SessionCloseParams;
use protocol::turn::TurnStartParams;

impl Talk {
    /// Handles a line.
    pub(super) async fn commanded(&mut self, line: &str) -> Next {
        match Typed::read(line) {
            None if line.is_empty() => self.rest(),
            None => {
                let meant = tokio::select! {
                    meant = contents::meant(&mut self.client, &self.about.session, line) => meant,
                    Some(()) = self.interrupts.recv() => Err(ClientError::No("(not sent)".to_owned())),
                };
                let content = match meant {
                    Ok(content) => content,
                    Err(error) => {
                        self.note(&error.to_string());
                        return Next::GoOn;
                    }
                };
                let params = TurnStartParams::new(self.about.session.clone(), content);
                self.is_begun = true;
                let number = self.client.ask::<TurnStart>(&params).await;
                self.phase = Phase::Starting(number);
                self.display.works(None);
            }
            Some(Typed::Command(command)) => match command.ask(&mut self.client, &self.about).await {
                Ok(number) => {
                    self.is_begun |= matches!(command, Command::Task(_));
                    self.phase = Phase::Commanding(number, command);
                    self.display.works(None);
                }
                Err(error) => self.note(&error.to_string()),
            },
            Some(Typed::Switch(which)) => self.switched(which).await,
            Some(Typed::Model(model)) => return Next::Again(Box::new(model.beside(self.model.as_ref()))),
            Some(Typed::Help) => self.note(&help()),
            Some(Typed::Wrong(why)) => self.note(&why),
            Some(Typed::Leave) => return Next::Leave,
        }
        Next::GoOn
    }

    /// Goes on with another session. The one before is left once the other is open.
    async fn switched(&mut self, which: Option<String>) {
        let opening = async {
            let which = match which {
                None => Which::New,
                Some(which) => Which::Named(opening::meant(&mut self.client, &self.about, &which).await?),
            };
            opening::open(&mut self.client, &self.about.folder, which, &mut self.display.screen).await
        };
        let opened = tokio::select! {
            opened = opening => opened,
            Some(()) = self.interrupts.recv() => Err(ClientError::No("(this session stays open)".to_owned())),
        };
        match opened {
            Ok((opened, _)) if opened.session_id == self.about.session => {
                self.note("(this session is open already)");
            }
            Ok((opened, model)) => {
                let session_id = self.about.session.clone();
                if let Err(error) = self.client.call::<SessionClose>(&SessionCloseParams { session_id }).await
                {
                    self.note(&error.to_string());
                }
                self.take_up(opened, &model, false).await;
            }
            Err(error) => self.note(&error.to_string()),
        }
    }
}
