// A model of the editor that answers from a script, a tool of the editor that reads files, another participant: what a
// vendor of models and another extension would bring. PROBE names a folder: `script.json` has the answers, one for each
// request of a turn; `requests.jsonl` is what was asked, with whatever the editor made of it; `given.jsonl` says what the
// editor gave the participant.

import { appendFileSync, existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import * as vscode from "vscode";
import { answerAsOther } from "./other.ts";
import { reset } from "./reset.ts";
import type { Answer, Asked, Given, Script } from "./script.ts";
import { symbolProviders } from "./symbols.ts";

const FOLDER = process.env["PROBE"] ?? "";
/** Another test has models with other windows. */
const modelsChanged = new vscode.EventEmitter<void>();

export function activate(context: vscode.ExtensionContext): void {
  context.subscriptions.push(
    vscode.chat.createChatParticipant("threadhold-probe.other", (request, chat, stream, token) => {
      const given: Given = { request: there(request), context: there(chat) };
      appendFileSync(join(FOLDER, "given.jsonl"), `${JSON.stringify(given)}\n`);
      return answerAsOther(request, chat, stream, token);
    }),
    // As a link or another extension would: the address of a chat is all that is needed.
    vscode.commands.registerCommand("probe.openChat", () =>
      vscode.commands.executeCommand("vscode.open", vscode.Uri.parse(readFileSync(join(FOLDER, "open.txt"), "utf8"))),
    ),
    // As dragging them into the chat does; what is asked about them is the test's.
    vscode.commands.registerCommand("probe.attach", () => {
      const [folder] = vscode.workspace.workspaceFolders ?? [];
      if (folder === undefined) throw new Error("No folder is open.");
      const { query, paths } = JSON.parse(readFileSync(join(FOLDER, "attach.json"), "utf8")) as { query: string; paths: string[] };
      const attachFiles = paths.map((path) => vscode.Uri.joinPath(folder.uri, path));
      return vscode.commands.executeCommand("workbench.action.chat.open", { query, attachFiles });
    }),
    vscode.commands.registerCommand("probe.reset", async () => {
      modelsChanged.fire();
      await reset(join(FOLDER, "reset.json"));
    }),
    modelsChanged,
    symbolProviders(),
    vscode.lm.registerLanguageModelChatProvider("probe", provider),
    vscode.lm.registerTool("probe_list", {
      async invoke() {
        const [folder] = vscode.workspace.workspaceFolders ?? [];
        if (folder === undefined) throw new Error("No folder is open.");
        const names = (await vscode.workspace.fs.readDirectory(folder.uri)).map(([name]) => name);
        return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(names.sort().join("\n"))]);
      },
    }),
    vscode.lm.registerTool<{ path: string }>("probe_read", {
      async invoke({ input }) {
        const [folder] = vscode.workspace.workspaceFolders ?? [];
        if (folder === undefined) throw new Error("No folder is open.");
        const bytes = await vscode.workspace.fs.readFile(vscode.Uri.joinPath(folder.uri, input.path));
        return new vscode.LanguageModelToolResult([new vscode.LanguageModelTextPart(Buffer.from(bytes).toString("utf8"))]);
      },
    }),
  );
}

/** The fields of an object that have a value. */
function there(object: object): string[] {
  return Object.entries(object).flatMap(([name, value]) => (value === undefined ? [] : [name]));
}

function script(): Script {
  const path = join(FOLDER, "script.json");
  return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as Script) : { answers: [] };
}

