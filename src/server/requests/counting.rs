//! Counts of the texts that a large request brings, made before it is carried out.

use super::{Ask, Edit, Session, Tasking, render, session};
use crate::convert::{self, Reading};
use engine::message::{Body, NewMessage};
use engine::tokens::TokenCount;
use protocol::message::Content;
use protocol::turn::Turn;

/// Counts the messages of a request. What cannot be read is reported when the request is carried out.
pub(in crate::server) fn count_ahead(ask: &Ask, counter: &dyn TokenCount) {
    let bodies: Vec<Body> = match ask {
        Ask::Session(Session::StartTurn(params)) => match session::start_turn(params.clone()) {
            Ok(start) => vec![Body::User(start.content)],
            Err(_) => Vec::new(),
        },
        Ask::Session(Session::Open(params)) => history(params.history.as_deref()),
        Ask::Session(Session::AppendRound(params)) => {
            bodies(convert::round(&mut Reading::new(), &params.round).unwrap_or_default())
        }
        Ask::Session(Session::Render(params)) => match render::render(params.clone()) {
            Ok(render) => {
                let turns = render.history.into_iter().flatten().chain(render.current);
                turns.flat_map(|turn| bodies(turn.messages)).collect()
            }
            Err(_) => Vec::new(),
        },
        Ask::Edit(Edit::Retry(params)) => params.content.iter().flat_map(user).collect(),
        Ask::Edit(Edit::Update(params)) => user(&params.content).into_iter().collect(),
        Ask::Tasking(Tasking::Start(params)) => user(&params.content).into_iter().collect(),
        _ => Vec::new(),
    };
    count_all(bodies.iter(), counter);
}

/// Counts messages. Of a result no more is counted than its limit takes, which the session knows.
pub(in crate::server) fn count_all<'a>(bodies: impl Iterator<Item = &'a Body>, counter: &dyn TokenCount) {
    for body in bodies.filter(|body| !matches!(body, Body::Tool(_))) {
        body.tokens(counter);
    }
}

fn history(turns: Option<&[Turn]>) -> Vec<Body> {
    let read = convert::history(&mut Reading::new(), turns.unwrap_or_default()).unwrap_or_default();
    read.into_iter().flat_map(|turn| bodies(turn.messages)).collect()
}

fn bodies(messages: Vec<NewMessage>) -> Vec<Body> {
    messages.into_iter().map(|message| message.body).collect()
}

fn user(content: &Content) -> Option<Body> {
    Reading::new().content(content).ok().map(Body::User)
}
