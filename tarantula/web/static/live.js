// Shows the live progress of an item: the server sends its state when it changes.
// Texts of other sites are inserted as text, never as markup.

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

async function waitFor(find) {
  for (;;) {
    const found = find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

class View {
  constructor(root) {
    this.root = root;
    this.texts = JSON.parse(root.dataset.texts);
    this.numbers = new Intl.NumberFormat(this.texts.locale);
    this.moments = new Intl.DateTimeFormat(this.texts.locale, { dateStyle: "short", timeStyle: "short" });
  }

  set(name, text) {
    const place = this.root.querySelector(`[data-live="${name}"]`);
    if (place && place.textContent !== text) place.textContent = text;
  }

  show(item) {
    const number = (value) => this.numbers.format(value);
    const state = this.texts.items[item.state] ?? item.state;
    this.set("away", "");
    const pauses = item.paused_for.map((why) => this.fill(this.texts.paused, { why: this.texts.shortages[why] }));
    const notes = [...(item.stop_wanted && item.is_alive ? [this.texts.stopping] : []), ...pauses];
    this.set("state", notes.length ? `${state} (${notes.join("; ")})` : state);
    this.set("reason", this.reason(item));
    this.set("files", this.files(item));
    for (const name of ["done", "waiting", "under_way", "refused", "collectors", "per_second"]) {
      this.set(name, number(item[name]));
    }
    this.set("bytes", this.size(item.bytes));
    this.set("left", item.seconds_left === null ? "–" : this.duration(item.seconds_left));
    this.set("deadline", item.deadline ? this.moments.format(new Date(item.deadline)) : "–");
    this.set("log", item.log.join("\n"));
    this.rows("states", item.states, (one) => [this.state(one.state), number(one.documents)]);
    this.rows("servers", item.servers, (one) => [
      one.server,
      number(one.done),
      number(one.waiting),
      this.seconds(one.pause),
      one.backoff ? this.seconds(one.backoff) : "–",
      one.wait ? this.duration(one.wait) : "–",
    ]);
    this.rows("last", item.last, (one) => [
      this.state(one.state),
      this.link(one.url, `${this.root.dataset.documents}/${one.id}`),
      one.type ?? "–",
      one.size === null ? "–" : this.size(one.size),
    ]);
    this.draw(item.speed);
    for (const part of this.root.querySelectorAll("[data-states]")) {
      part.hidden = !part.dataset.states.split(" ").includes(item.state);
    }
  }

  reason(item) {
    const template = this.texts.reasons[item.reason_code];
    return template ? this.fill(template, item.reason_parameters) : (item.reason ?? "");
  }

  files(item) {
    if (item.verified_at) return this.fill(this.texts.verified, { moment: this.moments.format(new Date(item.verified_at)) });
    if (!item.read_back) return "";
    const amounts = { done: this.size(item.read_back.done), total: this.size(item.read_back.total) };
    return this.fill(item.is_alive ? this.texts.verifying : this.texts.unverified, amounts);
  }

  fill(template, values) {
    return template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
  }

  state(state) {
    return `${state} ${this.texts.states[state] ?? "HTTP"}`;
  }

  size(bytes) {
    let unit = 0;
    while (bytes >= 1000 && unit < UNITS.length - 1) [bytes, unit] = [bytes / 1000, unit + 1];
    return `${this.numbers.format(unit ? Math.round(bytes * 10) / 10 : bytes)} ${UNITS[unit]}`;
  }

  seconds(value) {
    return `${this.numbers.format(value)} s`;
  }

  duration(seconds) {
    const parts = [
      [86400, "d"],
      [3600, "h"],
      [60, "min"],
      [1, "s"],
    ];
    const first = parts.findIndex(([length]) => seconds >= length);
    if (first < 0) return "0 s";
    let left = seconds;
    const texts = [];
    for (const [length, unit] of parts.slice(first, first + 2)) {
      const count = Math.floor(left / length);
      left -= count * length;
      if (count) texts.push(`${count} ${unit}`);
    }
    return texts.join(" ");
  }

  link(text, address) {
    const link = document.createElement("a");
    link.href = address;
    link.textContent = text;
    return link;
  }

  rows(name, all, cells) {
    const body = this.root.querySelector(`[data-rows="${name}"]`);
    const shown = JSON.stringify(all);
    // Unchanged rows are kept, so that a focused link keeps the focus.
    if (!body || body.dataset.shown === shown) return;
    body.dataset.shown = shown;
    body.replaceChildren(
      ...all.map((one) => {
        const row = document.createElement("tr");
        for (const content of cells(one)) row.insertCell().append(content);
        return row;
      }),
    );
  }

  draw(speed) {
    const element = window.getElement?.(Number(this.root.dataset.chart));
    if (!element?.chart) return;
    const clock = new Intl.DateTimeFormat(this.texts.locale, { timeStyle: "medium" });
    const first = speed.last - speed.documents.length + 1;
    const seconds = speed.documents.map((_, index) => clock.format(new Date((first + index) * 1000)));
    element.chart.setOption({ xAxis: { data: seconds }, series: [{ data: speed.documents }] });
  }
}

const view = new View(await waitFor(() => document.getElementById("live")));
let source = null;

function watch() {
  source?.close();
  // EventSource reconnects by itself when the connection is lost or the stream ends.
  source = new EventSource(view.root.dataset.stream);
  source.onmessage = (message) => view.show(JSON.parse(message.data));
  source.onerror = () => view.set("away", view.texts.away);
  source.addEventListener("end", () => source.close());
}

window.addEventListener("watch-again", watch);
// Hidden pages need no updates.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : watch()));
watch();
