// The task: show an item, take an answer, keep it, go on; whatever happens to page or network.

import { backoff, call } from "./api.js";
import { askSkip, isOpen, showKeys } from "./dialogs.js";
import { fill, painted } from "./dom.js";
import { showFeedback } from "./feedback.js";
import { Frame } from "./frame.js";
import { letterOf, plain, typing } from "./keys.js";
import { Media, togglePlay } from "./media.js";
import { Notes } from "./notes.js";
import { AnsweredElsewhere, openOutbox } from "./outbox.js";
import { Sender } from "./sender.js";
import { Clock } from "./timing.js";

const FEW = 3; // with fewer open showings than this, more are asked for
const BOUNCE = 200; // a second press of the key that sent the last answer is not meant for this item
const FEEDBACK_PATIENCE = 8_000;

class Task {
  constructor(plan, module, outbox) {
    this.plan = plan;
    this.module = module;
    this.texts = plan.texts;
    this.outbox = outbox;
    this.notes = new Notes(outbox.session);
    this.media = new Media(this.texts);
    this.showings = new Map();
    this.given = new Map(); // what was answered in this browser, by position
    this.current = null;
    this.busy = false;
    this.heard = new Map(); // answers whose fate somebody waits for
    this.frame = new Frame(document.getElementById("task"), this.texts, plan.title, {
      onprevious: () => this.previous(),
      onskip: () => this.skip(),
      onhelp: () => this.help(),
      onkeep: () => this.next(),
    });
    this.sender = new Sender(outbox, {
      onsettled: (record, outcome) => this.settled(record, outcome),
      onstate: (state) => this.frame.status({ ...state, fleeting: outbox.fleeting }),
    });
    this.tabs = new BroadcastChannel("softlabel-tabs");
  }

  async begin() {
    await this.outbox.tidy(false);
    this.notes.tidy(false);
    this.take(this.plan);
    await this.recall();
    this.tabs.addEventListener("message", ({ data }) => this.hear(data));
    this.tabs.postMessage({ kind: "here", session: this.outbox.session });
    document.addEventListener("keydown", (event) => this.key(event), true);
    document.addEventListener("click", (event) => this.bounce(event), true);
    window.addEventListener("pageshow", (event) => event.persisted && location.reload());
    this.sender.kick();
    const screen = this.notes.get("screen");
    const record = screen && this.given.get(screen.position);
    if (record && record.uuid === screen.revising) this.revise(record);
    else await this.next();
  }

  // what there is to do --------------------------------------------------------------------

  take(plan) {
    this.plan = plan;
    this.showings = new Map(plan.showings.map((showing) => [showing.position, showing]));
  }

  /** Read what this browser has already answered; refused answers are to be given again. */
  async recall() {
    this.given.clear();
    for (const record of await this.outbox.all()) this.given.set(record.position, record);
  }

  isDone(showing) {
    const record = this.given.get(showing.position);
    return record ? record.state !== "aside" : showing.answered;
  }

  open() {
    return [...this.showings.values()].filter((showing) => !this.isDone(showing));
  }

  async refresh() {
    const plan = await getPlan((waits) =>
      this.frame.complain(waits ? this.texts.no_network : null),
    );
    this.take(plan);
  }

  /** The next item that is not answered, or the end. */
  async next() {
    this.notes.set("draft:revising", null);
    let [showing] = this.open();
    if (!showing && this.plan.more) {
      this.frame.message(this.texts.more_title, this.texts.more_text);
      await this.sent();
      await this.refresh();
      [showing] = this.open();
    }
    if (!showing) return this.finish();
    this.show(showing, this.notes.get(`draft:${showing.position}`));
    if (this.plan.more && this.open().length < FEW && !this.asking) {
      this.asking = true;
      // the server counts what it holds, so what was answered here must have arrived
      this.sent()
        .then(() => getPlan())
        .then((plan) => this.take(plan))
        .finally(() => {
          this.asking = false;
          this.media.prefetch(this.ahead());
        });
    }
    return undefined;
  }

