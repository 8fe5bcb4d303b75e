// A frame with a stranger's page that somebody points at. What it says is a stranger's word: looked at for its form,
// slowed down, cut off.
const LONGEST = 200;
const MOST_A_SECOND = { lit: 20, pick: 5, ready: 5 };

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
    this.moments = { lit: [], pick: [], ready: [] };
    this.hear = (event) => this.heard(event);
    window.addEventListener("message", this.hear);
  },
  unmounted() {
    window.removeEventListener("message", this.hear);
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
    heard(event) {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      // A sealed page has no origin; one that has is not ours. It has no frames, so nobody else speaks for it.
      if (event.origin !== "null" || !frame || event.source !== frame) return;
      const said = event.data;
      if (!said || typeof said !== "object") return;
      const kind = Object.keys(MOST_A_SECOND).find((name) => Object.hasOwn(said, name));
      if (!kind || this.isTooMuch(kind, event.timeStamp)) return;
      if (kind === "ready") this.mark();
      if (kind === "lit" && typeof said.lit === "string") this.lit = said.lit.slice(0, LONGEST);
      if (kind === "pick" && Number.isSafeInteger(said.pick) && said.pick >= 0) {
        const part = typeof said.part === "string" ? said.part.slice(0, LONGEST) : "";
        this.$emit("pick", { number: said.pick, part });
      }
    },
    isTooMuch(kind, moment) {
      this.moments[kind] = this.moments[kind].filter((earlier) => moment - earlier < 1000);
      return this.moments[kind].push(moment) > MOST_A_SECOND[kind];
    },
    mark() {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      const numbers = (all) => (all || []).map(Number);
      if (frame) frame.postMessage({ picked: numbers(this.picked), like: numbers(this.like) }, "*");
    },
  },
};
