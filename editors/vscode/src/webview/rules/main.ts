// Draws the page of approval rules: the settings of the user, the rules of the folder and of the session, and a form for a new
// one. It keeps nothing but what is being typed.

import "../style.css";
import "./rules.css";
import { MODES } from "../../shared/mode.ts";
import {
  type ApprovalRule,
  callsOf,
  commandRule,
  effectOf,
  type Policy,
  type PolicyKind,
  type RulePlace,
  type RulesAction,
  type RulesOutcome,
  type RulesView,
  toolOf,
} from "../../shared/rules.ts";
import { visible } from "../../shared/visible.ts";
import { button, el, iconButton } from "../dom.ts";
import { drawPart } from "../part.ts";

declare function acquireVsCodeApi(): { postMessage(action: RulesAction): void };
const host = acquireVsCodeApi();

const KINDS: Record<PolicyKind, string> = {
  read: "Read and search files",
  edit: "Edit files",
  run: "Run commands",
  editor: "Use tools of the editor and other extensions",
};
const POLICIES: Record<Policy, string> = { allow: "Allow", ask: "Ask", deny: "Deny" };
const DONE: Partial<Record<RulesAction["type"], string>> = { add: "Rule added.", remove: "Rule removed.", policy: "Setting changed." };
const PLACES: Record<RulePlace, string> = { folder: "This folder", session: "This session" };

const status = el("div", { class: "status", role: "status" });
const fault = el("div", { role: "alert" });
const mode = el("div", {});
const parts = { user: el("section", {}), folder: el("section", {}), session: el("section", {}) };
const tools = el("select", { aria: { label: "Tool" } });
const calls = el("select", { aria: { label: "Calls" } });
const text = el("textarea", { aria: { label: "Command" } });
const decision = el("select", { aria: { label: "Decision" } });
const place = el("select", { aria: { label: "Where" } });
const effect = el("p", { class: "note", aria: { live: "polite" } });
const add = button("Add Rule", () => addRule(), { class: "primary" });
text.rows = 1;

document.body.classList.add("rules");
document.body.append(
  el(
    "main",
    {},
    el("h1", {}, "Approval Rules"),
    el(
      "p",
      { class: "note" },
      "A call that a rule rejects or a setting denies does not run. Another one runs without a question if a rule or a setting allows " +
        "it; the others ask. Files of the folder cannot add rules.",
    ),
    mode,
    parts.user,
    parts.folder,
    parts.session,
    el(
      "section",
      { aria: { labelledby: "add" } },
      heading("add", "Add Rule"),
      el(
        "div",
        { class: "fields" },
        field("Tool", tools),
        field("Calls", calls),
        field("Command", text),
        field("Decision", decision),
        field("Where", place),
      ),
      effect,
      fault,
      add,
    ),
    status,
  ),
);
options(decision, [
  ["allow", "Always allow"],
  ["reject", "Always reject"],
]);
for (const input of [tools, calls, text, decision, place]) input.addEventListener("input", () => follow());
text.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || event.isComposing || event.shiftKey) return;
  event.preventDefault();
  addRule();
});

let view: RulesView | undefined;
let isFirst = true;

window.addEventListener("message", ({ data }: MessageEvent<RulesView>) => {
  view = data;
  draw(data);
});
host.postMessage({ type: "ready" });

function draw({ policies, folder, session, tools: known, mode: current, outcome }: RulesView): void {
  if (outcome !== undefined) tell(outcome);
  const name = MODES.find((one) => one.mode === current)?.name;
  const restricted = name && `The session is in ${name} mode: edits and commands do not run, whatever is allowed here.`;
  drawPart(mode, restricted, () => (restricted === undefined ? [] : [el("div", { class: "notice info" }, restricted)]));
  drawPart(parts.user, policies, () => [
    heading("user", "In All Folders"),
    ...policies.map(({ kind, policy }) => drawPolicy(kind, policy)),
  ]);
  parts.user.setAttribute("aria-labelledby", "user");
  drawRules("folder", folder && `In This Folder: ${folder.name}`, folder?.rules, "No rules. A decision under Later Calls adds one.");
  drawRules("session", session && `In This Session: ${session.title}`, session?.rules, "No rules. They end when the session is closed.");
  options(
    tools,
    known.map(({ name }) => [name, name]),
  );
  // What most rules are about.
  if (isFirst) tools.value = known.find(({ isCommand }) => isCommand)?.name ?? tools.value;
  isFirst = false;
  const places: [RulePlace, boolean][] = [
    ["folder", folder !== undefined],
    ["session", session !== undefined],
  ];
  options(
    place,
    places.filter(([, is]) => is).map(([of]) => [of, PLACES[of]]),
  );
  follow();
}