  /** What is on the screen and what comes after it. */
  ahead() {
    const showing = this.current?.showing;
    const others = this.open().filter((one) => one.position !== showing?.position);
    return showing ? [showing, ...others] : others;
  }

  // one item -------------------------------------------------------------------------------

  show(showing, draft, revising = null) {
    this.current?.clock.stop();
    const clock = new Clock(draft?.clock ?? null);
    const place = [...this.showings.keys()].indexOf(showing.position);
    const done = [...this.showings.values()].filter((one) => this.isDone(one)).length;
    const { node, ready } = this.media.show(showing);
    const refused = this.given.get(showing.position)?.refusal;
    this.current = { showing, clock, revising, touched: draft?.touched ?? false, mode: null };
    this.frame.item.hidden = false;
    this.frame.item.replaceChildren(node);
    this.frame.answer.replaceChildren();
    this.frame.complain(
      refused && !revising
        ? fill(this.texts.refused, { reason: refused.reason ?? refused.status })
        : null,
    );
    this.current.mode = this.module.mount(this.frame.answer, this.context(place));
    const before = draft ?? (refused ? this.given.get(showing.position) : null);
    if (before?.draft) this.current.mode.restore(before.draft);
    this.frame.progress(revising ? done - 1 : done, this.plan.total, showing.phase);
    this.frame.tools({
      previous: !revising && this.last() !== null,
      skip: true,
      keep: revising !== null,
    });
    this.notes.set("screen", { position: showing.position, revising });
    this.reveal(ready);
  }

  /** Let it be seen, take the time, and fetch what comes after. */
  async reveal(ready) {
    const { root } = this.frame;
    const { current, submitted } = this;
    this.submitted = null;
    delete root.dataset.ready;
    root.dataset.position = current.showing.position;
    root.dataset.phase = current.showing.phase;
    window.scrollTo(0, 0);
    current.mode.focus();
    this.shownAt = performance.now();
    this.busy = false;
    ready.then(
      () => current.clock.ready(),
      () => {},
    );
    const shown = await painted();
    if (submitted) performance.measure("softlabel:next", { start: submitted, end: shown });
    this.media.prefetch(this.ahead());
    this.shownAt = shown;
    setTimeout(() => this.current === current && (root.dataset.ready = "yes"), BOUNCE);
  }

  context(place) {
    const { plan, texts, notes } = this;
    return {
      labels: plan.labels,
      labelsFrom: plan.labels_from,
      synonyms: plan.synonyms,
      rules: plan.mode.rules,
      fields: plan.mode.fields,
      frame: plan.frame,
      texts,
      index: place,
      memory: {
        get: (name) => notes.get(`memory:${name}`),
        set: (name, value) => notes.set(`memory:${name}`, value),
      },
      touched: (field) => {
        this.current.touched = true;
        this.current.clock.touched(field);
      },
      changed: () => this.changed(),
      log: (kind, code, what) => this.current.clock.log(kind, code, String(what).slice(0, 200)),
      submit: () => this.submit(),
      refuse: (text) => this.frame.complain(text),
      announce: (text) => this.frame.announce(text),
    };
  }

  /** Every change is noted at once, so that a reload shows the same screen. */
  changed() {
    const { showing, clock, mode, touched, revising } = this.current;
    if (!mode) return;
    this.frame.complain(null);
    const name = revising ? "draft:revising" : `draft:${showing.position}`;
    this.notes.set(name, { draft: mode.draft(), clock: clock.snapshot(), touched, revising });
  }

  // answering ------------------------------------------------------------------------------

  async submit(skip = null) {
    if (this.busy || !this.current) return;
    const { mode } = this.current;
    const problem = skip === null ? mode.problem() : null;
    if (problem !== null) {
      this.frame.complain(problem);
      return;
    }
    this.busy = true;
    this.submitted = performance.now();
    const record = this.record(skip);
    try {
      this.given.set(record.position, await this.outbox.put(record));
    } catch (error) {
      this.busy = false;
      await this.notKept(error);
      return;
    }
    this.forgetDraft();
    this.tabs.postMessage({
      kind: "given",
      session: this.outbox.session,
      position: record.position,
    });
    const fate = this.current.showing.phase === "practice" ? this.fateOf(record.uuid) : null;
    this.sender.kick();
    if (fate) await this.practice(record, fate);
    else await this.next();
  }

