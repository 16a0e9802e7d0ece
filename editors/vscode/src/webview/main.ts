// The panel's drawing: takes what the host tells and draws it, at most once per frame of the screen; tells the host what
// the user does. It keeps no state of a session: closed and opened again, it asks for everything anew. What is told of
// another page or another session is not drawn.

import "./style.css";
import { type HostMessage, PageChannel, type PageMessage } from "../shared/envelope.ts";
import type { AnswerRow, Button, CallRow, Frame, LateStorage, NoticeRow, Row, ServerConsent, ToPanel } from "../shared/view.ts";
import { visible } from "../shared/visible.ts";
import { ChangesView } from "./changes.ts";
import { Composer, type PageState } from "./composer.ts";
import { type PanelContext, SessionState } from "./context.ts";
import { Decisions } from "./decisions.ts";
import { button, el, iconButton } from "./dom.ts";
import { beginTyping } from "./form.ts";
import { VirtualList } from "./list.ts";
import { CodeColoring } from "./markdown/code-colors.ts";
import { followed } from "./markdown/markdown.ts";
import { MeterView } from "./meter.ts";
import { drawPart } from "./part.ts";
import { callKey, drawCall } from "./rows/call.ts";
import { drawCallGroup, groupKey } from "./rows/call-group.ts";
import { drawCompaction } from "./rows/compaction.ts";
import { drawCompactionGroup, stackKey } from "./rows/compaction-group.ts";
import { drawEarlier } from "./rows/earlier.ts";
import { type DrawnAnswer, drawAnswer, drawUser } from "./rows/message.ts";
import { drawNotice } from "./rows/notice.ts";
import { drawLiveOutput } from "./rows/output.ts";
import { drawRewind } from "./rows/rewind.ts";
import { SessionsView } from "./sessions.ts";
import { TodosView } from "./todos.ts";

declare function acquireVsCodeApi(): { postMessage(done: PageMessage): void } & PageState;
const host = acquireVsCodeApi();
const end = new PageChannel(crypto.getRandomValues(new Uint32Array(4)).join("-"));

/** View state by session: forks share messages, and so row ids. */
const sessionsKept = new Map<string, SessionState>();
let kept = new SessionState();

const panel: PanelContext = {
  post: (action) => {
    host.postMessage(end.seal(action));
    if (action.type === "earlier") setReading(true);
    // Whoever asks wants to see what comes.
    if (action.type === "send" || action.type === "rewindWith") list.toEnd();
  },
  get open() {
    return kept.open;
  },
  get typed() {
    return kept.typed;
  },
  get chosen() {
    return kept.chosen;
  },
  get originals() {
    return kept.originals;
  },
  get outputs() {
    return kept.outputs;
  },
  get results() {
    return kept.results;
  },
  redraw: (id) => list.redraw(rowShowing(id)),
  copy: (text) => panel.post({ type: "copy", text }),
  apply: (text, path) => panel.post({ type: "apply", text, ...(path !== undefined && { path }) }),
  insert: (text) => panel.post({ type: "insert", text }),
  insertNew: (text, language) => panel.post({ type: "insertNew", text, language }),
  coloring: new CodeColoring((piece) => panel.post({ type: "highlight", ...piece })),
};

/** Answers that are being written, where they are drawn. */
const answers = new Map<string, DrawnAnswer>();

const title = el("h1", {});
const activity = el("span", { class: "activity", role: "status", aria: { live: "polite" } });
const header = el(
  "header",
  {},
  iconButton("Show Sessions", "list", () => panel.post({ type: "listSessions", query: "", more: false }), "sessions"),
  title,
  activity,
);
/** A place for each sentence above the conversation, so that a new one leaves the others alone. */
const places = { sidecar: el("div", {}), server: el("div", {}), held: el("div", {}), warning: el("div", {}), said: el("div", {}) };
const notices = el("div", { class: "notices" }, ...Object.values(places));
const feed = el("main", { class: "feed", tabIndex: 0, aria: { label: "Conversation", busy: false } });
const isEarlier = (id: string): boolean => id === "earlier";
const list = new VirtualList<Row>(feed, drawRow, isEarlier);
const toEnd = button("Scroll to Bottom", () => list.toEnd(), { class: "to-end" });
toEnd.hidden = true;
list.onFollow = (follows) => {
  toEnd.hidden = follows;
};
const rowOf = (callId: string): CallRow | undefined =>
  list.items.find((row): row is CallRow => row.kind === "call" && row.callId === callId);
const decisions = new Decisions(panel, rowOf, (callId) => list.reveal(`call ${callId}`, true));
const sessions = new SessionsView(panel);
const meter = new MeterView(panel);
const composer = new Composer(panel, () => meter.show(), host);
const changes = new ChangesView(panel, () => composer.focus());
const todos = new TodosView();
const FIRST_WORDS =
  "Sessions are saved. When the prompt nears the model's context window, earlier rounds are summarized. A card shows " +
  "each compaction, which you can undo.";