/** Says what came of a change. What was typed goes once its rule is there. */
function tell({ of, fault: why }: RulesOutcome): void {
  drawPart(fault, why, () => (why === undefined ? [] : [el("div", { class: "notice error" }, visible(why))]));
  const done = why === undefined && of !== undefined ? DONE[of] : undefined;
  if (done !== undefined) status.textContent = done;
  if (of === "add" && why === undefined) text.value = "";
}
function drawPolicy(kind: PolicyKind, policy: Policy): HTMLElement {
  const select = el("select", { aria: { label: KINDS[kind] }, data: { key: kind } });
  options(select, Object.entries(POLICIES));
  select.value = policy;
  select.addEventListener("change", () => host.postMessage({ type: "policy", kind, policy: select.value as Policy }));
  return el("div", { class: "rule" }, el("div", { class: "what" }, KINDS[kind]), el("span", { class: "from" }, "User settings"), select);
}

function drawRules(of: RulePlace, title: string | undefined, rules: readonly ApprovalRule[] | undefined, none: string): void {
  const part = parts[of];
  part.hidden = title === undefined;
  if (title === undefined || rules === undefined) return;
  part.setAttribute("aria-labelledby", of);
  const focused = document.activeElement instanceof HTMLElement && part.contains(document.activeElement);
  const at = [...part.querySelectorAll("button")].indexOf(document.activeElement as HTMLButtonElement);
  drawPart(part, [title, rules], () => [
    heading(of, visible(title)),
    ...(rules.length === 0 ? [el("p", { class: "note" }, none)] : [el("ul", {}, ...rules.map((rule) => drawRule(of, rule)))]),
  ]);
  if (!focused || part.contains(document.activeElement)) return;
  // The rule that had the focus is gone.
  const buttons = [...part.querySelectorAll("button")];
  (buttons[Math.min(at, buttons.length - 1)] ?? part.querySelector<HTMLElement>("h2"))?.focus();
}

function drawRule(of: RulePlace, rule: ApprovalRule): HTMLElement {
  const { name, isOfServer } = toolOf(rule);
  const { words, text: compared } = callsOf(rule);
  const decided = rule.rejected === true ? "Always rejected" : "Always allowed";
  const key = JSON.stringify(rule);
  const remove = (): void => host.postMessage({ type: "remove", from: of, rule });
  const spoken = `Remove Rule: ${decided}, ${visible(name)}, ${words}${compared === undefined ? "" : ` ${visible(compared)}`}, ${PLACES[of]}`;
  const cross = iconButton(spoken, "close", remove, key);
  cross.title = "Remove Rule";
  return el(
    "li",
    { class: `rule ${rule.rejected === true ? "rejected" : "allowed"}` },
    el(
      "div",
      { class: "what" },
      el("div", {}, el("strong", {}, `${decided}: `), el("code", {}, visible(name)), ` · ${words}`),
      compared !== undefined && el("pre", { tabIndex: 0, aria: { label: words } }, visible(compared)),
      el("div", { class: "note" }, visible(effectOf(rule)), isOfServer && " It ends if its tool server is defined otherwise."),
    ),
    el("span", { class: "from" }, PLACES[of]),
    cross,
  );
}

/** Has the form follow what is chosen, and say what the rule would do. */
function follow(): void {
  const known = view?.tools.find(({ name }) => name === tools.value);
  const isCommand = known?.isCommand === true;
  const kinds: [string, string][] = [["all", isCommand ? "All commands" : "All calls"]];
  options(calls, isCommand ? [["beginning", "Commands beginning with"], ["exact", "Exactly this command"], ...kinds] : kinds);
  const hasText = calls.value !== "all";
  (text.closest(".field") as HTMLElement).hidden = !hasText;
  // A session has no rejections of its own.
  const session = [...place.options].find(({ value }) => value === "session");
  if (session !== undefined) session.disabled = decision.value === "reject";
  if (place.value === "session" && decision.value === "reject") place.value = "folder";
  const rule = drafted();
  effect.textContent = rule === undefined ? "Type the words with which the commands begin, such as: cargo test" : visible(effectOf(rule));
  add.disabled = rule === undefined || place.value === "";
}

/** The rule that the form describes; undefined where words are missing. */
function drafted(): ApprovalRule | undefined {
  const rejected = decision.value === "reject";
  if (tools.value === "") return undefined;
  if (calls.value === "all") return { tool: tools.value, ...(rejected && { rejected }) };
  if (text.value.trim() === "") return undefined;
  return commandRule(tools.value, calls.value === "exact" ? "exact" : "beginning", text.value, rejected);
}

function addRule(): void {
  const rule = drafted();
  if (rule === undefined || place.value === "") return;
  host.postMessage({ type: "add", to: place.value as RulePlace, rule });
}

function heading(id: string, words: string): HTMLElement {
  const made = el("h2", { tabIndex: -1 }, words);
  made.id = id;
  return made;
}

function field(name: string, input: HTMLElement): HTMLElement {
  return el("label", { class: "field" }, el("span", {}, name), input);
}

/** Gives a list these choices; what was chosen stays, where it is among them. */
function options(select: HTMLSelectElement, choices: readonly (readonly [string, string])[]): void {
  drawPart(select, choices, () => {
    const chosen = select.value;
    const made = choices.map(([value, label]) => new Option(label, value, false, value === chosen));
    return made;
  });
}