  record(skip) {
    const { showing, clock, mode, touched, revising } = this.current;
    const uuid = newUuid();
    const envelope = {
      response_uuid: uuid,
      position: showing.position,
      answer: skip === null ? mode.answer() : null,
      skip,
      touched,
      supersedes: revising,
      timing: clock.timing(),
      events: clock.events,
      client: describeClient(),
    };
    return {
      uuid,
      position: showing.position,
      phase: showing.phase,
      envelope,
      draft: mode.draft(),
    };
  }

  async notKept(error) {
    if (!(error instanceof AnsweredElsewhere)) {
      this.frame.complain(this.texts.not_kept);
      return;
    }
    await this.recall();
    this.forgetDraft();
    this.frame.announce(this.texts.elsewhere);
    await this.next();
  }

  forgetDraft() {
    this.notes.set(`draft:${this.current.showing.position}`, null);
  }

  /** Practice waits for the server's word, because the feedback comes with it. */
  async practice(record, fate) {
    const { showing } = this.current;
    this.frame.tools({});
    const slow = setTimeout(() => this.frame.complain(this.texts.waiting_feedback), 1_000);
    const outcome = await Promise.race([fate, later(FEEDBACK_PATIENCE)]);
    clearTimeout(slow);
    this.frame.complain(null);
    const feedback = outcome?.body?.feedback;
    if (!feedback || (!feedback.text && !feedback.reference)) {
      await this.next();
      return;
    }
    delete this.frame.root.dataset.ready;
    this.frame.root.dataset.phase = "feedback";
    this.current.clock.stop();
    this.current.mode = null;
    this.busy = false;
    const choice = await showFeedback(this.frame.answer, this.texts, feedback, this.plan.labels);
    if (this.current.showing !== showing) return;
    if (choice === "change") this.revise(this.given.get(record.position));
    else await this.next();
  }

  fateOf(uuid) {
    return new Promise((resolve) => this.heard.set(uuid, resolve));
  }

  /** The server has spoken about an answer, here or in another tab. */
  settled(record, outcome) {
    if (this.given.get(record.position)?.uuid === record.uuid)
      this.given.set(record.position, record);
    this.heard.get(record.uuid)?.(outcome);
    this.heard.delete(record.uuid);
    if (outcome.status === 409 && outcome.body?.error === "stage") location.assign("/");
    else if (outcome.status === 409) this.frame.announce(this.texts.elsewhere);
    else if (outcome.status !== 200) this.frame.complain(this.texts.one_refused);
  }

  // going back -----------------------------------------------------------------------------

  /** The answer just given, if it can still be changed. */
  last() {
    const records = [...this.given.values()].sort((a, b) => b.order - a.order);
    const [record] = records;
    const known =
      record &&
      record.state !== "aside" &&
      record.phase === "main" &&
      this.showings.has(record.position);
    return known ? record : null;
  }

  previous() {
    const record = this.current?.revising ? null : this.last();
    if (!record || this.busy) return false;
    this.revise(record);
    return true;
  }

  revise(record) {
    const draft = this.notes.get("draft:revising");
    const own = draft?.revising === record.uuid ? draft : { draft: record.draft, touched: true };
    this.show(this.showings.get(record.position), own, record.uuid);
    this.frame.announce(this.texts.revising);
  }

  // other ways out -------------------------------------------------------------------------

  async skip() {
    if (!this.current?.mode || isOpen()) return;
    const { showing } = this.current;
    const reason = await askSkip(this.texts);
    if (reason === null || this.current.showing !== showing) this.current.mode?.focus();
    else await this.submit(reason);
  }

  async help() {
    if (isOpen()) return;
    const own = this.current?.mode?.help() ?? [];
    const sound = this.current?.showing.audio ? [this.texts.help.play] : [];
    await showKeys(this.texts, [...own, ...sound, this.texts.help.skip, this.texts.help.help]);
    this.current?.mode?.focus();
  }