const noModel = el(
  "div",
  { class: "no-model" },
  el("p", {}, "No model is set up yet: choose one of the editor's, or set up one of your own."),
  button("Choose or Set Up Model…", () => panel.post({ type: "selectModel" }), { class: "primary" }),
);
noModel.hidden = true;
const empty = el("div", { class: "empty" }, el("p", {}, "Ask about this folder."), noModel, el("p", { class: "note" }, FIRST_WORDS));
const middle = el("div", { class: "middle" }, empty, feed, toEnd);
const below = [decisions, todos, changes, meter, composer].map(({ element }) => element);
document.body.append(header, sessions.element, notices, middle, ...below);

function drawRow(row: Row): HTMLElement {
  switch (row.kind) {
    case "earlier":
      return drawEarlier(panel, row);
    case "user":
      return drawUser(panel, row);
    case "answer": {
      const drawn = drawAnswer(panel, row);
      if (row.streaming) answers.set(row.id, drawn);
      else answers.delete(row.id);
      return drawn.element;
    }
    case "call":
      return drawCall(panel, row);
    case "calls":
      return drawCallGroup(panel, row);
    case "compaction":
      return drawCompaction(panel, row);
    case "compactions":
      return drawCompactionGroup(panel, row);
    case "rewind":
      return drawRewind(panel, row);
    case "notice":
      return drawNotice(panel, row);
  }
}

function drawFrame(frame: Frame): void {
  title.textContent = frame.title;
  activity.textContent = frame.activity;
  document.body.classList.toggle("busy", frame.busy);
  drawNotices(frame);
  noModel.hidden = frame.model !== undefined;
  decisions.draw(frame);
  sessions.draw(frame);
  todos.draw(frame);
  changes.draw(frame);
  meter.draw(frame);
  composer.draw(frame);
}

function drawNotices({ sidecar, server, heldBy, warning, notice }: Frame): void {
  const none: Notice | undefined =
    sidecar.state === "none" ? { level: "error", text: sidecar.title, detail: sidecar.text, actions: sidecar.actions } : undefined;
  const held: Notice | undefined = heldBy && {
    level: "info",
    text: `This session is in use in another window (process ${heldBy.pid}). It is read-only here.`,
    actions: [{ label: "Take Over Here", action: { type: "takeOver" } }],
  };
  const actions: Notice["actions"] = [
    { label: "Compact Conversation…", action: { type: "compact" } },
    { label: "Dismiss", action: { type: "dismissWarning" } },
  ];
  const late = sidecar.state === "ready" && sidecar.storage !== undefined ? lateNotice(sidecar.storage) : undefined;
  drawPlace("sidecar", none ?? late);
  drawPlace("server", server && consentNotice(server));
  drawPlace("held", held);
  drawPlace("warning", warning === undefined ? undefined : { level: "warning", text: warning, actions });
  drawPlace("said", notice);
}

function consentNotice({ name, definition, file, details }: ServerConsent): Notice {
  const decide = (label: string, decision: "allow" | "deny"): Button => ({
    label,
    action: { type: "decideServer", name, definition, decision },
  });
  return {
    level: "info",
    text: `${visible(file)} defines the tool server ${visible(name)}. It starts only if you allow it.`,
    // Each by itself: none can pretend to be two.
    detail: details.map(visible).join("\n"),
    actions: [decide("Allow Server", "allow"), decide("Deny Server", "deny")],
  };
}

function lateNotice({ state, fault }: LateStorage): Notice {
  const text =
    state === "waiting"
      ? "The database cannot be reached. The turn goes on; what was said is stored once the database is back."
      : "The database could not be reached in time. Changes are stored if it is back before the sidecar ends.";
  return { level: state === "waiting" ? "warning" : "error", text, ...(fault !== undefined && { detail: fault }), actions: [] };
}

type Notice = Omit<NoticeRow, "kind" | "id" | "rev">;

function drawPlace(place: keyof typeof places, notice: Notice | undefined): void {
  const draw = (): Node[] => (notice === undefined ? [] : [drawNotice(panel, { ...notice, kind: "notice", id: place, rev: 0 })]);
  drawPart(places[place], notice, draw);
}

// What came since the last frame of the screen is drawn together.
let waiting: HostMessage[] = [];
window.addEventListener("message", ({ data }: MessageEvent<HostMessage>) => {
  if (waiting.length === 0) requestAnimationFrame(drawWaiting);
  waiting.push(data);
});

function drawWaiting(): void {
  const told = waiting;
  waiting = [];
  for (const envelope of told) {
    const what = end.take(envelope);
    if (what === "dropped") continue;
    if (what !== "more") begin(what === "other session");
    for (const message of envelope.messages) take(message);
    empty.hidden = list.items.length > 0;
  }
  panel.post({ type: "drawn" });
}

/** Rows are told anew; those of another session are gone at once, with what could be done in them. */
function begin(isOther: boolean): void {
  list.begin(isOther);
  composer.begin(end.session);
  if (!isOther) return;
  answers.clear();
  kept = sessionsKept.get(end.session) ?? new SessionState();
  sessionsKept.set(end.session, kept);
}

