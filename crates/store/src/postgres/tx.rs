//! Statements, sent together: a round trip has as many as are known by then.

use super::fault::{Done, Fault};
use super::value::Value;
use futures_util::future::poll_fn;
use futures_util::{FutureExt, StreamExt, pin_mut};
use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;
use tokio::time::timeout;
use tokio_postgres::{Client, Row};

/// The longest wait for the answers of a round trip.
const ANSWERED_WITHIN: Duration = Duration::from_secs(60);

/// Counts of a store's exchange with the server since it was opened.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Waits for answers.
    pub trips: u64,
    /// Statements.
    pub statements: u64,
    /// Rows received.
    pub rows: u64,
    /// Bytes of statements and their parameters, about.
    pub sent: u64,
}

/// A statement with its parameters; without any it may be several, separated by semicolons.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Statement {
    sql: Cow<'static, str>,
    values: Vec<Value>,
    is_batch: bool,
}

impl Statement {
    pub fn new(sql: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Self {
        Self { sql: sql.into(), values, is_batch: false }
    }

    /// Statements without parameters and rows.
    pub fn batch(sql: impl Into<Cow<'static, str>>) -> Self {
        Self { sql: sql.into(), values: Vec::new(), is_batch: true }
    }

    fn size(&self) -> u64 {
        (self.sql.len() + self.values.iter().map(Value::size).sum::<usize>()) as u64
    }

    async fn run(&self, client: &Client) -> Result<Vec<Row>, tokio_postgres::Error> {
        if self.is_batch {
            return client.batch_execute(&self.sql).await.map(|()| Vec::new());
        }
        let values: Vec<_> = self.values.iter().map(Value::bound).collect();
        let rows = client.query_typed_raw(&self.sql, values).await?;
        pin_mut!(rows);
        let mut found = Vec::new();
        while let Some(row) = rows.next().await {
            found.push(row?);
        }
        Ok(found)
    }
}

/// An open connection.
#[derive(Debug)]
pub(super) struct Db {
    pub client: Client,
    /// `true` between a transaction's begin and its end.
    pub is_in_transaction: bool,
}

impl Db {
    /// Sends statements together and waits for their answers: one round trip. Returns the rows of each, or the first
    /// error; those behind it were not refused by it, unless a transaction is open.
    pub async fn trip(&mut self, statements: &[Statement], traffic: &mut Traffic) -> Done<Vec<Vec<Row>>> {
        traffic.trips += 1;
        traffic.statements += statements.len() as u64;
        traffic.sent += statements.iter().map(Statement::size).sum::<u64>();
        let answers = timeout(ANSWERED_WITHIN, together(&self.client, statements)).await;
        let answers = answers
            .map_err(|_| Fault::Unavailable(format!("no answer in {} s", ANSWERED_WITHIN.as_secs())))?;
        let rows: Vec<Vec<Row>> = answers.into_iter().collect::<Result<_, _>>()?;
        traffic.rows += rows.iter().map(Vec::len).sum::<usize>() as u64;
        Ok(rows)
    }

