// An answer as it is kept and sent, and how long it took: since the item was shown, with hidden time
// counted apart.

const LONGEST_LOG = 300; // entries, and letters of each: even in a script of three bytes per
const LONGEST_ENTRY = 40; // letter an answer stays below the size that the server accepts

const BLANK = {
  elapsed: 0,
  mediaReady: null,
  firstInput: null,
  fields: {},
  events: [],
  hidden: 0,
};

/** The clock of one showing; `before` continues one that a reload interrupted. */
export class Clock {
  constructor(before = null) {
    const { elapsed, ...known } = { ...BLANK, ...before };
    this.start = performance.now() - elapsed;
    Object.assign(this, structuredClone(known));
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

  /** A field was changed by the person; hidden time is in no field's time. */
  touched(field) {
    const active = Math.max(0, this.now() - this.hiddenMs());
    this.firstInput ??= active;
    this.fields[field] = active;
  }

  log(kind, code, what) {
    if (this.events.length === LONGEST_LOG) this.events.push([this.now(), "cut", "", ""]);
    if (this.events.length >= LONGEST_LOG) return;
    this.events.push([this.now(), kind, code, String(what).slice(0, LONGEST_ENTRY)]);
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

/** The record of an answer to a showing; `skip` is a reason for giving none, `app` our version. */
export function makeRecord({ showing, clock, mode, touched, revising, comment }, skip, app) {
  const uuid = newUuid();
  const { position, phase } = showing;
  const envelope = {
    response_uuid: uuid,
    position,
    answer: skip === null ? mode.answer() : null,
    skip,
    touched,
    supersedes: revising,
    timing: clock.timing(),
    events: clock.events,
    client: { app, ...describeClient() },
    ...(comment ? { comment } : {}),
  };
  return { uuid, position, phase, envelope, draft: mode.draft() };
}

/** A random name for an answer; works on plain http too, unlike crypto.randomUUID. */
function newUuid() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 15) | 64;
  bytes[8] = (bytes[8] & 63) | 128;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function describeClient() {
  return {
    pointer: matchMedia("(pointer: coarse)").matches ? "coarse" : "fine",
    viewport: [innerWidth, innerHeight],
    locale: navigator.language,
    language: document.documentElement.lang,
  };
}
