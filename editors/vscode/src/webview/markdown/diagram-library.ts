// The bundle that draws diagrams. It is several times the panel's other code together, and most answers have none.

import mermaid, { type MermaidConfig } from "mermaid";
import type { DiagramColors } from "./diagram.ts";

/** Lines from box to box; the library takes time for each. */
const MOST_EDGES = 150;

/** What no source may set. */
const OURS = [
  "secure",
  "securityLevel",
  "startOnLoad",
  "suppressErrorRendering",
  "maxEdges",
  "maxTextSize",
  "htmlLabels",
  "flowchart",
  // Its colours and fonts are the theme's.
  "theme",
  "themeVariables",
  "themeCSS",
  "fontFamily",
  "darkMode",
];

let drawn = 0;

globalThis.threadholdDiagrams = {
  async draw(source, colors) {
    mermaid.initialize(configuration(colors));
    const place = document.createElement("div");
    place.className = "diagram-place";
    document.body.append(place);
    drawn += 1;
    try {
      const { svg } = await styled(() => mermaid.render(`diagram${drawn}`, source, place));
      return svg;
    } finally {
      place.remove();
    }
  },
};

function configuration({ isDark, font, background, surface, text, line, border }: DiagramColors): MermaidConfig {
  return {
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    maxEdges: MOST_EDGES,
    secure: OURS,
    // In a picture there is no HTML.
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    gantt: { useWidth: 600 },
    fontFamily: font,
    fontSize: 13,
    theme: isDark ? "dark" : "neutral",
    themeVariables: {
      darkMode: isDark,
      fontFamily: font,
      fontSize: "13px",
      background,
      textColor: text,
      titleColor: text,
      lineColor: line,
      arrowheadColor: line,
      defaultLinkColor: line,
      primaryColor: surface,
      primaryTextColor: text,
      primaryBorderColor: border,
      mainBkg: surface,
      nodeBorder: border,
      nodeTextColor: text,
      clusterBkg: background,
      clusterBorder: border,
      edgeLabelBackground: background,
      actorBkg: surface,
      actorBorder: border,
      actorTextColor: text,
      actorLineColor: border,
      signalColor: line,
      signalTextColor: text,
      labelBoxBkgColor: surface,
      labelBoxBorderColor: border,
      labelTextColor: text,
      loopTextColor: text,
      noteBkgColor: surface,
      noteBorderColor: border,
      noteTextColor: text,
      sequenceNumberColor: background,
      classText: text,
      stateBkg: surface,
      stateLabelColor: text,
      compositeBackground: background,
      compositeTitleBackground: surface,
      compositeBorder: border,
      transitionColor: line,
      transitionLabelColor: text,
      attributeBackgroundColorOdd: background,
      attributeBackgroundColorEven: surface,
      pieTitleTextColor: text,
      pieLegendTextColor: text,
      relationColor: line,
      relationLabelColor: text,
      relationLabelBackground: background,
    },
  };
}

/**
 * Has styles hold while text is measured. The page's policy refuses those that stand in elements and attributes; it takes the
 * same ones from the object model.
 */
async function styled<Of>(run: () => Promise<Of>): Promise<Of> {
  const sheet = new CSSStyleSheet();
  const { createElement } = document;
  const { setAttribute } = Element.prototype;
  document.adoptedStyleSheets.push(sheet);
  document.createElement = (name: string, options?: ElementCreationOptions): HTMLElement => {
    const made = createElement.call(document, name, options);
    if (name === "style") {
      Object.defineProperty(made, "innerHTML", {
        set(rules: string) {
          sheet.replaceSync(rules);
          made.textContent = rules;
        },
      });
    }
    return made;
  };
  Element.prototype.setAttribute = function (name: string, value: string): void {
    if (name === "style" && (this instanceof SVGElement || this instanceof HTMLElement)) this.style.cssText = value;
    else setAttribute.call(this, name, value);
  };
  try {
    return await run();
  } finally {
    Element.prototype.setAttribute = setAttribute;
    document.createElement = createElement;
    document.adoptedStyleSheets.splice(document.adoptedStyleSheets.indexOf(sheet), 1);
  }
}
