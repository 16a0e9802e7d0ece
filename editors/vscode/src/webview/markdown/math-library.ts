// The bundle that draws math. Its size is that of the panel's other code together, and most answers have none.

import temml from "temml";

globalThis.threadholdMath = {
  draw(source, into, isBlock) {
    temml.render(source, into, { displayMode: isBlock, throwOnError: true, trust: false, maxSize: [20, 20] });
  },
};
