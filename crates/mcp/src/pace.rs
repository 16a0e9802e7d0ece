//! The rate at which messages of a server are taken: those beyond it wait, because the reader of the protocol keeps each
//! until it is handled.

use rmcp::model::JsonRpcMessage;
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use std::time::Duration;
use tokio::time::{Instant, sleep_until};

/// Requests of a server that pass at once, and how many more in a second.
pub(crate) const REQUESTS: (u32, u32) = (500, 50);
/// Notifications of a server that pass at once, and how many more in a second.
pub(crate) const NOTIFICATIONS: (u32, u32) = (10_000, 1000);

/// A number of messages that may pass; it grows with time up to a limit.
pub(crate) struct Allowance {
    most: u32,
    per_second: u32,
    left: u32,
    since: Instant,
}

impl Allowance {
    pub fn new((most, per_second): (u32, u32)) -> Self {
        Self { most, per_second, left: most, since: Instant::now() }
    }

    /// Waits until a message may pass. Cancel safe.
    pub async fn take(&mut self) {
        let step = Duration::from_secs(1) / self.per_second;
        let earned = self.since.elapsed().as_nanos() / step.as_nanos().max(1);
        match u32::try_from(earned) {
            Ok(earned) if earned < self.most => {
                self.since += step * earned;
                self.left = self.left.saturating_add(earned).min(self.most);
            }
            _ => (self.since, self.left) = (Instant::now(), self.most),
        }
        match self.left.checked_sub(1) {
            Some(left) => self.left = left,
            None => {
                sleep_until(self.since + step).await;
                self.since += step;
            }
        }
    }
}

/// A transport whose requests and notifications are taken at this rate.
pub(crate) struct Paced<T> {
    inner: T,
    /// The message that waits.
    held: Option<RxJsonRpcMessage<RoleClient>>,
    requests: Allowance,
    notifications: Allowance,
}

impl<T> Paced<T> {
    pub fn new(inner: T) -> Self {
        let (requests, notifications) = (Allowance::new(REQUESTS), Allowance::new(NOTIFICATIONS));
        Self { inner, held: None, requests, notifications }
    }
}

impl<T: Transport<RoleClient>> Transport<RoleClient> for Paced<T> {
    type Error = T::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        // Kept while it waits, because the reader may stop waiting and come again.
        if self.held.is_none() {
            self.held = self.inner.receive().await;
        }
        match &self.held {
            Some(JsonRpcMessage::Request(_)) => self.requests.take().await,
            Some(JsonRpcMessage::Notification(_)) => self.notifications.take().await,
            _ => {}
        }
        self.held.take()
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;
    use tokio::time::timeout;

    /// A server that sends the same message without end.
    struct Endless(&'static str);

    impl Transport<RoleClient> for Endless {
        type Error = Infallible;

        #[expect(clippy::manual_async_fn, reason = "the future must not borrow the transport")]
        fn send(
            &mut self,
            _: TxJsonRpcMessage<RoleClient>,
        ) -> impl Future<Output = Result<(), Infallible>> + Send + 'static {
            async { Ok(()) }
        }

        async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
            Some(serde_json::from_str(self.0).unwrap())
        }

        async fn close(&mut self) -> Result<(), Infallible> {
            Ok(())
        }
    }

    /// The number of messages that are taken within two seconds, though the reader often stops waiting.
    async fn taken(message: &'static str) -> u32 {
        let (mut paced, begin, mut taken) = (Paced::new(Endless(message)), Instant::now(), 0);
        while begin.elapsed() < Duration::from_secs(2) && taken < 100_000 {
            let received = timeout(Duration::from_millis(3), paced.receive()).await;
            taken += u32::from(received.is_ok_and(|message| message.is_some()));
        }
        taken
    }

    #[tokio::test(start_paused = true)]
    async fn messages_beyond_the_rate_wait_and_answers_do_not() {
        let near = |taken: u32, (most, per_second): (u32, u32)| {
            assert!((most + per_second..=most + 2 * per_second + 1).contains(&taken), "{taken}");
        };
        near(taken(r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#).await, REQUESTS);
        near(taken(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).await, NOTIFICATIONS);
        assert_eq!(taken(r#"{"jsonrpc":"2.0","id":1,"result":{}}"#).await, 100_000);
    }
}
