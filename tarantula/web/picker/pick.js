// The only script that runs in a page of the picker, in its sandboxed frame: highlights selectable elements and reports
// the selected one. The receiver trusts only a number and a short text.
(() => {
  "use strict";
  const NUMBER = "data-tarantula";
  const STATE = "data-tarantula-state";
  const MAX_LENGTH = 10000;
  const MAX_SENT_LENGTH = 200;
  const DOUBLE_CLICK_MILLISECONDS = 500;
  const NOT_SELECTABLE = /^(html|body)$/;
  const marks = new Map();
  let lit = null;
  let timer = 0;
  let last = { element: null, part: "", at: 0 };

  const send = (message) => window.parent.postMessage(message, "*");
  const textOf = (element) => (element.textContent || element.getAttribute("alt") || "").replace(/\s+/g, " ").trim();
  const size = (element) => element.getBoundingClientRect();
  const isVisible = (element) => size(element).width > 0 && size(element).height > 0;
  const isSelectable = (element) => {
    if (!element || !element.hasAttribute(NUMBER) || NOT_SELECTABLE.test(element.localName)) return false;
    const text = textOf(element);
    return text !== "" && text.length <= MAX_LENGTH;
  };
  // The element under the mouse, or its closest selectable ancestor.
  const selectableAt = (node) => {
    for (let element = node; element && element.parentElement; element = element.parentElement) {
      if (isSelectable(element)) return element;
    }
    return null;
  };
  const ownText = (element) => Array.from(element.childNodes).some((node) => node.nodeType === 3 && node.data.trim());
  // Texts that are too long are not highlighted; a click on one still reports it, so that the error is shown.
  const tooLong = (node) => (node.hasAttribute(NUMBER) && !NOT_SELECTABLE.test(node.localName) && ownText(node) ? node : null);
  const stops = () => Array.from(document.querySelectorAll(`[${NUMBER}]`)).filter(
    (element) => isSelectable(element) && isVisible(element) && ownText(element),
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
    clearTimeout(timer);
    timer = setTimeout(() => send({ lit: lit ? textOf(lit).slice(0, MAX_SENT_LENGTH) : "" }), 60);
  };
  // A double click selects once.
  const select = (element, part) => {
    const now = performance.now();
    if (element === last.element && part === last.part && now - last.at < DOUBLE_CLICK_MILLISECONDS) return;
    last = { element, part, at: now };
    send({ pick: Number(element.getAttribute(NUMBER)), part: part.slice(0, MAX_SENT_LENGTH) });
  };

  // A text selection within one element selects that part of its text.
  const selectedPart = () => {
    const selection = window.getSelection();
    const part = selection.isCollapsed ? "" : selection.toString().replace(/\s+/g, " ").trim();
    if (!part) return null;
    const ancestor = selection.getRangeAt(0).commonAncestorContainer;
    const element = selectableAt(ancestor.nodeType === 1 ? ancestor : ancestor.parentElement);
    return element && part !== textOf(element) ? { element, part } : null;
  };

  const stop = (event) => {
    event.preventDefault();
    event.stopImmediatePropagation();
  };
  const listen = (name, act) => window.addEventListener(name, act, { capture: true });

  listen("mousemove", (event) => light(selectableAt(event.target)));
  document.documentElement.addEventListener("mouseleave", () => light(null));
  listen("click", (event) => {
    stop(event);
    if (event.button !== 0) return;
    const part = selectedPart();
    const element = part ? part.element : selectableAt(event.target);
    window.getSelection().removeAllRanges();
    light(element);
    const target = element || tooLong(event.target);
    if (target) select(target, part ? part.part : "");
  });
  for (const name of ["auxclick", "submit", "dragstart", "drop"]) listen(name, stop);

  const step = (by) => {
    const all = stops();
    if (all.length === 0) return;
    const current = lit ? all.findIndex((element) => element === lit || lit.contains(element)) : -1;
    const next = current < 0 ? (by > 0 ? 0 : all.length - 1) : (current + by + all.length) % all.length;
    light(all[next]);
  };
  const widen = () => {
    const wider = lit && selectableAt(lit.parentElement);
    if (wider) light(wider);
  };
  const narrow = () => {
    const narrower = lit && Array.from(lit.querySelectorAll(`[${NUMBER}]`)).find(isSelectable);
    if (narrower) light(narrower);
  };
  const hide = () => {
    if (!lit) return;
    const hidden = lit;
    light(null);
    hidden.style.setProperty("display", "none", "important");
  };
  const KEYS = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    ArrowUp: widen,
    ArrowDown: narrow,
    Enter: () => lit && select(lit, ""),
    " ": () => lit && select(lit, ""),
    Delete: hide,
    Escape: () => light(null),
  };
  listen("keydown", (event) => {
    // Tab leaves the frame as usual.
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
  document.addEventListener("DOMContentLoaded", () => send({ ready: 1 }));
})();
