// Runs in every archived page, in its sealed frame, and is all that runs there: says what is shown and which keys are
// pressed, and follows links that a sealed frame would not. Whoever listens believes nothing of it all the same.
(() => {
  "use strict";
  const KEYS = ["n", "p", "l", "m", "b", "c"];
  const OUTERMOST = window.parent === window.top;
  // "/TICKET/URN/": what is not below it is not of this item.
  const [, ticket, urn] = location.pathname.split("/");
  const begin = `${new URL(location.href).protocol}//${location.host}/${ticket}/${urn}/`;

  const tell = (said) => window.top.postMessage(said, "*");
  const inside = (address) => address.startsWith(begin);

  // A sealed frame leads no other than itself and those within it: a link for another one goes up, until it is found.
  const open = (address, target) => {
    if (!inside(address)) return;
    const name = (target || "").toLowerCase();
    const frame = Array.from(document.querySelectorAll("frame, iframe")).find((one) => target && one.name === target);
    if (frame) {
      frame.contentWindow.location = address;
    } else if (OUTERMOST || name === "_self" || !name) {
      location.href = address;
    } else {
      window.parent.postMessage({ open: address, target: name === "_parent" ? "_self" : target }, "*");
    }
  };

  // The text of the page with its spaces made one, and where each letter of it is.
  const read = () => {
    const walker = document.createTreeWalker(document.body || document.documentElement, NodeFilter.SHOW_TEXT);
    const places = [];
    let text = "";
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (/^(script|style|noscript|template)$/i.test(node.parentNode.localName)) continue;
      for (let index = 0; index < node.data.length; index += 1) {
        const letter = /\s/.test(node.data[index]) ? " " : node.data[index];
        if (letter === " " && (text === "" || text.endsWith(" "))) continue;
        text += letter;
        places.push([node, index]);
      }
    }
    return { text, places };
  };

  // Lines come in the order of the page: each is looked for after the one before.
  const mark = (lines) => {
    if (!CSS.highlights) return;
    const { text, places } = read();
    const ranges = [];
    let from = 0;
    for (const line of lines) {
      const start = text.indexOf(line, from);
      if (start < 0 || !line) continue;
      from = start + line.length;
      const range = new Range();
      range.setStart(...places[start]);
      range.setEnd(places[from - 1][0], places[from - 1][1] + 1);
      ranges.push(range);
    }
    CSS.highlights.set("tarantula", new Highlight(...ranges));
  };
  const sheet = new CSSStyleSheet();
  sheet.replaceSync("::highlight(tarantula) { background-color: #ffe58a; color: #000 }");
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];

  const isChild = (source) => Array.from(window.frames).includes(source);
  window.addEventListener("message", ({ source, data }) => {
    if (!data) return;
    if (isChild(source) && typeof data.open === "string") open(data.open, String(data.target));
    if (source === window.parent && Array.isArray(data.mark)) mark(data.mark);
  });

  window.addEventListener("click", (event) => {
    const link = event.composedPath().find((node) => node.href && /^(a|area)$/i.test(node.localName));
    if (!link || event.defaultPrevented || event.button !== 0) return;
    const address = String(link.href.baseVal === undefined ? link.href : new URL(link.href.baseVal, document.baseURI));
    if (/^https?:/.test(address) && !inside(address)) {
      event.preventDefault();
      tell({ leads: address });
      return;
    }
    const base = document.querySelector("base[target]");
    const target = link.getAttribute("target") || (base && base.target);
    if (target && inside(address)) {
      event.preventDefault();
      open(address, target);
    }
  });

  window.addEventListener("keydown", (event) => {
    const typing = event.target.isContentEditable || /^(input|textarea|select)$/i.test(event.target.localName);
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS.includes(event.key)) tell({ key: event.key });
  });

  // What a page has for browsers that run no scripts is what it has for us.
  window.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll("noscript")) {
      element.insertAdjacentHTML("afterend", element.textContent);
    }
  });

  if (OUTERMOST) {
    window.addEventListener("pageshow", () => tell({ place: location.pathname.split("/").slice(3).join("/") }));
  }
})();