  key(event) {
    if (event.isComposing || isOpen()) return;
    if (this.busy || (event.code === this.sentBy && performance.now() - this.shownAt < BOUNCE)) {
      if (!typing(event) && event.code !== "Tab" && plain(event)) event.preventDefault();
      return;
    }
    const before = this.submitted;
    const used = this.current?.mode?.key(event) || this.ownKey(event);
    if (used) event.preventDefault();
    this.sentBy = this.submitted !== before ? event.code : null;
  }

  ownKey(event) {
    if (typing(event) || !plain(event) || event.repeat) return false;
    if (event.key === "?") this.help();
    else if (event.shiftKey) return false;
    else if (event.code === "Backspace") return this.previous();
    else if (event.code === "Escape" && this.current?.revising) this.next();
    else if (letterOf(event) === "S") this.skip();
    else if (letterOf(event) === "P") return togglePlay(this.frame.item);
    else return false;
    return true;
  }

  /** The second click of a double click that already sent an answer means nothing here. */
  bounce(event) {
    this.sentBy = null;
    const fresh = performance.now() - (this.shownAt ?? 0) < 2 * BOUNCE;
    if (this.busy || (event.detail > 1 && fresh)) {
      event.preventDefault();
      event.stopPropagation();
    }
  }

  /** Other tabs: of this session, and of somebody else who now uses this browser. */
  async hear({ kind, session, position }) {
    if (session !== this.outbox.session) {
      if (kind === "here") location.reload();
      return;
    }
    if (kind !== "given") return;
    await this.recall();
    const here = this.current?.showing.position === position;
    if (here && !this.busy) {
      this.forgetDraft();
      this.frame.announce(this.texts.elsewhere);
      await this.next();
    }
  }

  // the end --------------------------------------------------------------------------------

  /** Wait until nothing is left to send. */
  async sent() {
    this.sender.kick(true);
    while ((await this.sender.waiting()) > 0) await later(100);
  }

  async finish() {
    this.current?.clock.stop();
    this.current = null;
    this.notes.set("screen", null);
    this.frame.tools({});
    this.frame.progress(this.plan.total, this.plan.total, "main");
    this.frame.root.dataset.phase = "finishing";
    this.frame.message(this.texts.finish_title, this.texts.finish_text);
    await this.sent();
    for (let failures = 0; ; failures += 1) {
      if (this.open().length > 0) return this.next(); // one was refused at the last moment
      const { status, body, after } = await call("POST", "/api/finish", {});
      if (status === 200) return body.open ? this.leave(body.next) : this.missing(body.missing);
      if (status === 401 || status === 409) return location.assign("/");
      this.frame.complain(this.texts.no_network);
      await later(Math.max(after, backoff(failures)));
    }
  }

  async leave(next) {
    await this.outbox.tidy(true);
    this.notes.tidy(true);
    location.assign(next);
  }

  /** The server lacks these answers: they are asked for again, from what was said before. */
  async missing(positions) {
    for (const position of positions) {
      const record = this.given.get(position);
      if (record)
        await this.outbox.change(record, { state: "aside", refusal: { reason: this.texts.lost } });
    }
    await this.recall();
    await this.refresh();
    return this.next();
  }
}

/** The plan, asked for until it comes; who may not have one is sent to the page they belong to. */
async function getPlan(onwait = () => {}) {
  for (let failures = 0; ; failures += 1) {
    const { status, body, after } = await call("GET", "/api/plan");
    if (status === 200) {
      onwait(false);
      return body;
    }
    if (status === 401 || status === 409) {
      location.assign("/");
      await new Promise(() => {}); // the page is leaving
    }
    onwait(true);
    await later(Math.max(after, backoff(failures)));
  }
}

function later(ms) {
  return new Promise((resolve) => setTimeout(() => resolve(null), ms));
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
  };
}

async function start() {
  history.replaceState(null, "", location.pathname);
  const plan = await getPlan();
  const [module, outbox] = await Promise.all([import(plan.mode.module), openOutbox(plan.session)]);
  await new Task(plan, module, outbox).begin();
}

start();
