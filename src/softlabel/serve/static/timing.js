// How long an answer took: since the item was shown, with hidden time counted apart.

const LONGEST_LOG = 400; // keeps an answer far below the size the server accepts

/** The clock of one showing; `before` continues one that a reload interrupted. */
export class Clock {
  constructor(before = null) {
    this.start = performance.now() - (before?.elapsed ?? 0);
    this.mediaReady = before?.mediaReady ?? null;
    this.firstInput = before?.firstInput ?? null;
    this.fields = { ...before?.fields };
    this.events = [...(before?.events ?? [])];
    this.hidden = before?.hidden ?? 0;
    this.hiddenSince = document.hidden ? performance.now() : null;
    this.onvisibility = () => this.#visibility();
    document.addEventListener("visibilitychange", this.onvisibility);
    if (before) this.log("resume", "", "");
  }

  now() {
    return Math.round(performance.now() - this.start);
  }

  ready() {
    this.mediaReady ??= this.now();
  }

  /** A field was changed by the person. */
  touched(field) {
    this.firstInput ??= this.now();
    this.fields[field] = this.now();
  }

  log(kind, code, what) {
    if (this.events.length === LONGEST_LOG) this.events.push([this.now(), "cut", "", ""]);
    if (this.events.length < LONGEST_LOG) this.events.push([this.now(), kind, code, what]);
  }

  hiddenMs() {
    const open = this.hiddenSince === null ? 0 : performance.now() - this.hiddenSince;
    return Math.round(this.hidden + open);
  }

  /** What is sent with the answer. */
  timing() {
    const submit = this.now();
    const hidden = this.hiddenMs();
    return {
      media_ready_ms: this.mediaReady,
      first_input_ms: this.firstInput,
      submit_ms: submit,
      active_ms: Math.max(0, submit - hidden),
      hidden_ms: hidden,
      fields: { ...this.fields },
    };
  }

  /** What a reload needs to continue. */
  snapshot() {
    const { mediaReady, firstInput, fields, events } = this;
    return { elapsed: this.now(), mediaReady, firstInput, fields, events, hidden: this.hiddenMs() };
  }

  stop() {
    document.removeEventListener("visibilitychange", this.onvisibility);
  }

  #visibility() {
    if (document.hidden) this.hiddenSince = performance.now();
    else if (this.hiddenSince !== null) {
      this.hidden += performance.now() - this.hiddenSince;
      this.hiddenSince = null;
    }
    this.log(document.hidden ? "hidden" : "visible", "", "");
  }
}
