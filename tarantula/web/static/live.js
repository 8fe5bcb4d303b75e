// Shows an item while it happens: the server sends what is seen of it, whenever it changes.
// What comes from strangers becomes text, never markup.

const UNITS = ["B", "KB", "MB", "GB", "TB", "PB"];

async function appear(find) {
  for (;;) {
    const found = find();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

class View {
  constructor(root) {
    this.root = root;
    this.words = JSON.parse(root.dataset.words);
    this.numbers = new Intl.NumberFormat(this.words.locale);
    this.moments = new Intl.DateTimeFormat(this.words.locale, { dateStyle: "short", timeStyle: "short" });
  }

  say(name, text) {
    const place = this.root.querySelector(`[data-live="${name}"]`);
    if (place && place.textContent !== text) place.textContent = text;
  }

  show(seen) {
    const number = (value) => this.numbers.format(value);
    const item = this.words.items[seen.state] ?? seen.state;
    this.say("away", "");
    this.say("state", seen.stop_wanted && seen.is_alive ? `${item} (${this.words.stopping})` : item);
    this.say("reason", seen.reason ?? "");
    for (const name of ["done", "waiting", "under_way", "refused", "collectors", "per_second"]) {
      this.say(name, number(seen[name]));
    }
    this.say("bytes", this.size(seen.bytes));
    this.say("left", seen.seconds_left === null ? "–" : this.duration(seen.seconds_left));
    this.say("deadline", seen.deadline ? this.moments.format(new Date(seen.deadline)) : "–");
    this.say("log", seen.log.join("\n"));
    this.rows("states", seen.states, (one) => [this.state(one.state), number(one.documents)]);
    this.rows("servers", seen.servers, (one) => [
      one.server,
      number(one.done),
      number(one.waiting),
      this.seconds(one.pause),
      one.backoff ? this.seconds(one.backoff) : "–",
      one.wait ? this.duration(one.wait) : "–",
    ]);
    this.rows("last", seen.last, (one) => [
      this.state(one.state),
      this.link(one.url, `${this.root.dataset.documents}/${one.id}`),
      one.type ?? "–",
      one.size === null ? "–" : this.size(one.size),
    ]);
    this.draw(seen.speed);
    for (const part of this.root.querySelectorAll("[data-states]")) {
      part.hidden = !part.dataset.states.split(" ").includes(seen.state);
    }
  }

  state(state) {
    return `${state} ${this.words.states[state] ?? "HTTP"}`;
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
    const said = [];
    for (const [length, unit] of parts.slice(first, first + 2)) {
      const count = Math.floor(left / length);
      left -= count * length;
      if (count) said.push(`${count} ${unit}`);
    }
    return said.join(" ");
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
    // Whoever has put the focus on a link keeps it while nothing changes.
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
    const clock = new Intl.DateTimeFormat(this.words.locale, { timeStyle: "medium" });
    const first = speed.last - speed.documents.length + 1;
    const seconds = speed.documents.map((_, index) => clock.format(new Date((first + index) * 1000)));
    element.chart.setOption({ xAxis: { data: seconds }, series: [{ data: speed.documents }] });
  }
}

const view = new View(await appear(() => document.getElementById("live")));
let source = null;

function watch() {
  source?.close();
  // It connects again by itself when the server went away, or ended the stream.
  source = new EventSource(view.root.dataset.stream);
  source.onmessage = (message) => view.show(JSON.parse(message.data));
  source.onerror = () => view.say("away", view.words.away);
  source.addEventListener("end", () => source.close());
}

window.addEventListener("watch-again", watch);
// A page that nobody sees need not be told.
document.addEventListener("visibilitychange", () => (document.hidden ? source?.close() : watch()));
watch();
