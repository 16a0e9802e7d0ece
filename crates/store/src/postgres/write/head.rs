//! The row of a session; revisions and branches, which begin with rows of their session.

use super::blobs::{self, put};
use super::compactions::{place_of, sum_up};
use super::known::{self, Known, Wanted};
use super::segments::{self, EVERYTHING};
use super::{SessionWriter, of};
use crate::blob::Blob;
use crate::postgres::fault::{Done, refused};
use crate::postgres::read::revisions::IS_THERE;
use crate::postgres::shared;
use crate::postgres::value::values;
use crate::row::{millis, word};
use engine::id::SessionId;
use session::stored::{Head, Inherited, Origin, Revision, Write};

/// The content that a session's row refers to.
pub(super) fn prefix(head: &Head) -> serde_json::Result<Blob> {
    Ok(Blob::new(serde_json::to_string(&head.prefix)?))
}

const COLUMNS: &str =
    "workspace, title, driver, kind, parent, work_scope, generation, cuts, settings, prefix, created_at,
     title_from, origin, waits";

/// Inserts or changes the row of a session.
pub(super) fn write(writer: &mut SessionWriter<'_, '_>, head: &Head) -> Done {
    let id = head.id.as_str();
    let json = |error: serde_json::Error| refused(&head.id, error.to_string());
    let prefix = prefix(head).map_err(json)?;
    let settings = serde_json::to_string(&head.settings).map_err(json)?;
    let carried = serde_json::to_string(&head.carried).map_err(json)?;
    put(writer, &prefix);
    let mut values = values![
        id,
        &head.workspace,
        head.title.as_deref(),
        word(&head.driver),
        head.kind.as_deref(),
        head.parent.as_ref().map(SessionId::as_str),
        head.work_scope.as_deref(),
        head.generation.0,
        head.cuts,
        settings,
        &prefix.hash,
        millis(head.created_at),
        head.title_from.as_ref().map(word).as_deref(),
        word(&head.origin),
        head.waits,
    ];
    match writer.known.get_mut(&head.id) {
        Some(known) => {
            let before = std::mem::replace(&mut known.prefix, prefix.hash.clone());
            if known.workspace != head.workspace {
                known.scopes = None;
            }
            (known.workspace, known.parent) =
                (head.workspace.clone(), head.parent.as_ref().map(|parent| parent.as_str().to_owned()));
            let new = "$3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16";
            writer.tx.push(
                format!(
                    "UPDATE chat_sessions SET ({COLUMNS}) = ({new}) WHERE tenant = $1 AND id = $2
                     AND ({COLUMNS}) IS DISTINCT FROM ({new})"
                ),
                values,
            );
            if before != prefix.hash {
                blobs::drop_unused(writer, &[before]);
            }
        }
        None => {
            let is_free = writer.free.contains(&head.id);
            let segment = segments::create(writer.tx, &head.id, id, is_free);
            values.push(segment.as_str().into());
            writer.tx.push(
                format!(
                    "INSERT INTO chat_sessions (tenant, id, {COLUMNS}, segment)
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
                ),
                values,
            );
            let mut known = Known::new(&head.id, &head.workspace, (segment, id.to_owned()));
            known.prefix = prefix.hash;
            writer.known.insert(head.id.clone(), known);
        }
    }
    let state = head.carried.state.as_ref().map(word);
    writer.tx.push(
        "INSERT INTO chat_activity AS a
             (tenant, session, workspace, updated_at, accepted, carried, state, works, used, left_behind)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (tenant, session) DO UPDATE SET workspace = excluded.workspace, updated_at = excluded.updated_at,
             accepted = excluded.accepted, carried = excluded.carried, state = excluded.state, works = excluded.works,
             used = excluded.used, left_behind = excluded.left_behind
         WHERE (a.workspace, a.updated_at, a.accepted, a.carried, a.left_behind) IS DISTINCT FROM
             (excluded.workspace, excluded.updated_at, excluded.accepted, excluded.carried, excluded.left_behind)",
        values![
            id,
            &head.workspace,
            millis(head.updated_at),
            head.accepted,
            carried,
            state.as_deref(),
            head.carried.works,
            head.carried.used(),
            head.is_left_behind(),
        ],
    );
    Ok(())
}

/// Fails if a session that is to be made exists.
async fn is_free(writer: &mut SessionWriter<'_, '_>, session: &SessionId, to: &SessionId) -> Done {
    let is_known = writer.known.contains_key(to);
    let asked = of(&mut writer.known, session)?.made.get(to.as_str()).copied();
    let is_there = match asked {
        _ if is_known => true,
        Some(is_there) => is_there,
        None => !writer.tx.query(IS_THERE, values![to.as_str()]).await?.is_empty(),
    };
    if is_there {
        return Err(refused(session, format!("session {to} exists already")));
    }
    Ok(())
}

