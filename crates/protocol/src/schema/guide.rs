//! The prose of the protocol's document. Tables and reference are made from the types, in `markdown`; a test reads
//! every example in here as the types read it.

pub(super) const START: &str = r#"# The protocol of threadhold

<!-- Made by `threadhold schema --format markdown` from the types beside this file and the prose in schema/guide.rs. -->

How an editor talks to the sidecar. This page is enough to write a client; the same types stand as JSON Schema in
`schema.json` and as TypeScript in `editors/client/src/protocol.ts`.

1. Start `threadhold serve` and talk JSON-RPC 2.0 over its standard input and output, framed as in the Language Server
   Protocol. Any LSP library will do. Standard error holds log lines; never parse them.
2. Send `initialize`, then `initialized`, then `session/open`.
3. Either the **sidecar runs the loop** (driver `sidecar`): send `turn/start`, answer `model/complete` and `tool/invoke`,
   show the events. Or **you run it** (driver `editor`): ask `prompt/render` for the messages to send, tell what came of it
   with `round/append` and `turn/end`.
4. Persist the `metadata` that you are given with each turn, and hand it back in `history`. That is all a session needs to
   go on with the same bytes, even where the sidecar's own store is gone.

## Frames

A header with the length of the body in bytes, an empty line, the body in UTF-8:

"#;

pub(super) const LIFE: &str = r#"
Every message has `"jsonrpc": "2.0"`. A request has an `id` (a number or a text) and gets exactly one response; a
notification has none. A body that is no JSON is answered with the id null, and the stream goes on with the next frame; so
is a body over 64 MiB, which is skipped. Names are in camelCase; ids are texts; times are ISO-8601 in UTC; a size says its
unit in its name; `seq` is a whole number below 2^53. Where a field may be missing, null is the same as missing.

**Unknown things are ignored, in both directions**: fields, kinds of parts, types of events, operations of deltas. That is how
the protocol grows; its version changes only when something breaks.

## Life cycle

| message | meaning |
|---|---|
| `initialize` | the first request. What is ours is in `initializationOptions.threadhold` and in the answer's `capabilities.experimental.threadhold`. It is answered before any history is read |
| `initialized` | a notification; from now on everything else is taken |
| `workspace/didChangeConfiguration` | new settings, under `settings.threadhold` |
| `workspace/didChangeWorkspaceFolders` | folders that come and go |
| `$/cancelRequest` | takes a request back, in both directions; it is answered with the error Cancelled |
| `$/progress`, `window/logMessage` | the sidecar reports long work under your `workDoneToken`, and what a person may want to read |
| `shutdown`, `exit` | the end: exit code 0 after `shutdown`, 1 without. The end of its input and the death of its parent end it too. Everything acknowledged is on disk in every case |

```json
{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
  "processId": 4242, "rootUri": null, "capabilities": {},
  "initializationOptions": {"threadhold": {
    "protocolVersion": 1,
    "client": {"name": "my-editor", "version": "0.1"},
    "capabilities": {"modelComplete": true, "toolInvoke": true, "requestPermission": true},
    "settings": {"model": {"name": "m", "window": 128000}}
  }}
}}
```

A version that is not known is the error UnsupportedVersion, with those that are. A client is never asked for what it did not
list in `capabilities`.

## A turn that the sidecar runs

```json
{"jsonrpc": "2.0", "id": 2, "method": "session/open", "params": {
  "workspaceFolder": "/code/parser",
  "sections": [{"name": "identity", "content": "You are a careful programmer."}],
  "tools": [{"name": "read", "kind": "read", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}}]
}}
```

```json
{"jsonrpc": "2.0", "id": 3, "method": "turn/start", "params": {"sessionId": "s", "content": "Say what is in a.txt"}}
```

The answer comes at once; what follows comes as events. The sidecar asks your model:

```json
{"jsonrpc": "2.0", "id": 7, "method": "model/complete", "params": {
  "requestId": "s/q0", "sessionId": "s", "turnId": "s/t0", "purpose": "turn",
  "messages": [
    {"role": "system", "parts": [{"type": "text", "text": "You are a careful programmer."}], "cacheBreakpoint": true},
    {"role": "user", "parts": [{"type": "text", "text": "Say what is in a.txt"}], "cacheBreakpoint": true}
  ],
  "tools": [{"name": "read", "description": "", "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}}, "kind": "read", "policy": "allow"}],
  "toolChoice": "auto", "options": {}
}}
```

