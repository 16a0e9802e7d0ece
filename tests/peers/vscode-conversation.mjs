// The conversation of VS Code with Copilot that the corpus has, as `chatreplay` exports it: what the editor sent, what the
// model answered, and the results of its tools.
import { readFileSync } from "node:fs";
import { join } from "node:path";

const CORPUS = process.env.THREADHOLD_CORPUS;

/** Options of tests over the corpus. */
export const overCorpus = CORPUS ? {} : { skip: "THREADHOLD_CORPUS is not set" };

const [SYSTEM, USER, ASSISTANT, TOOL] = [0, 1, 2, 3];
const parts = ({ content }) => content.filter(({ type }) => type === 1).map(({ text }) => ({ type: "text", text }));
const text = (message) =>
  parts(message)
    .map(({ text }) => text)
    .join("");

/** System text, tools, and the turns: the request, the model's answers and the results of its calls. */
export function conversation() {
  const file = join(CORPUS, "transcripts", "vscode-copilot.chatreplay.json");
  const requests = JSON.parse(readFileSync(file, "utf8")).prompts.flatMap(({ logs }) => logs.filter(({ kind }) => kind === "request"));
  const last = requests.at(-1);
  const messages = last.requestMessages.messages;
  const turns = [];
  for (const [at, message] of messages.entries()) {
    // The editor sends what it knows of the workspace as a message before the first request.
    if (message.role === USER && messages[at - 1].role === USER) turns.at(-1).content.push(...parts(message));
    else if (message.role === USER) turns.push({ content: parts(message), answers: [], results: [] });
    else if (message.role === ASSISTANT) {
      const [call] = (message.toolCalls ?? []).map(({ function: { name, arguments: args } }) => ({ name, arguments: args }));
      turns.at(-1).answers.push({ say: text(message), ...(call && { call }) });
    } else if (message.role === TOOL) turns.at(-1).results.push(text(message));
  }
  turns.at(-1).answers.push({ say: last.response.message.join("") });
  const tools = last.metadata.tools.map(({ function: { name, description, parameters } }) => ({
    name,
    description,
    inputSchema: parameters,
  }));
  return { system: text(messages.find(({ role }) => role === SYSTEM)), tools, turns };
}