const provider: vscode.LanguageModelChatProvider = {
  onDidChangeLanguageModelChatInformation: modelsChanged.event,

  provideLanguageModelChatInformation() {
    const { window = 16_000, large } = script();
    const model = (id: string, name: string, maxInputTokens: number): vscode.LanguageModelChatInformation => ({
      id,
      name,
      maxInputTokens,
      family: "probe",
      version: "1",
      maxOutputTokens: 4_000,
      capabilities: { toolCalling: true, imageInput: true },
    });
    return [model("scripted", "Scripted", window), ...(large === undefined ? [] : [model("large", "Scripted, large", large)])];
  },

  async provideLanguageModelChatResponse(model, messages, options, progress, token) {
    const asked: Asked = {
      model: model.id,
      messages: messages.map(({ role, content }) => ({
        role: vscode.LanguageModelChatMessageRole[role] ?? String(role),
        parts: content.map(plain),
      })),
      tools: (options.tools ?? []).map(({ name }) => name),
      toolMode: vscode.LanguageModelChatToolMode[options.toolMode] ?? String(options.toolMode),
      summary: isSummary(messages),
      tokens:
        counted(JSON.stringify(options.tools ?? [])) +
        messages.flatMap(({ content }) => content).reduce<number>((sum, part) => sum + counted(said(part)), 0),
    };
    const { answers, summary, holdSummaryWhile } = script();
    const before = pastTurns();
    appendFileSync(join(FOLDER, "requests.jsonl"), `${JSON.stringify(asked)}\n`);
    const summed: Answer = { ...(holdSummaryWhile !== undefined && { holdWhile: holdSummaryWhile }), then: summary ?? SUMMARY };
    const answer: Answer = asked.summary ? summed : (answers[before] ?? { say: "I have nothing more to say." });
    if (answer.first !== undefined) progress.report(new vscode.LanguageModelTextPart(answer.first));
    for (let count = 0; count < (answer.pieces?.count ?? 0) && !token.isCancellationRequested; count += 1) {
      progress.report(new vscode.LanguageModelTextPart(`${answer.pieces?.text ?? "word "}`));
      if (count % 100 === 99) await new Promise((done) => setTimeout(done, 50));
    }
    if (answer.say !== undefined) progress.report(new vscode.LanguageModelTextPart(answer.say));
    if (answer.fail !== undefined) throw new Error(answer.fail);
    // Held until the test says go on.
    while (answer.holdWhile !== undefined && existsSync(join(FOLDER, answer.holdWhile)) && !token.isCancellationRequested) {
      await new Promise((done) => setTimeout(done, 50));
    }
    if (answer.then !== undefined && !token.isCancellationRequested) progress.report(new vscode.LanguageModelTextPart(answer.then));
    for (const { id, name, input } of answer.calls ?? []) {
      progress.report(new vscode.LanguageModelToolCallPart(id, name, input));
    }
  },

  async provideTokenCount(_model, text) {
    return counted(typeof text === "string" ? text : text.content.map(said).join(""));
  },
};

/** How many requests of turns were answered, also before a restart. */
function pastTurns(): number {
  const path = join(FOLDER, "requests.jsonl");
  if (!existsSync(path)) return 0;
  const lines = readFileSync(path, "utf8")
    .split("\n")
    .filter((line) => line !== "");
  return lines.filter((line) => !(JSON.parse(line) as Asked).summary).length;
}

/** A request for a summary says how the summary is to be written. */
function isSummary(messages: readonly vscode.LanguageModelChatRequestMessage[]): boolean {
  const last = messages.at(-1)?.content.map(said).join("") ?? "";
  return last.includes("<summary> element");
}

const SUMMARY = `<summary>
## Goal
Understand the folder.
## Decisions
None.
## State
The files were read.
## Next steps
Answer the user.
## Open questions
None.
</summary>`;

/** As many tokens as this model finds in a text. */
function counted(text: string): number {
  return Math.ceil(text.length / 4);
}

/** Text of a part, for counting. */
function said(part: unknown): string {
  if (part instanceof vscode.LanguageModelTextPart) return part.value;
  if (part instanceof vscode.LanguageModelToolCallPart) return part.name + JSON.stringify(part.input);
  if (part instanceof vscode.LanguageModelToolResultPart) return part.content.map(said).join("");
  return "";
}

function plain(part: unknown): unknown {
  if (part instanceof vscode.LanguageModelTextPart) return { text: part.value };
  if (part instanceof vscode.LanguageModelToolCallPart) return { call: part.callId, name: part.name, input: part.input };
  if (part instanceof vscode.LanguageModelToolResultPart) return { result: part.callId, content: part.content.map(plain) };
  if (part instanceof vscode.LanguageModelDataPart) return { data: part.mimeType, bytes: part.data.length };
  return { unknown: String(part) };
}
