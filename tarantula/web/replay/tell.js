// The only script that runs in an archived page, in its sandboxed frame: reports the page shown and the keys pressed, and
// follows links to other frames. The receiver does not trust its messages.
(() => {
  "use strict";
  const KEYS = ["n", "p", "l", "m", "b", "c"];
  const OUTERMOST = window.parent === window.top;
  // Addresses that do not start with "/TICKET/URN/" do not belong to this item.
  const [, ticket, urn] = location.pathname.split("/");
  const prefix = `${new URL(location.href).protocol}//${location.host}/${ticket}/${urn}/`;

  const send = (message) => window.top.postMessage(message, "*");
  const inside = (address) => address.startsWith(prefix);

  // A sandboxed frame can navigate only itself and its children: a link to another frame is passed up until it is found.
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

  // The text of the page with collapsed white space, and the position of each character.
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

  // Lines are in page order: each is searched after the previous one.
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
    const written = String(link.href.baseVal === undefined ? link.href : new URL(link.href.baseVal, document.baseURI));
    // Links that lead out of a page in XML are neutral.
    const address = written.replace(/^about:blank#(?=https?:)/, "");
    if (/^https?:/.test(address) && !inside(address)) {
      event.preventDefault();
      send({ leads: address });
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
    if (!typing && !event.ctrlKey && !event.metaKey && !event.altKey && KEYS.includes(event.key)) send({ key: event.key });
  });

  // Show the content for browsers without scripts, since the page's scripts do not run.
  window.addEventListener("DOMContentLoaded", () => {
    for (const element of document.querySelectorAll("noscript")) {
      // In XML and SVG its content is elements, and its text was not checked as markup.
      if (document.contentType === "text/html" && element.namespaceURI === document.documentElement.namespaceURI) {
        element.insertAdjacentHTML("afterend", element.textContent);
      } else {
        element.after(...element.childNodes);
      }
    }
  });

  if (OUTERMOST) {
    window.addEventListener("pageshow", () => send({ place: location.pathname.split("/").slice(3).join("/") }));
  }
})();