Stream with as many `model/delta` as you like, then answer the request. An answer without `content` is what was streamed:

```json
{"jsonrpc": "2.0", "method": "model/delta", "params": {
  "requestId": "s/q0",
  "ops": [
    {"op": "appendContent", "text": "Let me look."},
    {"op": "setToolCalls", "toolCalls": [{"id": "c1", "name": "read", "arguments": "{\"path\":\"a.txt\"}"}]}
  ]
}}
```

```json
{"jsonrpc": "2.0", "id": 7, "result": {"stopReason": "toolUse", "usage": {"inputTokens": 60, "outputTokens": 12}}}
```

Then it has the tool run. Answer with what it said, or with `{"pending": true}` and later with `tool/result`:

```json
{"jsonrpc": "2.0", "id": 8, "method": "tool/invoke", "params": {
  "sessionId": "s", "turnId": "s/t0", "toolCallId": "c1", "name": "read", "arguments": "{\"path\":\"a.txt\"}"
}}
```

```json
{"jsonrpc": "2.0", "id": 8, "result": {"content": "hello"}}
```

This goes on until the model calls no tool. At the end `runtimeUpdated` says how the turn stands and brings its metadata.
A `model/complete` counts as failed when 60 seconds pass without a delta, a `tool/invoke` after 30 minutes; both are
settings. An answer after that is dropped.

## A turn that you run

```json
{"jsonrpc": "2.0", "id": 4, "method": "prompt/render", "params": {
  "sessionId": "s",
  "model": {"window": 128000},
  "input": {"externalId": "request-2", "content": "Use nom, not regex."},
  "rounds": [{
    "id": "round-5",
    "assistant": {"parts": [{"type": "toolCall", "id": "c2", "name": "read", "arguments": {"path": "Cargo.toml"}}]},
    "results": [{"toolCallId": "c2", "content": "[package]"}]
  }]
}}
```

The answer has `messages` and `tools` to send as they are. Where they would be over the limit, the sidecar compacts first,
with your model (`model/complete`, purpose `summary`) if it may, and without a model if it must. No tool runs twice for it:
results that you gave are kept. `metadata` is what is new: `summaries` are appended to those of the
turn, and the lists in `threadhold` are joined into one. `turn/end` gives all of the turn:

```json
{"jsonrpc": "2.0", "id": 5, "method": "turn/end", "params": {"sessionId": "s", "status": "completed"}}
```

A history is matched with the session by `externalId`, else by position and content. What is missing at its head stays; what
is missing at its tail leaves the session and is kept as a fork, which the answer names. Give `rounds` where you have them, or
`messages` for a whole turn in its order; `response` is for a client that has only the final answer.

```json
{"jsonrpc": "2.0", "id": 6, "method": "session/open", "params": {
  "workspaceFolder": "/code/parser", "sessionId": "s", "driver": "editor",
  "history": [{
    "externalId": "request-1",
    "request": "Fix the parser.",
    "rounds": [{"id": "round-1", "assistant": {"parts": "The parser is fixed."}}],
    "metadata": {"summaries": [{"toolCallRoundId": "round-1", "text": "…", "threadhold": "{…}"}]}
  }]
}}
```

## Content

Wherever you give content, a text stands for a list of one text part. The sidecar always gives lists. `arguments` of a call are
JSON text as the model wrote it; an object is taken too. `content` is taken as another name of a message's `parts`.
"#;

pub(super) const SESSIONS: &str = r#"
## What waits

While a turn runs, requests and edits wait: `turn/start`, `turn/retry`, `turn/regenerate`, `message/update`, `message/remove`
and `message/truncate` are answered at once with `itemId` and `queuedPosition`, and the ids that a request will have. They are
carried out one after the other, in their order. `queueUpdated` shows all that waits; one that cannot be carried out when its
turn comes, such as an edit of a message that is gone, is in its `failed`. At most 100 may wait in a session: one more is the
error QueueFull, and nothing of it is kept. Everything else is done at once or refused.

A request with `priority` goes before those without. While a model answers it breaks the answer off, whose text stays, and the
model is asked again with both; while tools run it enters once all calls of the round are answered. Where the queue is full it
is refused like any other and breaks nothing off.

```json
{"jsonrpc": "2.0", "id": 9, "method": "turn/start", "params": {
  "sessionId": "s", "content": "Only the lexer, please.", "priority": true, "idempotencyKey": "7f0c"
}}
```

