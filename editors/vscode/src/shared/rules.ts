// Approval rules: where each comes from and which calls it covers, in words; and what the page of rules and its host tell each
// other. Imports no editor, no document, no protocol of the sidecar.

import { beginningsIn } from "./beginning.ts";

/** Calls that are always allowed or always rejected, as the sidecar keeps them. */
export interface ApprovalRule {
  tool: string;
  /** Absent for all calls of the tool. */
  pattern?: string;
  rejected?: boolean;
}

export type Policy = "allow" | "ask" | "deny";
export type PolicyKind = "read" | "edit" | "run" | "editor";

/** Where a rule is kept that can be added and removed: with the folder, or until the session is closed. */
export type RulePlace = "folder" | "session";

/** Everything that the page shows. */
export interface RulesView {
  policies: { kind: PolicyKind; policy: Policy }[];
  /** Missing where no folder is open. */
  folder?: { name: string; rules: ApprovalRule[] };
  /** Missing where no session is open here. */
  session?: { title: string; rules: ApprovalRule[] };
  /** Tools of which a rule can be added. */
  tools: { name: string; isCommand: boolean }[];
  /** What the mode of the session forbids, whatever is allowed. */
  mode?: string;
  /** What came of a change, in the first view after it. */
  outcome?: RulesOutcome;
}

/** A change that was made, or why it was not; without a change, why the rules cannot be listed. */
export interface RulesOutcome {
  of?: RulesAction["type"];
  fault?: string;
}

/** From the page to its host. */
export type RulesAction =
  | { type: "ready" }
  | { type: "policy"; kind: PolicyKind; policy: Policy }
  | { type: "add"; to: RulePlace; rule: ApprovalRule }
  | { type: "remove"; from: RulePlace; rule: ApprovalRule };

/** The tool of a rule, without the definition of the server that it is bound to. */
export function toolOf({ tool }: ApprovalRule): { name: string; isOfServer: boolean } {
  const [name = tool, ...origin] = tool.split("@");
  return { name, isOfServer: origin.length > 0 };
}

/** Which calls a rule covers: in words, with the text that they are compared with. */
export function callsOf({ pattern }: ApprovalRule): { words: string; text?: string } {
  if (pattern === undefined) return { words: "All calls" };
  const beginning = beginningsIn(pattern);
  if (beginning !== undefined) return { words: "Commands beginning with", text: pattern.slice(pattern.indexOf("=") + 1) };
  if (!pattern.startsWith("=")) return { words: "Calls whose argument matches", text: pattern };
  const command = commandIn(pattern.slice(1));
  return command === undefined
    ? { words: "Exactly these arguments", text: pattern.slice(1) }
    : { words: "Exactly this command", text: command };
}

/** What a rule allows or rejects, in a sentence. */
export function effectOf(rule: ApprovalRule): string {
  const { pattern, rejected } = rule;
  const verb = rejected === true ? "Rejects" : "Allows";
  if (pattern === undefined) return `${verb} every call of ${toolOf(rule).name}, with any arguments.`;
  const beginning = beginningsIn(pattern);
  if (beginning === undefined)
    return pattern.startsWith("=") ? `${verb} exactly this call.` : `${verb} calls with this argument; * stands for any characters.`;
  return rejected === true
    ? `Rejects every line in which a command begins with ${beginning}.`
    : `Allows commands that begin with ${beginning}, with any further arguments. A line is allowed if all of its commands are, and asked about if it could run anything else.`;
}

/** The rule for commands that begin with these words, or for exactly this command. */
export function commandRule(tool: string, how: "beginning" | "exact", text: string, rejected: boolean): ApprovalRule {
  const pattern = how === "beginning" ? `command^=${text.trim()}` : `=${JSON.stringify({ command: text })}`;
  return { tool, pattern, ...(rejected && { rejected }) };
}

/** The command in arguments that have nothing else. */
function commandIn(given: string): string | undefined {
  try {
    const { command, ...others } = JSON.parse(given) as { command?: unknown };
    return typeof command === "string" && Object.keys(others).length === 0 ? command : undefined;
  } catch {
    return undefined;
  }
}
