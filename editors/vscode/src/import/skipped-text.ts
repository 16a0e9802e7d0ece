// The parts that an import skipped, as text for a narrow window.

/** Something that could not be read, and of which chat. */
export interface LeftOut {
  chat: string;
  what: string;
}

const WIDTH = 60;

/** Chat by chat, each thing in lines of its own. */
export function leftOutText(skipped: readonly LeftOut[]): string {
  const chats = [...new Set(skipped.map(({ chat }) => chat))];
  const of = (name: string): string => {
    const things = skipped.filter(({ chat }) => chat === name);
    return [...wrapped(name, "", "  "), ...things.flatMap(({ what }) => wrapped(what, "  - ", "    "))].join("\n");
  };
  const head = "Parts skipped by the import. The original chats are unchanged.";
  return `${[wrapped(head, "", "").join("\n"), ...chats.map(of)].join("\n\n")}\n`;
}

/** A text in lines that end where a word does; a word that is longer than a line is cut. */
function wrapped(text: string, first: string, next: string): string[] {
  const room = WIDTH - next.length;
  const words = text.split(/\s+/).flatMap((word) => word.match(new RegExp(`.{1,${room}}`, "gu")) ?? []);
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    if (line !== "" && line.length + 1 + word.length > room) {
      lines.push(line);
      line = "";
    }
    line += line === "" ? word : ` ${word}`;
  }
  return [...lines, line].map((words, at) => (at === 0 ? first : next) + words);
}
