// A provider of models on this machine, as a configured model is asked over its wire: it says what a test wants it to, and
// keeps what it was asked with. Only for tests; it listens on loopback.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

/** An answer: what was thought, then what is said, then a call with its arguments as the model wrote them. */
export interface Line {
  think?: string;
  say: string;
  call?: { name: string; arguments: string };
}

export class Provider {
  readonly #server: Server;
  readonly #lines: Line[];
  /** The keys of the requests that came, in order; of one without a key, nothing. */
  readonly keys: (string | undefined)[] = [];
  /** The bodies of these requests. */
  readonly asked: string[] = [];
  /** Keys that it rejects. */
  readonly rejected = new Set<string>();
  /** Entries of its list of models; without them it has no list. */
  models: readonly object[] | undefined;
  /** Awaited before the list. */
  listed: Promise<void> = Promise.resolve();
  /** True where it answers without a key, as a server on one's own machine does. */
  isOpen = false;
  /** Awaited between the reasoning and the text. */
  pause: Promise<void> = Promise.resolve();

  private constructor(lines: Line[]) {
    this.#lines = lines;
    this.#server = createServer((request, response) => {
      let body = "";
      request.setEncoding("utf8").on("data", (text: string) => (body += text));
      request.once("end", () => {
        const key = /^Bearer (.+)$/.exec(request.headers.authorization ?? "")?.[1];
        this.keys.push(key);
        this.asked.push(body);
        if (key === undefined ? !this.isOpen : this.rejected.has(key)) {
          response
            .writeHead(401, { "content-type": "application/json" })
            .end(JSON.stringify({ error: { message: "There is no such key." } }));
          return;
        }
        if (request.method === "GET") {
          void this.listed.then(() => {
            response.writeHead(this.models === undefined ? 404 : 200, { "content-type": "application/json" });
            response.end(JSON.stringify(this.models === undefined ? { error: { message: "Not found." } } : { data: this.models }));
          });
          return;
        }
        response.writeHead(200, { "content-type": "text/event-stream" });
        const send = (choice: object): void =>
          void response.write(`data: ${JSON.stringify({ id: "a", choices: [{ index: 0, ...choice }] })}\n\n`);
        // The check of a key is answered by itself.
        const line = body.includes("Say the word: ready") ? { say: "ready" } : this.#lines.shift();
        const { think, say, call }: Line = line ?? { say: "I have nothing more to say." };
        for (const word of (think ?? "").split(/(?<= )/)) if (word !== "") send({ delta: { reasoning_content: word } });
        void this.pause.then(() => {
          send({ delta: { content: say } });
          if (call !== undefined) send({ delta: { tool_calls: [{ index: 0, id: "c1", type: "function", function: call }] } });
          send({ delta: {}, finish_reason: call === undefined ? "stop" : "tool_calls" });
          response.end("data: [DONE]\n\n");
        });
      });
    });
  }

  static async start(lines: Line[]): Promise<Provider> {
    const provider = new Provider(lines);
    provider.#server.listen(0, "127.0.0.1");
    await once(provider.#server, "listening");
    return provider;
  }

  /** Where it is asked. */
  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  [Symbol.dispose](): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }
}
