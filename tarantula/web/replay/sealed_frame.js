// A frame with an archived page. What the page says is a stranger's word: looked at for its form, slowed down, cut off.
const KINDS = ["place", "leads", "key"];
const LONGEST = 2000;
const MOST_A_SECOND = 10;
const MARKS = 500;

export default {
  template: `
    <iframe v-if="address" ref="frame" :key="turn" :src="address" :title="label" class="w-full h-full bg-white"
      sandbox="allow-scripts" referrerpolicy="no-referrer"></iframe>
  `,
  props: { address: String, label: String, turn: Number, marks: Array },
  mounted() {
    this.moments = [];
    this.hear = (event) => this.heard(event);
    window.addEventListener("message", this.hear);
  },
  unmounted() {
    window.removeEventListener("message", this.hear);
  },
  watch: {
    marks() {
      this.mark();
    },
  },
  methods: {
    heard(event) {
      // A sealed page has no origin; one that has is not ours.
      if (event.origin !== "null" || !this.isWithin(event.source)) return;
      const said = event.data;
      const kind = said && typeof said === "object" ? KINDS.find((name) => typeof said[name] === "string") : undefined;
      if (!kind || said[kind].length > LONGEST || this.isTooMuch(event.timeStamp)) return;
      if (kind === "place") this.mark();
      this.$emit("said", { kind, text: said[kind] });
    },
    isTooMuch(moment) {
      this.moments = this.moments.filter((earlier) => moment - earlier < 1000);
      return this.moments.push(moment) > MOST_A_SECOND;
    },
    isWithin(source) {
      const frame = this.$refs.frame && this.$refs.frame.contentWindow;
      for (let window_ = source; window_ && window_ !== window_.parent; window_ = window_.parent) {
        if (window_ === frame) return true;
      }
      return false;
    },
    mark() {
      const marks = (this.marks || []).slice(0, MARKS).map(String);
      if (this.$refs.frame) this.$refs.frame.contentWindow.postMessage({ mark: marks }, "*");
    },
  },
};