/// Keeps a session as it stands as a revision, with the rows that it has.
pub(super) async fn keep(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    revision: &Revision,
) -> Done {
    let Revision { id, cause, at, words } = revision;
    is_free(writer, session, id).await?;
    writer.write_counts();
    let known = of(&mut writer.known, session)?;
    let segment = segments::create(writer.tx, id, &known.named, false);
    let mut kept = Known::new(id, &known.workspace, (segment.clone(), known.named.clone()));
    (kept.is_revision, kept.parent) = (true, Some(session.as_str().to_owned()));
    // Nobody lists the summary of a revision.
    const ALIKE: &str = "workspace, title, title_from, driver, kind, work_scope, generation, cuts, settings, prefix, \
                         created_at, first_request, first_request_ord";
    writer.tx.push(
        format!(
            "INSERT INTO chat_sessions
                 (tenant, id, parent, origin, revision_cause, revised_at, revision_words, segment, {ALIKE})
             SELECT tenant, $3, id, $4, $5, $6, $7, $8, {ALIKE} FROM chat_sessions WHERE tenant = $1 AND id = $2"
        ),
        values![
            session.as_str(),
            id.as_str(),
            word(&Origin::Revision),
            word(cause),
            millis(*at),
            words.as_deref(),
            segment,
        ],
    );
    writer.tx.push(
        "INSERT INTO chat_activity
             (tenant, session, workspace, updated_at, messages, turns, accepted, left_behind, is_revision)
         SELECT tenant, $3, workspace, updated_at, messages, turns, accepted, true, true FROM chat_activity
         WHERE tenant = $1 AND session = $2",
        values![session.as_str(), id.as_str()],
    );
    writer.known.insert(id.clone(), kept);
    segments::share(writer, session, id, EVERYTHING)?;
    copy_scope(writer, session, id).await
}

/// Copies a session's own scope to its revision or branch.
async fn copy_scope(writer: &mut SessionWriter<'_, '_>, session: &SessionId, to: &SessionId) -> Done {
    let known = of(&mut writer.known, session)?;
    let (own, there) = match &known.scopes {
        Some(scopes) if known.made.contains_key(to.as_str()) => {
            let scope = |name: &str| scopes.get(name).cloned().unwrap_or_default();
            (scope(session.as_str()), scope(to.as_str()))
        }
        _ => shared::pair(writer.tx, &known.workspace, session.as_str(), to.as_str()).await?,
    };
    shared::copy(writer.tx, &known.workspace, own, (to.as_str(), there))
}

pub(super) async fn branch(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    (to, inherited): (&SessionId, &Inherited),
    writes: &[Write],
) -> Done {
    is_free(writer, session, to).await?;
    let Some((begin @ Write::Head(_), rest)) = writes.split_first() else {
        return Err(refused(session, format!("the branch {to} does not begin with its head")));
    };
    writer.apply(to, begin).await?;
    inherit(writer, session, to, (inherited, rest)).await?;
    for write in rest {
        writer.apply(to, write).await?;
    }
    copy_scope(writer, session, to).await
}

/// Gives a new branch what it has of its session. `rest` are the branch's own writes behind that.
async fn inherit(
    writer: &mut SessionWriter<'_, '_>,
    session: &SessionId,
    to: &SessionId,
    (inherited, rest): (&Inherited, &[Write]),
) -> Done {
    let records = match &inherited.compactions {
        Some(last) => match place_of(writer, session, last).await? {
            Some(record) => record.n + 1,
            None => {
                // A damaged row: the branch can be summarized anew.
                tracing::warn!(%session, %to, record = %last, "a branch does without the records of its session");
                0
            }
        },
        None => 0,
    };
    segments::share(writer, session, to, [inherited.messages.0, inherited.turns, records])?;
    let mut wanted = Wanted::default();
    wanted.add(rest);
    let mut asked = vec![segments::edited(writer.tx, to)];
    asked.extend(known::ask(writer.tx, to, &wanted));
    let mut answers = writer.tx.queries(asked).await?.into_iter();
    let edited = answers.next().unwrap_or_default();
    if let Ok(known) = Known::read(to, &wanted, &mut answers)? {
        let before = writer.known.insert(to.clone(), known);
        of(&mut writer.known, to)?.change = before.map(|before| before.change).unwrap_or_default();
    }
    segments::forget_versions(writer, to, &edited).await?;
    segments::count(writer.tx, to, '+', [0, 0]);
    writer.tx.push(
        "UPDATE chat_sessions s SET first_request = f.first_request, first_request_ord = f.first_request_ord
         FROM chat_sessions f WHERE f.tenant = $1 AND f.id = $2 AND f.first_request_ord < $4
             AND s.tenant = $1 AND s.id = $3",
        values![session.as_str(), to.as_str(), inherited.messages.0],
    );
    let first = of(&mut writer.known, session)?.first_request.filter(|ord| *ord < inherited.messages.0);
    of(&mut writer.known, to)?.first_request = first;
    sum_up(writer, to)
}
