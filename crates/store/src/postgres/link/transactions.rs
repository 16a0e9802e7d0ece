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

    /// See [`super::Link::write`].
    pub async fn write<T>(&self, work: impl AsyncFn(&mut Tx<'_>) -> Done<T>) -> Done<T> {
        let mut state = self.state.lock().await;
        let mut tries = 0;
        loop {
            let mark = Uuid::now_v7().to_string();
            let begin = vec![self.begin(""), self.alive(Some(&mark))];
            let mut tx = self.transaction(&mut state, begin).await?;
            let (fault, value) = match work(&mut tx).await {
                Ok(value) => match tx.end().await {
                    Ok(()) => {
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
            if fault.is_lost() && tries < 2 {
                if let Some(value) = value
                    && self.is_committed(&mut state, &mark).await?
                {
                    return Ok(value);
                }
            } else if !(fault.is_passing() && tries < MOST_TRIES) {
                return Err(fault);
            }
        }
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
        let counted = match self.others(&mut state).await {
            Ok(counted) => counted,
            Err(fault) => {
                self.give_up(&mut state, &fault).await;
                return Err(fault);
            }
        };
        if state.others.replace(counted).is_some_and(|before| before != counted) {
            self.pulse.fetch_add(1, Ordering::AcqRel);
        }
        Ok(())
    }

    async fn others(&self, state: &mut State) -> Done<i64> {
        let mut tx = self.transaction(state, vec![self.begin(" READ ONLY")]).await?;
        let rows = tx.query(OTHERS, values![&self.me.id]).await?;
        tx.finish();
        Ok(rows.first().map(|row| number(row, 0)).transpose()?.unwrap_or_default())
    }

    /// Gives a sign of life, unless a commit did.
    pub async fn renewed(&self) -> Done {
        let mut state = self.state.lock().await;
        let is_fresh = state.renewed.is_some_and(|at| at.elapsed() < RENEWED_EACH);
        if is_fresh || state.renewed.is_none() || state.is_closed {
            return Ok(());
        }
        // A store that is away for a while is not committed to: it does not matter when this sign is on disk.
        let begin =
            vec![self.begin(""), Statement::batch("SET LOCAL synchronous_commit = off"), self.alive(None)];
        let tx = self.transaction(&mut state, begin).await?;
        let done = tx.end().await;
        match &done {
            Ok(()) => state.renewed = Some(Instant::now()),
            Err(fault) => self.give_up(&mut state, fault).await,
        }
        done
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
        left
    }
}

/// Gives signs of life while the store is idle.
pub(super) async fn renew(shared: Weak<Shared>) {
    loop {
        sleep(RENEWED_EACH).await;
        let Some(shared) = shared.upgrade() else { return };
        if let Err(fault) = shared.renewed().await {
            let error = fault.at(&shared.options.place);
            tracing::info!(%error, "the store's sign of life was not written");
        }
        if shared.hears.load(Ordering::Acquire)
            && shared.state.lock().await.renewed.is_some()
            && let Err(fault) = shared.count_others().await
        {
            tracing::debug!(error = %fault.at(&shared.options.place), "commits of others were not counted");
        }
    }
}
