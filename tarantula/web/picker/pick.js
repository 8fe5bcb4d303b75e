// Runs in a page that somebody points at, in its sealed frame, and is all that runs there: lights up what can be chosen,
// and says which element was. Whoever listens believes nothing of it but a number and a few words.
(() => {
  "use strict";
  const NUMBER = "data-tarantula";
  const STATE = "data-tarantula-state";
  const LONGEST = 10000;
  const SHOWN = 200;
  const TWICE = 500;
  const NEVER = /^(html|body)$/;
  const marks = new Map();
  let lit = null;
  let told = 0;
  let last = { element: null, part: "", at: 0 };

  const tell = (said) => window.parent.postMessage(said, "*");
  const words = (element) => (element.textContent || element.getAttribute("alt") || "").replace(/\s+/g, " ").trim();
  const size = (element) => element.getBoundingClientRect();
  const isSeen = (element) => size(element).width > 0 && size(element).height > 0;
  const canBeChosen = (element) => {
    if (!element || !element.hasAttribute(NUMBER) || NEVER.test(element.localName)) return false;
    const text = words(element);
    return text !== "" && text.length <= LONGEST;
  };
  // Nearest first: what the mouse is on, or else what is around it.
  const chosenFrom = (node) => {
    for (let element = node; element && element.parentElement; element = element.parentElement) {
      if (canBeChosen(element)) return element;
    }
    return null;
  };
  const ownText = (element) => Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
  // What is too long to be a value is not lit; whoever clicks it all the same is told why.
  const tooLong = (node) => (node.hasAttribute(NUMBER) && !NEVER.test(node.localName) && ownText(node) ? node : null);
  const stops = () => Array.from(document.querySelectorAll(`[${NUMBER}]`)).filter(
    (element) => canBeChosen(element) && isSeen(element) && ownText(element),
  );

  const show = (element) => {
    const state = element === lit ? "lit" : marks.get(element.getAttribute(NUMBER));
    if (state) element.setAttribute(STATE, state);
    else element.removeAttribute(STATE);
  };
  const light = (element) => {
    if (element === lit) return;
    const before = lit;
    lit = element;
    if (before) show(before);
    if (lit) show(lit);
    clearTimeout(told);
    told = setTimeout(() => tell({ lit: lit ? words(lit).slice(0, SHOWN) : "" }), 60);
  };
  // Whoever clicks twice means it once.
  const choose = (element, part) => {
    const now = performance.now();
    if (element === last.element && part === last.part && now - last.at < TWICE) return;
    last = { element, part, at: now };
    tell({ pick: Number(element.getAttribute(NUMBER)), part: part.slice(0, SHOWN) });
  };

  // A part of a text that was marked with the mouse is meant, if it lies within one element.
  const marked = () => {
    const selection = window.getSelection();
    const part = selection.isCollapsed ? "" : selection.toString().replace(/\s+/g, " ").trim();
    if (!part) return null;
    const around = selection.getRangeAt(0).commonAncestorContainer;
    const element = chosenFrom(around.nodeType === 1 ? around : around.parentElement);
    return element && part !== words(element) ? { element, part } : null;
  };

  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const listen = (name, act) => window.addEventListener(name, act, { capture: true });

  listen("mousemove", (event) => light(chosenFrom(event.target)));
  document.documentElement.addEventListener("mouseleave", () => light(null));
  listen("click", (event) => {
    stop(event);
    if (event.button !== 0) return;
    const part = marked();
    const element = part ? part.element : chosenFrom(event.target);
    window.getSelection().removeAllRanges();
    light(element);
    const meant = element || tooLong(event.target);
    if (meant) choose(meant, part ? part.part : "");
  });
  for (const name of ["auxclick", "submit", "dragstart", "drop"]) listen(name, stop);

  const step = (by) => {
    const all = stops();
    if (all.length === 0) return;
    const here = lit ? all.findIndex((element) => element === lit || lit.contains(element)) : -1;
    const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length;
    light(all[next]);
  };
  const widen = () => {
    const wider = lit && chosenFrom(lit.parentElement);
    if (wider) light(wider);
  };
  const narrow = () => {
    const narrower = lit && Array.from(lit.querySelectorAll(`[${NUMBER}]`)).find(canBeChosen);
    if (narrower) light(narrower);
  };
  const hide = () => {
    if (!lit) return;
    const gone = lit;
    light(null);
    gone.style.setProperty("display", "none", "important");
  };
  const KEYS = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    ArrowUp: widen,
    ArrowDown: narrow,
    Enter: () => lit && choose(lit, ""),
    " ": () => lit && choose(lit, ""),
    Delete: hide,
    Escape: () => light(null),
  };
  listen("keydown", (event) => {
    // Tab goes on to the page around, as everywhere: nobody is kept in the frame.
    if (event.ctrlKey || event.metaKey || event.altKey || !KEYS[event.key]) return;
    stop(event);
    KEYS[event.key]();
    if (lit) lit.scrollIntoView({ block: "nearest", inline: "nearest" });
  });

  window.addEventListener("message", ({ source, data }) => {
    if (source !== window.parent || !data || typeof data !== "object") return;
    const before = Array.from(marks.keys());
    marks.clear();
    for (const [state, numbers] of [["like", data.like], ["picked", data.picked]]) {
      if (Array.isArray(numbers)) numbers.slice(0, 2000).forEach((number) => marks.set(String(Number(number)), state));
    }
    for (const number of [...before, ...marks.keys()]) {
      const element = document.querySelector(`[${NUMBER}="${number}"]`);
      if (element) show(element);
    }
  });

  const sheet = new CSSStyleSheet();
  const mark = (state, colour, fill) => `
    [${NUMBER}][${STATE}="${state}"] { outline: 3px solid ${colour} !important; outline-offset: -2px !important;
      box-shadow: inset 0 0 0 999px ${fill} !important; }`;
  sheet.replaceSync(
    `* { cursor: pointer !important; }
    ${mark("like", "#b45309", "rgba(245, 158, 11, 0.18)")}
    ${mark("picked", "#15803d", "rgba(34, 197, 94, 0.25)")}
    ${mark("lit", "#1d4ed8", "rgba(59, 130, 246, 0.25)")}`,
  );
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  document.documentElement.tabIndex = 0;
  document.addEventListener("DOMContentLoaded", () => tell({ ready: 1 }));
})();
