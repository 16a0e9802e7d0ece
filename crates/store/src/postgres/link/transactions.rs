//! Transactions: repeated where that is safe, and looked for where the answer to a commit was lost.

use super::{Shared, State};
use crate::error::StoreError;
use crate::postgres::fault::{Done, Fault};
use crate::postgres::tx::{Statement, Tx};
use crate::postgres::value::{boolean, number, values};
use std::sync::Weak;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::sleep;
use uuid::Uuid;

/// How often an idle holder gives a sign of life. It counts as alive for three times as long; see [`ALIVE`].
const RENEWED_EACH: Duration = Duration::from_secs(10);

/// How often a transaction is tried that the server rolled back because of another one.
const MOST_TRIES: u32 = 5;

/// Settings of each transaction: a pooler may give each a connection of its own. The limits free the rows that a
/// transaction locks whose client is gone.
const SETTINGS: &str =
    "SET LOCAL lock_timeout = '10s'; SET LOCAL idle_in_transaction_session_timeout = '30s'";

/// Signs of life, with the commit that they are in, if any. The row comes first in a transaction: whoever looks for the
/// commit waits for its end at this row.
const ALIVE: &str =
    "INSERT INTO holders (tenant, holder, user_name, host, machine, pid, started, commits, mark, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, clock_timestamp() + interval '30 seconds')
     ON CONFLICT (tenant, holder) DO UPDATE SET commits = holders.commits + excluded.commits,
         mark = coalesce(excluded.mark, holders.mark), expires_at = excluded.expires_at";

const OTHERS: &str =
    "SELECT coalesce(sum(commits), 0)::bigint FROM holders WHERE tenant = $1 AND holder <> $2";

/// A change of which it is not known whether it was committed.
#[derive(Debug)]
pub(in crate::postgres) struct Unknown<T> {
    pub mark: String,
    /// What it returns if it was.
    pub value: T,
}

impl Shared {
    /// The statement that begins a transaction, with what holds for it alone.
    fn begin(&self, kind: &str) -> Statement {
        let tenant = &self.options.tenant;
        Statement::batch(format!("BEGIN{kind}; SET LOCAL threadhold.tenant = '{tenant}'; {SETTINGS}"))
    }

    fn alive(&self, mark: Option<&str>) -> Statement {
        let (me, options) = (&self.me, &self.options);
        let process = &me.process;
        let commits = i64::from(mark.is_some());
        let (user, host, machine) = (&options.user, &options.host, &process.machine);
        let values = values![
            &options.tenant,
            &me.id,
            user,
            host,
            machine,
            process.pid,
            process.started,
            commits,
            mark
        ];
        Statement::new(ALIVE, values)
    }

    /// Tells other stores of a commit, after it: a transaction with a notification excludes all others of the database
    /// while it waits for the disk. This one does not wait, and nobody waits for it.
    fn tell(&self, state: &mut State) {
        let (channel, me) = (&self.channel, &self.me.id);
        // Several statements sent as one are a transaction, of which an error leaves nothing open.
        let tell = format!("SET LOCAL synchronous_commit = off; NOTIFY {channel}, '{me}'");
        if let Some(db) = state.db.as_mut() {
            db.send(&tell, &mut state.traffic);
        }
    }

    /// A transaction on an open connection.
    async fn transaction<'a>(&'a self, state: &'a mut State, begin: Vec<Statement>) -> Done<Tx<'a>> {
        self.connected(state).await?;
        let Some(db) = state.db.as_mut() else { return Err(StoreError::Closed.into()) };
        if db.is_in_transaction {
            // Left by a call that failed or panicked.
            db.trip(&[Statement::batch("ROLLBACK")], &mut state.traffic).await?;
            db.is_in_transaction = false;
        }
        Ok(Tx::new(db, &mut state.traffic, &self.options.tenant, begin))
    }

    /// Ends a transaction that failed, and a connection on which no other can follow.
    async fn give_up(&self, state: &mut State, fault: &Fault) {
        if fault.is_lost() {
            state.db = None;
        } else if let Some(db) = state.db.as_mut().filter(|db| db.is_in_transaction) {
            match db.trip(&[Statement::batch("ROLLBACK")], &mut state.traffic).await {
                Ok(_) => db.is_in_transaction = false,
                Err(_) => state.db = None,
            }
        }
    }