    /// Sends statements without rows, and does not wait for the answer.
    pub fn send(&mut self, sql: &str, traffic: &mut Traffic) {
        traffic.statements += 1;
        traffic.sent += sql.len() as u64;
        // The first poll sends it; the connection drops answers that nobody waits for.
        let _ = self.client.batch_execute(sql).now_or_never();
    }
}

type Answer = Result<Vec<Row>, tokio_postgres::Error>;

/// Runs statements without waiting in between: each is sent when its future is polled first.
async fn together(client: &Client, statements: &[Statement]) -> Vec<Answer> {
    enum Running<'a> {
        Waiting(Pin<Box<dyn Future<Output = Answer> + Send + 'a>>),
        Done(Answer),
    }
    let mut running: Vec<Running<'_>> =
        statements.iter().map(|statement| Running::Waiting(Box::pin(statement.run(client)))).collect();
    // Answers come in order, so the first that waits is the one to wait for.
    let (mut sent, mut first) = (0, 0);
    poll_fn(|context| {
        loop {
            let at = if sent < running.len() { sent } else { first };
            let Some(one) = running.get_mut(at) else { return Poll::Ready(()) };
            if let Running::Waiting(future) = one {
                match future.as_mut().poll(context) {
                    Poll::Ready(answer) => *one = Running::Done(answer),
                    Poll::Pending if at == first && sent >= statements.len() => return Poll::Pending,
                    Poll::Pending => {}
                }
            }
            if sent < statements.len() {
                sent += 1;
            } else {
                first += 1;
            }
        }
    })
    .await;
    let answer = |one| match one {
        Running::Done(answer) => Some(answer),
        Running::Waiting(_) => None,
    };
    running.into_iter().filter_map(answer).collect()
}

/// A transaction. What is written is collected, and sent with what is asked next or with the commit.
#[derive(Debug)]
pub(super) struct Tx<'a> {
    pub db: &'a mut Db,
    pub traffic: &'a mut Traffic,
    pub tenant: &'a str,
    waiting: Vec<Statement>,
}

impl<'a> Tx<'a> {
    pub fn new(db: &'a mut Db, traffic: &'a mut Traffic, tenant: &'a str, begin: Vec<Statement>) -> Self {
        Self { db, traffic, tenant, waiting: begin }
    }

    /// A statement whose first parameter is the tenant.
    pub fn of_tenant(&self, sql: impl Into<Cow<'static, str>>, mut values: Vec<Value>) -> Statement {
        values.insert(0, self.tenant.into());
        Statement::new(sql, values)
    }

    /// Writes with what is sent next. The first parameter is the tenant.
    pub fn push(&mut self, sql: impl Into<Cow<'static, str>>, values: Vec<Value>) {
        let statement = self.of_tenant(sql, values);
        self.waiting.push(statement);
    }

    /// A point to go back to, as long as nothing is sent.
    pub fn mark(&self) -> (u64, usize) {
        (self.traffic.trips, self.waiting.len())
    }

    /// Drops what was written since a mark. Returns `false` if it was sent.
    pub fn drop_behind(&mut self, (trips, waiting): (u64, usize)) -> bool {
        let waits = self.traffic.trips == trips;
        if waits {
            self.waiting.truncate(waiting);
        }
        waits
    }

    /// Sends what waits, and asks. The first parameter is the tenant.
    pub async fn query(&mut self, sql: impl Into<Cow<'static, str>>, values: Vec<Value>) -> Done<Vec<Row>> {
        let statement = self.of_tenant(sql, values);
        Ok(self.queries(vec![statement]).await?.pop().unwrap_or_default())
    }

    /// Sends what waits, and asks all of this in one round trip.
    pub async fn queries(&mut self, statements: Vec<Statement>) -> Done<Vec<Vec<Row>>> {
        let before = self.waiting.len();
        self.waiting.extend(statements);
        let all = std::mem::take(&mut self.waiting);
        self.db.is_in_transaction = true;
        let mut rows = self.db.trip(&all, self.traffic).await?;
        Ok(rows.split_off(before))
    }

    /// Sends what waits, and commits. Returns the rows of the last statement before that.
    pub async fn end(mut self) -> Done<Vec<Row>> {
        self.waiting.push(Statement::batch("COMMIT"));
        self.db.is_in_transaction = true;
        let mut rows = self.db.trip(&self.waiting, self.traffic).await?;
        self.db.is_in_transaction = false;
        rows.pop();
        Ok(rows.pop().unwrap_or_default())
    }

    /// Ends a transaction that only read, without waiting for the answer.
    pub fn finish(self) {
        if self.db.is_in_transaction {
            self.db.send("COMMIT", self.traffic);
            self.db.is_in_transaction = false;
        }
    }
}
