//! What waits for a session that cannot take it yet, in order.

use super::queued::Queued;
use crate::server::clock::Expired;
use session::input::{Input, ReplyTo};
use std::collections::VecDeque;

/// An item that waits for a session: for its rest, for the store to check its claims, or for a step taken elsewhere.
pub(in crate::server) enum ParkedItem {
    Item(Queued),
    Input(Box<Input>),
    /// A deadline: what comes before it in line may move it.
    Expired(Expired),
}

impl ParkedItem {
    /// The request that it is to answer.
    pub fn to(&self) -> Option<ReplyTo> {
        match self {
            Self::Item(item) => Some(item.to()),
            Self::Input(input) => match &**input {
                Input::Command(to, _) => Some(*to),
                _ => None,
            },
            Self::Expired(_) => None,
        }
    }
}

/// `true` if one of these items is to answer this request.
pub(super) fn hold(items: &VecDeque<ParkedItem>, to: ReplyTo) -> bool {
    items.iter().any(|item| item.to() == Some(to))
}
