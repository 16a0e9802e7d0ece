// A session of thousands of rounds, as messages to import.

export const ROUNDS = 5_000;

/** A request every ten rounds; a round is a call with its result. */
export function* longSession(): Generator<object> {
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round % 10 === 0) yield { role: "user", parts: [{ type: "text", text: `Question ${round / 10}` }] };
    const call = { type: "toolCall", id: `c${round}`, name: "read", arguments: JSON.stringify({ path: `file-${round}.rs` }) };
    yield { role: "assistant", parts: [{ type: "text", text: `Round ${round}: I read **file ${round}**.` }, call] };
    yield {
      role: "tool",
      parts: [{ type: "toolResult", toolCallId: `c${round}`, content: [{ type: "text", text: `fn f${round}() {}` }] }],
    };
    if (round % 10 === 9) yield { role: "assistant", parts: [{ type: "text", text: `Answer ${(round - 9) / 10}.` }] };
  }
}