`turn/cancel` stops what runs. What the user saw stays, calls without a result are answered as cancelled, and what waits goes
on, unless `cancelQueued` says otherwise; then it is given back in `removed`. `queue/remove` takes one out.

```json
{"jsonrpc": "2.0", "id": 10, "method": "turn/cancel", "params": {"sessionId": "s", "cancelQueued": true}}
```

A command with an `idempotencyKey` that is among the last 1,000 accepted ones of its session is answered as that one was, and
nothing happens, also after a restart: send again whatever you have no answer to. After a restart nothing goes on by itself.
What waits is in the snapshot, and follows the next thing that the client has done: a request, a decision, a result.

## Rewinds and forks

`message/update` gives a message other words, `message/remove` takes it out with what belongs to it (a request with its turn,
an answer with its results), `message/truncate` cuts everything from it on off, `turn/retry` does that and has the model answer
again, with the same request or other words, `turn/regenerate` does so for the newest answer, `session/reset` begins a new chat
under the same id. Name a message by its id or by its index among those that you see.

```json
{"jsonrpc": "2.0", "id": 11, "method": "turn/retry", "params": {
  "sessionId": "s", "fromMessageId": "s/m4", "content": "Write two tests."
}}
```

None of them loses anything: the session as it stood is kept under another id, which the answer names as `fork`. It is in
`session/list` with the origin `rewind` and its `parentId`, and `session/open` goes on with it. Only `session/delete` destroys,
and it takes the copies along that rewinds of the session left behind; a copy that somebody went on in stays, and a branch
made by `session/fork`. A summary that stands for something that changed is out of force at once (`compactionUpdated`, phase `voided`).

`session/fork` leaves the session alone and makes a branch of it, up to a message or whole, with ids of its own. A summary
comes along where all that it stands for does.

```json
{"jsonrpc": "2.0", "id": 12, "method": "session/fork", "params": {"sessionId": "s", "upToMessageId": "s/m3", "title": "With nom"}}
```

## Approvals

A tool has a `policy`: `allow`, `ask` or `deny`. Its `rules` look at the arguments, and the strictest that matches takes the
policy's place. Arguments that are no JSON are asked about. Where a call of a round needs a decision, nothing of the round runs
before all are decided: the state is `paused`, `pauseRequired` tells the calls and why, and `tool/requestPermission` asks if your
capabilities say so. Answer it, or send `tool/decide`, all at once or a few at a time:

```json
{"jsonrpc": "2.0", "id": 13, "method": "tool/decide", "params": {"sessionId": "s", "decisions": [
  {"toolCallId": "c1", "decision": "approve"},
  {"toolCallId": "c2", "decision": "reject", "note": "Only inside the project."},
  {"toolCallId": "c3", "decision": "approveAlways", "pattern": "command=cargo *"}
]}}
```

The model is told what was rejected, with the user's words. `approveAlways` holds for the whole folder from now on: for calls
that look like `pattern`, which names an argument; where there is none for all calls of the tool, or for those with the same
arguments where the tool runs commands. `tool/approvals` lists and revokes. A decision about a call that does
not wait is the error StaleReference, and nothing of its request is done. A pause, what was decided in it and the wait for a tool survive a restart: see `pause` and `pendingCalls` of the snapshot.

## Tools of the sidecar

With the setting `ownTools` the model is told of tools that the sidecar runs by itself: `todo`, `recall`, and those that end a
turn, `task_done`, `agent_finish`, `ask_questions`, `wait_agents`. A tool of yours of the same name takes its place. While only
these run the state is `executingTools`; with a call of yours open beside them it is `waitingIde`.

```json
{"jsonrpc": "2.0", "id": 14, "method": "session/configure", "params": {
  "sessionId": "s", "settings": {"ownTools": ["todo", "ask_questions", "task_done"]}
}}
```

A tool that ends a turn does so only if it did not fail, and the model is not asked again: `task_done` leads to `completed`,
`ask_questions` to `waitingUserInput` with the questions as a message of the kind `question` that no model sees. The user's next
message is the answer. `endsTurn` gives a tool of yours the same effect.

## Sessions in the background

A session that is opened with a `parentId` runs for another one: by itself, with a history of its own. What sessions of a folder
share has a name, the `workScope`: todos, a plan, pins, artifacts. All that are open in it are told by `threadUpdated`.

```json
{"jsonrpc": "2.0", "id": 15, "method": "session/open", "params": {
  "workspaceFolder": "/code/parser", "sessionId": "grammar", "parentId": "s", "workScope": "sprint", "kind": "agent"
}}
```

