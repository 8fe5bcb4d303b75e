// Tries to get out. Each attempt writes down what came of it: what is refused throws, or never comes.
// PLACES has the addresses of the site, of a server that only listens, of the management pages, and of a STUN server.
const NETWORK = PLACES.network, MANAGEMENT = location.ancestorOrigins[0] || PLACES.management;
const outcomes = window.outcomes = {};
const TIMEOUT_MILLISECONDS = 1500;
const attempt = async (name, act) => {
  try {
    const late = new Promise((resolve) => setTimeout(resolve, TIMEOUT_MILLISECONDS, "nothing came"));
    outcomes[name] = "REACHED " + String(await Promise.race([act(), late.then(() => { throw new Error("nothing") })]));
  } catch (error) { outcomes[name] = "refused: " + error.name; }
};
const loaded = (tag, attributes) => () => new Promise((resolve, reject) => {
  const element = document.createElement(tag);
  element.onload = () => resolve(tag); element.onerror = () => reject(new Error("blocked"));
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  document.body.append(element);
});
const opened = (socket) => new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
const asked = (url, method) => new Promise((resolve, reject) => {
  const request = new XMLHttpRequest();
  request.onload = () => resolve(request.status); request.onerror = () => reject(new Error("blocked"));
  request.open(method, url); request.send();
});
const linked = (rel, more) => async () => {
  const link = Object.assign(document.createElement("link"), { rel, href: NETWORK + rel, ...more });
  document.head.append(link);
  throw new Error("the server tells");
};
const clicked = (attributes) => async () => {
  const link = document.createElement("a");
  for (const [name, value] of Object.entries(attributes)) link.setAttribute(name, value);
  document.body.append(link); link.click();
  throw new Error("the server tells");
};

(async () => {
  const tries = [];
  for (const [place, url] of [["network", NETWORK], ["management", MANAGEMENT + "/"]]) {
    const socket = url.replace("http", "ws");
    tries.push(
      attempt(place + " fetch", () => fetch(url + "fetch")),
      attempt(place + " fetch without cors", () => fetch(url + "language/pt", { mode: "no-cors", credentials: "include" })),
      attempt(place + " post", () => fetch(url + "api/publications", { method: "POST", mode: "no-cors", body: "x" })),
      attempt(place + " xhr", () => asked(url + "xhr", "GET")),
      attempt(place + " xhr put", () => asked(url + "api/items", "PUT")),
      attempt(place + " websocket", () => opened(new WebSocket(socket + "_nicegui_ws/socket.io/?EIO=4&transport=websocket"))),
      attempt(place + " events", () => opened(new EventSource(url + "events"))),
      attempt(place + " beacon", async () => { navigator.sendBeacon(url + "beacon", "x"); throw new Error("the server tells"); }),
      attempt(place + " image", loaded("img", { src: url + "logout" })),
      attempt(place + " script", loaded("script", { src: url + "script.js" })),
      attempt(place + " style", loaded("link", { rel: "stylesheet", href: url + "style.css" })),
      attempt(place + " object", loaded("object", { data: url + "object" })),
      attempt(place + " embed", loaded("embed", { src: url + "embed", type: "text/html" })),
      attempt(place + " video", async () => { loaded("video", { src: url + "video" })(); throw new Error("the server tells"); }),
      attempt(place + " frame", async () => { loaded("iframe", { src: url + "frame" })(); throw new Error("the server tells"); }),
      attempt(place + " import", () => import(url + "module.js")),
      attempt(place + " worker", () => opened(new Worker(URL.createObjectURL(new Blob(["fetch('" + url + "worker')"]))))),
      attempt(place + " shared worker", () => opened(new SharedWorker(url + "shared.js"))),
      attempt(place + " font", () => new FontFace("stolen", "url(" + url + "font)").load()),
      attempt(place + " form", async () => {
        const form = document.createElement("form");
        Object.assign(form, { action: url + "form", method: "post", target: "hidden" });
        document.body.append(form); form.submit();
        throw new Error("the server tells");
      }),
      attempt(place + " window", async () => { if (!window.open(url + "popup")) throw new Error("blocked"); }),
      attempt(place + " top navigation", async () => { window.top.location.href = url + "top"; }),
      attempt(place + " parent navigation", async () => { if (window.parent === window.top) throw new Error("same"); window.parent.location = url + "parent"; }),
      attempt(place + " link to the top", clicked({ href: url + "link-top", target: "_top" })),
      attempt(place + " link to a window", clicked({ href: url + "link-blank", target: "_blank", ping: url + "ping" })),
      attempt(place + " download", clicked({ href: url + "download", download: "x" })),
    );
  }
  tries.push(
    attempt("cookies", async () => document.cookie.length),
    attempt("setting a cookie", async () => { document.cookie = "stung=1; path=/"; }),
    attempt("local storage", async () => localStorage.setItem("stung", "1")),
    attempt("session storage", async () => sessionStorage.setItem("stung", "1")),
    attempt("indexed db", async () => indexedDB.open("stung")),
    attempt("caches", () => caches.open("stung")),
    attempt("parent document", async () => window.parent.document.title),
    attempt("top document", async () => window.top.document.cookie),
    attempt("parent variable", async () => { window.parent.stung = "parent"; }),
    attempt("frame element", async () => window.frameElement.ownerDocument.title),
    attempt("document domain", async () => { document.domain = "127.0.0.1"; }),
    attempt("service worker", () => navigator.serviceWorker.register("/tell.js")),
    attempt("peer connection", async () => {
      const peer = new RTCPeerConnection({ iceServers: [{ urls: "stun:127.0.0.1:" + PLACES.stun }] });
      peer.createDataChannel("x");
      await peer.setLocalDescription(await peer.createOffer());
      throw new Error("the server tells");
    }),
    attempt("clipboard", () => navigator.clipboard.readText()),
    attempt("position", () => new Promise((resolve, reject) => navigator.geolocation.getCurrentPosition(resolve, reject))),
    attempt("preconnect", linked("preconnect", { href: PLACES.silent })),
    attempt("prefetch", linked("prefetch")),
    attempt("preload", linked("preload", { as: "image" })),
    attempt("module preload", linked("modulepreload")),
    attempt("manifest", linked("manifest")),
    attempt("icon", linked("icon")),
    attempt("prerender", linked("prerender")),
  );
  // What is said to the page around it is a stranger's word.
  const markup = "<img src=x onerror=\"window.stung='message'\">{{7*7}}";
  for (const said of [null, 7, markup, { place: markup }, { place: "copy/../../../etc/passwd" }, { place: { place: 1 } },
    { key: "Enter" }, { key: markup }, { leads: "javascript:window.stung='leads'" }, { mark: [markup] },
    { place: "copy/" + "x".repeat(100000) }, { open: NETWORK + "open", target: "_top" }, { leads: markup }]) {
    window.top.postMessage(said, "*");
  }
  await Promise.all(tries);
  document.documentElement.dataset.done = "yes";
})();
