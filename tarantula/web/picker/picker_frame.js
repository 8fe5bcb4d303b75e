// A frame with a page of another site in the picker. Its messages are not trusted: they are validated, rate-limited and
// cut off.
const MAX_LENGTH = 200;
const MAX_PER_SECOND = { lit: 20, pick: 5, ready: 5 };

export default {
  template: `
    <div class="w-full h-full flex flex-col">
      <iframe v-if="address" ref="frame" :key="turn" :src="address" :title="label" class="w-full grow bg-white"
        sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>
      <p role="status" class="m-0 px-2 py-1 text-sm truncate bg-slate-100" style="min-height: 1.75rem">{{ lit }}</p>
    </div>
  `,
  props: { address: String, label: String, turn: Number, picked: Array, like: Array },
  data() {
    return { lit: "" };
  },
  mounted() {
    this.times = { lit: [], pick: [], ready: [] };
    this.listener = (event) => this.receive(event);
    window.addEventListener("message", this.listener);
  },
  unmounted() {
    window.removeEventListener("message", this.listener);
  },
  watch: {
    picked() {
      this.mark();
    },
    like() {
      this.mark();
    },
    turn() {
      this.lit = "";
    },
  },
  methods: {
    receive(event) {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      // A sandboxed page has an opaque origin and no frames; other messages are ignored.
      if (event.origin !== "null" || !frame || event.source !== frame) return;
      const message = event.data;
      if (!message || typeof message !== "object") return;
      const kind = Object.keys(MAX_PER_SECOND).find((name) => Object.hasOwn(message, name));
      if (!kind || this.isOverLimit(kind, event.timeStamp)) return;
      if (kind === "ready") this.mark();
      if (kind === "lit" && typeof message.lit === "string") this.lit = message.lit.slice(0, MAX_LENGTH);
      if (kind === "pick" && Number.isSafeInteger(message.pick) && message.pick >= 0) {
        const part = typeof message.part === "string" ? message.part.slice(0, MAX_LENGTH) : "";
        this.$emit("pick", { number: message.pick, part });
      }
    },
    isOverLimit(kind, time) {
      this.times[kind] = this.times[kind].filter((earlier) => time - earlier < 1000);
      return this.times[kind].push(time) > MAX_PER_SECOND[kind];
    },
    mark() {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      const numbers = (all) => (all || []).map(Number);
      if (frame) frame.postMessage({ picked: numbers(this.picked), like: numbers(this.like) }, "*");
    },
  },
};