```json
{"jsonrpc": "2.0", "id": 16, "method": "scope/put", "params": {
  "sessionId": "grammar", "ifRevision": 2,
  "artifacts": [{"id": "a1", "name": "Grammar", "kind": "file", "contentRef": "grammar.pest"}]
}}
```

Each time it comes to rest, whatever the reason, its parent gets a message of the kind `process_completed` that no model sees,
with its id, its state and its last answer as JSON.

`loop/start` runs stages one after the other in one scope, each a session in the background, until what is to do is done, a stage
says so with the tool `until` names, or all stages ran often enough. `loop/updated` tells how it stands.

```json
{"jsonrpc": "2.0", "id": 17, "method": "loop/start", "params": {
  "workspaceFolder": "/code/parser", "parentId": "s", "workScope": "sprint",
  "stages": [{"content": "Plan what is to do.", "title": "Plan"}, {"content": "Do it.", "title": "Do"}], "until": {"passes": 3}
}}
```

`task/start` stores a request as a background session that waits. A process that serves its folder takes it up: `threadhold serve`
within a second or so, whichever client made it; `threadhold chat` never. Where several serve the folder, one runs it, once; one that
was begun is not begun again by itself. Its model is that of its settings, else the folder's. One of the editor's is asked by a
sidecar whose client has `modelComplete`; until there is one, the task waits. It has the sidecar's own tools (`ownTools`): a call of
another one is answered with an error. Nobody need have its session open, and it is let go when the task is over.

```json
{"jsonrpc": "2.0", "id": 40, "method": "task/start", "params": {
  "workspaceFolder": "/code/parser", "sessionId": "s", "content": "List what the grammar does not cover."
}}
```

`task/list` says how the background sessions of a session stand, as they are stored: `waiting`, `running`, `completed`, `cancelled`,
`failed`, or `interrupted` where the process that ran one is gone.
"#;

pub(super) const SETTINGS: &str = r#"
## Settings

The same settings can be set in many places; the later one wins, setting by setting, and `context/inspect` names for each
value who set it, with the file, the variable or the flag:

| place | how |
|---|---|
| the policy | `policy`, by its name or as a file; what is set by itself wins over it, wherever it is set |
| the user's file | `threadhold/config.toml` in the platform's folder for configuration (`XDG_CONFIG_HOME` or `~/.config`; `APPDATA` on Windows), or the file that `THREADHOLD_CONFIG` names; none where that is empty |
| the workspace's file | `.threadhold/config.toml` in the folder of the session; it can only lower `threshold` and `roundLimit` |
| the environment | `THREADHOLD_` with the name in capitals: `THREADHOLD_ROUND_LIMIT`, `THREADHOLD_TRIGGERS_PRE_TURN_TOKENS` |
| `initialize` | `initializationOptions.threadhold.settings` |
| `workspace/didChangeConfiguration` | `settings.threadhold` |
| the session | `session/open`, `session/configure` |
| flags | `serve --policy NAME`, `serve --set name=value`, such as `--set triggers.messages=40` |
| the request itself | such as `budget` of `prompt/render` |

Files are TOML with the names of the type `Settings` below, and open sessions follow them: what changes is a
`threadUpdated`. What cannot be used is left out, value by value, and a `window/logMessage` names file, setting and what
would be possible; what it was before stays. The same goes for `initialize` and `workspace/didChangeConfiguration`, and
for a name that no setting has: it is said with the nearest that exist. `session/open` and `session/configure` refuse a
value that cannot be used, name the field, and do nothing; unknown names are among the `diagnostics` of their answer. The
file of a policy is followed like the others: one that can no longer be used leaves what it said before, until the process
ends.

A workspace's file comes with the code, from whoever wrote that. It can only tighten: `threshold` and `roundLimit` hold where
they are lower than what would hold without the file. Everything else in it is ignored, and a `window/logMessage` names
the file and the setting. What the environment, the client or a flag sets wins over it, as it does over the user's file.

```toml
policy = "lastTurns"
roundLimit = 40
retention = { userTurns = 10 }

[triggers]
preTurnTokens = 0.7
background = false
```

Files with instructions for agents (`instructionFiles`) are read when a session is opened. What they say when a chat begins
stands in its system text until the prompt's beginning changes anyway; where a file changes, the next request of the user
brings it along, once. At most 32 KiB of them are shown, and never more tokens than an eighth of the window.
"#;

