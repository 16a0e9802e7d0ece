//! Opens connections: TLS, schema, notifications.

use super::{Shared, State};
use crate::error::StoreError;
use crate::postgres::fault::{Done, Fault};
use crate::postgres::migrate;
use crate::postgres::tx::{Db, Statement, Traffic};
use crate::postgres::value::{number, text};
use engine::text::{head, sha256_hex};
use futures_util::future::poll_fn;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls_platform_verifier::BuilderVerifierExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::sleep;
use tokio_postgres::config::SslMode;
use tokio_postgres::{AsyncMessage, Connection, NoTls};
use tokio_postgres_rustls::MakeRustlsConnect;

/// The wait before a lost connection is opened again, after the first failure and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// The channel on which commits of a tenant are told.
pub(super) fn channel_of(tenant: &str) -> String {
    format!("threadhold_{}", head(&sha256_hex(tenant.as_bytes()), 32))
}

impl Shared {
    /// Makes sure that a connection is open; waits before it if the last attempt failed.
    pub async fn connected(&self, state: &mut State) -> Done {
        if state.is_closed {
            return Err(StoreError::Closed.into());
        }
        if state.db.as_ref().is_some_and(|db| !db.client.is_closed()) {
            return Ok(());
        }
        state.db = None;
        if let Some(wait) = state.not_before.and_then(|at| at.checked_duration_since(Instant::now())) {
            sleep(wait).await;
        }
        match self.open(&mut state.traffic).await {
            Ok((db, schema)) => {
                (state.db, state.schema, state.failures, state.not_before) = (Some(db), schema, 0, None);
                // What was committed meanwhile was not heard.
                self.pulse.fetch_add(1, Ordering::AcqRel);
                Ok(())
            }
            Err(fault) => {
                let pause = FIRST_PAUSE.saturating_mul(1 << state.failures.min(8)).min(LONGEST_PAUSE);
                state.failures += 1;
                state.not_before = Some(Instant::now() + pause);
                Err(fault)
            }
        }
    }

    async fn open(&self, traffic: &mut Traffic) -> Done<(Db, u32)> {
        let config = &self.options.config;
        let began = Instant::now();
        let client = if config.get_ssl_mode() == SslMode::Disable {
            let (client, connection) = config.connect(NoTls).await?;
            self.drive(connection);
            client
        } else {
            let (client, connection) = config.connect(tls()?).await?;
            self.drive(connection);
            client
        };
        let mut db = Db { client, is_in_transaction: false };
        let about = Statement::new(ABOUT, Vec::new());
        let rows = db.trip(&[about], traffic).await?;
        let (encoding, is_pooled) = match rows.first().and_then(|rows| rows.first()) {
            Some(row) => (text(row, 0)?, Duration::from_millis(number(row, 1)?) > began.elapsed() + SLACK),
            None => return Err(Fault::Row("the server says nothing about itself".to_owned())),
        };
        if encoding != "UTF8" {
            let reason = format!("the database's encoding is {encoding}; it must be UTF8");
            return Err(StoreError::Corrupt { path: self.options.place.clone(), reason }.into());
        }
        let schema = migrate::migrate(&mut db, traffic, &self.options.place, migrate::MIGRATIONS).await?;
        let hears = self.options.hears && !is_pooled && self.listen(&mut db, traffic).await?;
        self.hears.store(hears, Ordering::Release);
        Ok((db, schema))
    }

    /// Asks to be told of commits. Returns `false` if the server cannot.
    async fn listen(&self, db: &mut Db, traffic: &mut Traffic) -> Done<bool> {
        let listen = Statement::batch(format!("LISTEN {}", self.channel));
        match db.trip(&[listen], traffic).await {
            Ok(_) => Ok(true),
            Err(fault) if !fault.is_lost() => {
                tracing::info!("the server has no notifications; what others commit is looked for");
                Ok(false)
            }
            Err(fault) => Err(fault),
        }
    }

    /// Moves the connection's bytes, and hears what others commit.
    fn drive<S, T>(&self, mut connection: Connection<S, T>)
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (channel, me, pulse) = (self.channel.clone(), self.me.id.clone(), Arc::clone(&self.pulse));
        tokio::spawn(async move {
            while let Some(message) = poll_fn(|context| connection.poll_message(context)).await {
                match message {
                    Ok(AsyncMessage::Notification(said))
                        if said.channel() == channel && said.payload() != me =>
                    {
                        pulse.fetch_add(1, Ordering::AcqRel);
                    }
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
        });
    }
}

/// The database's encoding, and the age of the server's process in milliseconds. A process that is older than the
/// connection belongs to a pooler, which gives it to others, too: notifications would go anywhere.
const ABOUT: &str = "SELECT current_setting('server_encoding'), coalesce((SELECT
         (extract(epoch FROM clock_timestamp() - backend_start) * 1000)::bigint
     FROM pg_stat_activity WHERE pid = pg_backend_pid()), 0)";

/// The difference of two ways to measure the same time.
const SLACK: Duration = Duration::from_millis(50);

/// TLS with the system's roots.
pub(in crate::postgres) fn tls() -> Done<MakeRustlsConnect> {
    let words = |error: rustls::Error| Fault::Unavailable(format!("TLS cannot be set up: {error}"));
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(words)?;
    Ok(MakeRustlsConnect::new(builder.with_platform_verifier().map_err(words)?.with_no_client_auth()))
}