function take(message: ToPanel): void {
  switch (message.type) {
    case "frame":
      drawFrame(message.frame);
      setReading(false);
      break;
    case "picture":
      composer.takePicture(message.id, message.source);
      break;
    case "rows":
      putRows(message);
      setReading(false);
      // A question waits for the user, wherever they look.
      for (const { kind, id } of message.rows) if (kind === "rewind") list.reveal(id, true);
      break;
    case "append": {
      // The row too, for it may be drawn later, once it is scrolled to.
      const row = list.items.findLast((row): row is AnswerRow => row.kind === "answer" && row.id === message.id);
      if (row === undefined) break;
      row.text += message.text;
      row.reasoning += message.reasoning;
      if (list.elementOf(message.id) !== undefined) answers.get(message.id)?.append(message.text, message.reasoning);
      list.grew();
      break;
    }
    case "mentions":
      composer.offer(message.query, message.items);
      break;
    case "tools":
      composer.offerTools(message.query, message.items);
      break;
    case "prompts":
      composer.takePrompts(message.items);
      break;
    case "draft":
      composer.show(message.text, message.sent);
      break;
    case "typed":
      composer.follow(message.text, message.sessionId);
      break;
    case "unsent":
      composer.takeBack(message.text);
      break;
    case "covered": {
      const { compactionId, originals, before } = message;
      // Those before what is there, or all of it anew.
      const ids = new Set(originals.map(({ messageId }) => messageId));
      const behind = (panel.originals.get(compactionId)?.messages ?? []).filter(({ messageId }) => !ids.has(messageId));
      panel.originals.set(compactionId, { messages: [...originals, ...behind], ...(before !== undefined && { before }) });
      panel.redraw(`compaction ${compactionId}`);
      break;
    }
    case "wholeResult":
      panel.results.set(message.callId, message.text);
      panel.redraw(`call ${message.callId}`);
      break;
    case "output":
      panel.outputs.set(message.callId, message.text);
      if (!drawLiveOutput(panel, message.callId)) panel.redraw(`call ${message.callId}`);
      list.grew();
      break;
    case "colors":
      panel.coloring.take(message.block, message.at, message.colors);
      break;
    case "recolor":
      panel.coloring.restart();
      break;
    case "editing":
      beginTyping(panel, `user ${message.messageId}`, "edit", message.text);
      break;
    case "reveal": {
      const row = list.items.find((row) => isOf(row, message.of));
      if (row === undefined) break;
      unfold(row, message.of);
      list.reveal(row.id, true);
      markFound(list.elementOf(row.id));
      break;
    }
    case "focus":
      composer.focus();
      break;
  }
}

/** Marks a row while it has the focus, also where the mouse led to it. */
function markFound(row: HTMLElement | undefined): void {
  row?.classList.add("found");
  row?.addEventListener("blur", () => row.classList.remove("found"), { once: true });
}

/** Says whether earlier messages are being read; what is said of that they could not be is in the frame. */
function setReading(isReading: boolean): void {
  feed.setAttribute("aria-busy", String(isReading));
}

/** Puts rows in. The focus goes with the reader from what stood for earlier ones, which moves away, to the row behind it. */
function putRows({ at, remove, rows }: Extract<ToPanel, { type: "rows" }>): void {
  const [earlier, behind] = list.items;
  const hadFocus = earlier !== undefined && isEarlier(earlier.id) && list.elementOf(earlier.id)?.contains(document.activeElement) === true;
  list.splice(at, remove, rows);
  if (hadFocus && behind !== undefined) list.reveal(behind.id, true);
}

/** Rows in a row: those of a group. */
function rowsIn(row: Row): readonly Row[] {
  return row.kind === "calls" ? row.calls : row.kind === "compactions" ? row.cards : [];
}

/** Id of the row that shows a row: of its group, where it is in one. */
function rowShowing(id: string): string {
  return list.items.find((row) => rowsIn(row).some((inner) => inner.id === id))?.id ?? id;
}

/** Expands a group, and in it the call that a message belongs to. */
function unfold(group: Row, id: string): void {
  const inner = rowsIn(group).find((row) => isOf(row, id));
  if (inner === undefined) return;
  if (group.kind === "calls") panel.open.add(groupKey(group));
  if (group.kind === "compactions") panel.open.add(stackKey(group));
  if (inner.kind === "call") panel.open.add(callKey(inner));
  list.redraw(group.id);
}

/** True if a message, or the result that it is, stands in a row. */
function isOf(row: Row, id: string): boolean {
  if (rowsIn(row).some((inner) => isOf(inner, id))) return true;
  if (row.kind === "compaction") return row.compactionId === id;
  if (row.kind === "call" && row.result?.messageId === id) return true;
  return "messageId" in row && row.messageId === id;
}

function follow(event: MouseEvent | KeyboardEvent): void {
  const href = followed(event);
  if (href === undefined) return;
  event.preventDefault();
  panel.post({ type: "open", href });
}
document.addEventListener("click", follow);
document.addEventListener("keydown", follow);

window.addEventListener("focus", () => panel.post({ type: "focused", on: true }));
window.addEventListener("blur", () => panel.post({ type: "focused", on: false }));

panel.post({ type: "ready" });
if (document.hasFocus()) panel.post({ type: "focused", on: true });