    /// See [`super::Link::read`].
    pub async fn read<T>(&self, work: impl AsyncFn(&mut Tx<'_>) -> Done<T>) -> Done<T> {
        let mut state = self.state.lock().await;
        let mut tries = 0;
        loop {
            let done = self.try_read(&mut state, &work).await;
            let Err(fault) = done else { return done };
            self.give_up(&mut state, &fault).await;
            tries += 1;
            if !(fault.is_lost() && tries < 2 || fault.is_passing() && tries < MOST_TRIES) {
                return Err(fault);
            }
        }
    }

    async fn try_read<T>(&self, state: &mut State, work: &impl AsyncFn(&mut Tx<'_>) -> Done<T>) -> Done<T> {
        let begin = vec![self.begin(" ISOLATION LEVEL REPEATABLE READ READ ONLY")];
        let mut tx = self.transaction(state, begin).await?;
        let value = work(&mut tx).await?;
        tx.finish();
        Ok(value)
    }

    /// See [`super::Link::write_or_mark`].
    pub async fn write<T>(
        &self,
        work: impl AsyncFn(&mut Tx<'_>) -> Done<T>,
    ) -> Result<T, (Fault, Option<Unknown<T>>)> {
        let mut state = self.state.lock().await;
        let mut tries = 0;
        loop {
            let mark = Uuid::now_v7().to_string();
            let begin = vec![self.begin(""), self.alive(Some(&mark))];
            let mut tx = self.transaction(&mut state, begin).await.map_err(|fault| (fault, None))?;
            let (fault, value) = match work(&mut tx).await {
                Ok(value) => match tx.end().await {
                    Ok(_) => {
                        state.renewed = Some(Instant::now());
                        self.tell(&mut state);
                        return Ok(value);
                    }
                    Err(fault) => (fault, Some(value)),
                },
                Err(fault) => (fault, None),
            };
            self.give_up(&mut state, &fault).await;
            tries += 1;
            if fault.is_lost() {
                if let Some(value) = value {
                    match self.is_committed(&mut state, &mark).await {
                        Ok(true) => return Ok(value),
                        Ok(false) if tries < 2 => {}
                        Ok(false) => return Err((fault, None)),
                        Err(fault) => {
                            self.give_up(&mut state, &fault).await;
                            return Err((fault, Some(Unknown { mark, value })));
                        }
                    }
                } else if tries >= 2 {
                    return Err((fault, None));
                }
            } else if !(fault.is_passing() && tries < MOST_TRIES) {
                return Err((fault, None));
            }
        }
    }

    /// See [`super::Link::is_committed`].
    pub async fn look(&self, mark: &str) -> Done<bool> {
        let mut state = self.state.lock().await;
        let found = self.is_committed(&mut state, mark).await;
        if let Err(fault) = &found {
            self.give_up(&mut state, fault).await;
        }
        found
    }

    /// `true` if the commit with this mark was made. Waits until the server has ended its transaction.
    async fn is_committed(&self, state: &mut State, mark: &str) -> Done<bool> {
        let me = self.me.id.clone();
        let mut tx = self.transaction(state, vec![self.begin("")]).await?;
        let sql =
            "SELECT mark IS NOT DISTINCT FROM $3 FROM holders WHERE tenant = $1 AND holder = $2 FOR UPDATE";
        let rows = tx.query(sql, values![&me, mark]).await?;
        let is_committed = rows.first().map(|row| boolean(row, 0)).transpose()?.unwrap_or(false);
        tx.end().await?;
        Ok(is_committed)
    }

    /// Looks whether other stores committed anything, where the server does not tell.
    pub async fn count_others(&self) -> Done {
        let mut state = self.state.lock().await;
        self.exchange(&mut state, false, true).await
    }

    /// What an idle store has to do, in one round trip at most: a sign of life if it holds sessions and no commit gave one,
    /// and a look at what others committed if anybody asks for that. A pooler may lose what the server tells.
    pub async fn idle(&self) -> Done {
        let mut state = self.state.lock().await;
        let Some(renewed) = state.renewed.filter(|_| !state.is_closed) else { return Ok(()) };
        let is_due = renewed.elapsed() >= RENEWED_EACH && !self.held().is_empty();
        let is_asked = self.is_asked.swap(false, Ordering::AcqRel) && self.hears.load(Ordering::Acquire);
        match is_due || is_asked {
            true => self.exchange(&mut state, is_due, is_asked).await,
            false => Ok(()),
        }
    }

    /// Gives a sign of life, counts the commits of others, or both.
    async fn exchange(&self, state: &mut State, lives: bool, counts: bool) -> Done {
        let exchanged = self.try_exchange(state, lives, counts).await;
        if let Err(fault) = &exchanged {
            self.give_up(state, fault).await;
        }
        exchanged
    }

    async fn try_exchange(&self, state: &mut State, lives: bool, counts: bool) -> Done {
        let mut begin = vec![self.begin(if lives { "" } else { " READ ONLY" })];
        if lives {
            // A store that is away for a while is not committed to: it does not matter when this sign is on disk.
            begin.extend([Statement::batch("SET LOCAL synchronous_commit = off"), self.alive(None)]);
        }
        let mut tx = self.transaction(state, begin).await?;
        if counts {
            tx.push(OTHERS, values![&self.me.id]);
        }
        let rows = tx.end().await?;
        if lives {
            state.renewed = Some(Instant::now());
        }
        if counts {
            let counted = rows.first().map(|row| number(row, 0)).transpose()?.unwrap_or_default();
            // What was committed before the first count may not have been heard.
            if state.others.replace(counted) != Some(counted) {
                self.pulse.fetch_add(1, Ordering::AcqRel);
            }
        }
        Ok(())
    }

    /// Removes the row in `holders`, if a connection is open.
    pub async fn leave(&self) -> Done {
        let mut state = self.state.lock().await;
        if state.db.as_ref().is_none_or(|db| db.client.is_closed()) {
            return Ok(());
        }
        let me = self.me.id.clone();
        let mut tx = self.transaction(&mut state, vec![self.begin("")]).await?;
        tx.push("DELETE FROM holders WHERE tenant = $1 AND holder = $2", values![me]);
        let left = tx.end().await;
        state.db = None;
        left.map(drop)
    }
}

/// Does what is due while the store is idle.
pub(super) async fn renew(shared: Weak<Shared>) {
    loop {
        sleep(RENEWED_EACH).await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(fault) = shared.idle().await {
            let error = fault.at(&shared.options.place);
            tracing::info!(%error, "the store's sign of life was not written");
        }
    }
}
