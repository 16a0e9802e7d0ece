//! Background sessions as the wire shows them.

use protocol::agent::Agent;
use protocol::asking_agent::AskingAgent;
use session::Session;
use session::agents;
use session::stored::Origin;

/// A background session, as its parent shows it.
pub(in crate::server) fn agent(agent: &agents::Agent) -> Agent {
    Agent {
        session_id: agent.session.as_str().to_owned(),
        name: agent.title.clone(),
        kind: agent.kind.clone(),
        state: agent.state,
        status: agent.status,
    }
}

/// A background session that asks the user; `None` for any other session.
pub(in crate::server) fn asking(session: &Session) -> Option<AskingAgent> {
    let head = session.head();
    let parent = head.parent.as_ref().filter(|_| head.origin == Origin::Background)?;
    Some(AskingAgent { name: head.title.clone(), parent_id: parent.as_str().to_owned() })
}

/// A session as its parent shows it, from the session itself.
pub(in crate::server) fn seen(session: &Session) -> agents::Agent {
    let head = session.head();
    let newest = session.newest_turn_status();
    agents::Agent {
        session: head.id.clone(),
        title: head.title.clone(),
        kind: head.kind.clone(),
        state: session.state().name(),
        status: newest,
    }
}
