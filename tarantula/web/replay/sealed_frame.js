// A frame with an archived page. Its messages are not trusted: they are validated, rate-limited and cut off.
const KINDS = ["place", "leads", "key"];
const MAX_LENGTH = 2000;
const MAX_PER_SECOND = 10;
const MAX_MARKS = 500;

export default {
  template: `
    <iframe v-if="address" ref="frame" :key="turn" :src="address" :title="label" class="w-full h-full bg-white"
      sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>
  `,
  props: { address: String, label: String, turn: Number, marks: Array },
  mounted() {
    this.times = [];
    this.listener = (event) => this.receive(event);
    window.addEventListener("message", this.listener);
  },
  unmounted() {
    window.removeEventListener("message", this.listener);
  },
  watch: {
    marks() {
      this.mark();
    },
  },
  methods: {
    receive(event) {
      // A sandboxed page has an opaque origin; other messages are ignored.
      if (event.origin !== "null" || !this.isWithin(event.source)) return;
      const message = event.data;
      const kind = message && typeof message === "object" ? KINDS.find((name) => typeof message[name] === "string") : undefined;
      if (!kind || message[kind].length > MAX_LENGTH || this.isOverLimit(event.timeStamp)) return;
      if (kind === "place") this.mark();
      this.$emit("said", { kind, text: message[kind] });
    },
    isOverLimit(time) {
      this.times = this.times.filter((earlier) => time - earlier < 1000);
      return this.times.push(time) > MAX_PER_SECOND;
    },
    isWithin(source) {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      for (let window_ = source; window_ && window_ !== window_.parent; window_ = window_.parent) {
        if (window_ === frame) return true;
      }
      return false;
    },
    mark() {
      const marks = (this.marks || []).slice(0, MAX_MARKS).map(String);
      if (this.$refs.frame) this.$refs.frame.contentWindow.postMessage({ mark: marks }, "*");
    },
  },
};