pub(super) const FILES: &str = r#"
## Sessions as files

With the setting `trajectory: "workspace"` a session is also a file of its workspace, `.threadhold/trajectories/{sessionId}.json`:
written whole at the end of each turn and whenever something changes at rest, `version` one higher each time. Its messages have
the shape of `Message` with `turnId`; what other programs keep in it, beside the messages and in each of them, stays there. A
message that cannot be read costs no other: it is set aside under `unreadable`.

What somebody changes in the file is taken in when the session is idle, and with its opening: other words under the same `id`
are changed in their place, and from where the two part the file holds. What that takes away from the session is kept in a fork,
as with every rewind. What the session said after it was last written stays. A file that says another `id` than its name, that
is no trajectory, or that lies behind a link is left as it is, and a `window/logMessage` says why.

`trajectory/list` lists the files of a folder; from then on `sessions/changed` tells what others do to them in `trajectories`
and `trajectoriesGone`. `session/import` with `chatId` or `path` makes a session of one, with its compactions;
`session/export` gives a session as JSON lines, as a trajectory, or as Markdown for people.
"#;

pub(super) const STATES: &str = r#"
## States

A session is always in one of these. `runtimeUpdated` tells when it changes.

"#;

pub(super) const ACCEPTANCE: &str = r#"
### Which command is taken when

A session takes the commands of its own driver; one of the other driver is `InvalidState`. `now`: it is carried out at once.
`queued`: it is answered with its place and carried out in its turn, what is urgent first; more than 100 are `QueueFull`.
`refused`: `InvalidState` lists what is taken, and nothing changes. At rest are `idle`, `completed`, `waitingUserInput` and
`error`. A request with `priority` interrupts an answer that is being given; between the calls of a round it waits until all
have their results.

"#;

pub(super) const EVENTS: &str = r#"
## Events

`session/event` carries `sessionId`, `stream`, `seq`, `type` and what belongs to the type. In a stream each event has the
`seq` of the one before plus one. Keep the last one that you have: drop an event that is not newer; where one is missing, or
`stream` changed, ask `session/subscribe`. A snapshot has the `seq` of the last event that is in it; so has an event of type
`snapshot`, which is taken whatever you have. Where more than 8 MiB wait for you to read them, events are not sent: when you
have read, each session that has some gets one such snapshot, and goes on from there. Changes of the list come as one then,
reports of progress and lines of the log are left out; requests and responses always come.

A normal turn: `messageAdded` (the user), `runtimeUpdated` (generating), `streamStarted`, `streamDelta`…, `streamFinished`,
`messageAdded` (same id), `runtimeUpdated`. Where a prompt is too large, `compactionUpdated` comes before `streamStarted`.

One process writes a session; others follow it, by `session/subscribe` or by `session/open` with `follow`. A follower's
snapshot names the writer in `heldBy`, and its stream is its own. It is told of what the writer commits: messages, the state,
compactions, never deltas; where more changed than events can say, a snapshot comes. `context/inspect`, `context/recall` and
`context/ledger` are answered from what the writer committed. Other commands are refused with SessionHeldElsewhere until the
writer lets the session go or is gone; then the next one goes on with it, and a snapshot opens the new stream.
`session/close` ends following.

`session/takeOver` makes a follower, or anybody, the writer at once. Where it was written before, what runs is stopped, what
was not stored is answered with SessionHeldElsewhere, `sessionTakenOver` ends the stream, and a snapshot with `heldBy` begins
another: that process follows now. It notices with its next commit, and within about a second where it has none.

```json
{"jsonrpc": "2.0", "method": "session/event", "params": {
  "sessionId": "s", "stream": "p1", "seq": 12, "type": "runtimeUpdated", "state": "executingTools", "turnId": "s/t0"
}}
```

"#;

pub(super) const ERRORS: &str = r#"
## Errors

An error has a `code`, a `message` for people that says what happened, what was kept and what to do, and `data` for programs:
always an object with `kind`.

```json
{"jsonrpc": "2.0", "id": 4, "error": {
  "code": -33002, "message": "there is no session s; nothing was done",
  "data": {"kind": "UnknownSession", "sessionId": "s"}
}}
```

"#;

pub(super) const METHODS: &str = r#"
## Methods

A small client needs the level **core** only: with the driver `editor` just `session/open`, `prompt/render`, `turn/end`. At
most 256 requests may be without an answer; the next one is the error Overloaded. Cancels, responses, `tool/result` and
`model/delta` are always read.
"#;
