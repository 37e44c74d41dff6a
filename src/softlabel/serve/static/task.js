// The task: show an item, take an answer, keep it, go on; whatever happens to page or network.

import { fill, isOpen, painted } from "./dom.js";
import { Frame } from "./frame.js";
import { PageKeys } from "./keys.js";
import { Media } from "./media.js";
import { loadParts, PARTS } from "./parts.js";
import { Clock, makeRecord } from "./record.js";
import { getPlan, later, Sender } from "./server.js";
import { AnsweredElsewhere, Notes, openOutbox } from "./storage.js";
import { Work } from "./work.js";

const PATIENCE = 8_000; // ms for what shows the feedback after a practice item
const REVISING = "draft:revising";
const OVER = ["left", "withdrawn"]; // why an answer is refused whose session has ended

class Task {
  constructor(plan, module, outbox) {
    this.module = module;
    this.texts = plan.texts;
    this.outbox = outbox;
    this.work = new Work(plan, outbox);
    this.notes = new Notes(outbox.session);
    this.media = new Media(this.texts, plan.look, (what) => this.zoomed(what));
    this.current = null; // {showing, clock, revising, touched, mode}
    this.busy = false; // between sending an answer and seeing the next item
    this.held = false; // while a part of the page is on its way that somebody has asked for
    this.shownAt = 0;
    this.screen = null; // stands for what is to be seen just now
    this.submitted = null; // when the last answer was sent, until the next item is there
    this.fates = new Map(); // answers whose fate somebody waits for
    this.pause = null; // what is said while there is nothing to answer: {title, text, now}
    this.frame = new Frame(document.getElementById("task"), this.texts, plan.title, {
      onprevious: () => this.previous(),
      onkeep: () => this.keep(),
      onskip: () => this.skip(),
      onhelp: () => this.help(),
      oninstructions: () => this.turn("instructions"),
      onabout: Object.keys(plan.about).length > 0 ? () => this.turn("about") : null,
      languages: plan.languages.length > 1,
      oncomment: () => this.note(),
    });
    this.tips = null; // where something is known about the labels
    this.side = null; // the panel beside the task, once it was opened
    this.sender = new Sender(outbox, {
      onsettled: (record, outcome) => this.settled(record, outcome),
      onstate: (state) => this.tell({ ...state, fleeting: outbox.fleeting }),
    });
    this.tabs = new BroadcastChannel("softlabel-tabs");
  }

  /** What a part of the page exports, or null without a network; inputs do nothing meanwhile. */
  async part(name) {
    const { here } = PARTS[name];
    if (here) return here;
    this.held = true;
    const got = await PARTS[name].get().catch(() => null);
    this.held = false;
    if (got === null) this.frame.complain(this.texts.waiting_feedback);
    return got;
  }

  /** Open or close the panel with the instructions or with what is known about the labels. */
  async turn(name) {
    const part = await this.part("side");
    if (part === null) return;
    this.side ??= part.makeSide(this.frame, this.work.plan, (shown, open) => {
      this.current?.clock.log("panel", shown, open ? "open" : "close");
      if (!open) this.mode?.focus();
    });
    this.side.toggle(name);
  }

  /** Close what lies over or beside the answer; false if there is nothing. */
  dismiss() {
    return this.tips?.hide() || this.side?.close();
  }

  get maySkip() {
    return this.work.plan.skips.length > 0;
  }

  get mode() {
    return this.current?.mode ?? null;
  }

  async begin() {
    await this.outbox.tidy(false);
    this.notes.begin();
    const { about, look } = this.work.plan;
    await Promise.all([this.work.recall(), ...look.parts.map((name) => PARTS[name].surely())]);
    const { Tips } = PARTS.about.here ?? {};
    if (Tips) this.tips = new Tips(this.frame.answer, this.frame.root, about, this.texts);
    for (const name of ["dialogs", "ending", "rolling", "side"]) PARTS[name].soon();
    this.tabs.addEventListener("message", ({ data }) => this.hear(data));
    this.broadcast({ kind: "here" });
    this.keys = new PageKeys(this);
    window.addEventListener("pageshow", (event) => event.persisted && location.reload());
    window.addEventListener("pagehide", () => this.note());
    document.addEventListener("visibilitychange", () => this.note());
    this.sender.kick();
    const screen = this.notes.get("screen");
    const record = this.work.given.get(screen?.position);
    const known = record && this.work.showingOf(record.position) !== null;
    if (known && record.uuid === screen.revising) this.revise(record);
    else await this.next();
  }

  // going on -------------------------------------------------------------------------------

  /** The next item that is not answered, or the end. */
  async next() {
    this.notes.set(REVISING, null);
    let [showing] = this.work.open();
    if (!showing && this.work.plan.more) {
      this.current?.clock.stop();
      this.current = null;
      this.pauseWith(this.texts.more_title, this.texts.more_text);
      await this.fetchMore();
      [showing] = this.work.open();
    }
    if (!showing) return this.finish();
    this.show(showing, this.notes.get(`draft:${showing.position}`));
    if (this.work.isShort()) this.fetchMoreOnce();
    return undefined;
  }

  /** Ask for more; the server counts what it holds, so what was answered here must be there. */
  async fetchMore() {
    await this.sent();
    this.work.take(await getPlan((waits) => waits && this.tell({ waiting: 0, failing: true })));
  }

  async fetchMoreOnce() {
    if (this.fetching) return;
    this.fetching = true;
    await this.sent();
    this.work.take(await getPlan());
    this.fetching = false;
    if (this.current) this.media.prefetch(this.work.from(this.current.showing));
  }

  /** Say why there is nothing to answer just now; without a network, the whole truth of it. */
  pauseWith(title, text) {
    this.pause = { title, text, now: text };
    this.frame.tools({});
    this.frame.message(title, text);
  }

  /** What became of the answers: at the foot of the page and, between items, in its middle. */
  tell(state) {
    this.frame.status(state);
    if (this.pause === null) return;
    const { title, text } = this.pause;
    const cut = state.failing && !state.signedOut;
    const offline = state.waiting > 0 ? this.texts.offline_waiting : this.texts.offline;
    const now = cut ? fill(offline, { n: state.waiting }) : text;
    if (now === this.pause.now) return;
    this.pause.now = now;
    this.frame.message(title, now);
  }

  // one item -------------------------------------------------------------------------------

  /** Draw an item; `revising` is the name of the answer that a new one would replace. */
  show(showing, draft, revising = null) {
    this.current?.clock.stop();
    this.pause = null;
    const refused = revising === null ? this.work.refusalOf(showing) : null;
    const { node, ready } = this.media.show(showing);
    const [clock, touched] = [new Clock(draft?.clock ?? null), draft?.touched ?? false];
    this.current = { showing, clock, revising, touched, mode: null };
    this.frame.show(node);
    if (refused) this.frame.complain(fill(this.texts.refused, reasonOf(refused)));
    this.current.mode = this.module.mount(this.frame.answer, this.context(showing));
    this.frame.settle();
    this.tips?.describe();
    const written = draft?.comment ?? refused?.envelope.comment ?? "";
    this.frame.comment(this.work.plan.comment ? written : null);
    const before = draft?.draft ?? refused?.draft;
    if (before) this.mode.restore(before);
    const done = this.work.countDone() - (revising === null ? 0 : 1);
    this.frame.progress(done, this.work.plan.total, showing.phase);
    const previous = revising === null && this.work.last() !== null;
    this.frame.tools({ previous, keep: revising !== null, skip: this.maySkip });
    this.notes.set("screen", { position: showing.position, revising });
    this.reveal(ready);
  }

  /** Let it be seen, take the time, and fetch what comes after. */
  async reveal(ready) {
    const { current, submitted } = this;
    const { position, phase } = current.showing;
    this.submitted = null;
    window.scrollTo(0, 0);
    current.mode.focus();
    ready.then(
      () => current.clock.ready(),
      () => {}, // the picture itself says that it could not be loaded
    );
    this.unlock({ position, phase });
    const shown = await painted();
    if (submitted) performance.measure("softlabel:next", { start: submitted, end: shown });
    this.media.prefetch(this.work.from(current.showing));
    await loadParts();
    if (this.current === current) this.watch(current.clock);
    this.frame.root.dataset.whole = "yes"; // for tests and tools, too
  }

  /** Show and note where the item is longer than what is to be seen of it. */
  watch(clock) {
    const told = (name, what) => clock.log("scroll", name, what);
    PARTS.rolling.here.watch(this.frame.item, this.texts, told);
  }

  /** Take inputs again; slips of the last one are over a moment later. */
  async unlock(where) {
    this.frame.mark(where);
    this.shownAt = performance.now();
    this.busy = false;
    const screen = {};
    this.screen = screen;
    await later(PageKeys.patience);
    if (this.screen === screen) this.frame.mark({ ...where, ready: "yes" });
  }

  /** What a mode is given to work with. */
  context(showing) {
    const { texts, notes } = this;
    const { plan } = this.work;
    const own = texts.modes[plan.mode.name] ?? {}; // the sentences of this mode, by frame
    const question = showing.question ?? plan.question ?? null; // the study's own heading
    const revising = this.current.revising !== null;
    return {
      question,
      about: plan.about,
      labels: plan.labels,
      labelsFrom: plan.labels_from,
      labelsNest: plan.labels_nest,
      synonyms: plan.synonyms,
      rules: plan.mode.rules,
      fields: plan.mode.fields,
      frame: plan.frame,
      repeatRest: plan.repeat_rest,
      revising,
      texts: revising ? textsOfSaving(texts) : texts,
      words: { ...own, ...own[plan.frame], ...(question === null ? {} : { question }) },
      index: this.work.placeOf(showing),
      memory: {
        get: (name) => notes.get(`memory:${name}`),
        set: (name, value) => notes.set(`memory:${name}`, value),
      },
      touched: (field) => this.touched(field),
      changed: () => this.changed(),
      log: (kind, code, what) => this.current.clock.log(kind, code, what),
      submit: () => this.submit(),
      refuse: (text) => this.frame.complain(text),
      announce: (text) => this.frame.announce(text),
    };
  }

  touched(field) {
    this.current.touched = true;
    this.current.clock.touched(field);
  }

  /** Every change is noted at once, so that a reload shows the same screen. */
  changed() {
    if (this.mode === null) return;
    this.frame.complain(null);
    this.note();
  }

  /** Note what is on the screen and how long it has been there. */
  note() {
    if (this.mode === null || this.busy) return;
    const { showing, clock, mode, touched, revising } = this.current;
    const name = revising === null ? `draft:${showing.position}` : REVISING;
    const comment = this.frame.commented;
    const kept = { draft: mode.draft(), clock: clock.snapshot(), touched, revising, comment };
    this.notes.set(name, kept);
  }

  // answering ------------------------------------------------------------------------------

  async submit(skip = null) {
    if (this.busy || !this.mode) return;
    const problem = skip === null ? this.mode.problem() : null;
    if (problem !== null) {
      this.frame.complain(problem);
      return;
    }
    this.busy = true;
    this.submitted = performance.now();
    const { showing } = this.current;
    const comment = this.frame.commented;
    const record = makeRecord({ ...this.current, comment }, skip, this.work.plan.app);
    try {
      this.work.given.set(record.position, await this.outbox.put(record));
    } catch (error) {
      this.busy = false;
      await this.notKept(error);
      return;
    }
    this.forgetDraft(showing);
    this.broadcast({ kind: "given", position: record.position });
    const fate = showing.phase === "practice" ? this.fateOf(record.uuid) : null;
    this.sender.kick();
    const feedback = fate && (await Promise.race([PARTS.dialogs.surely(), later(PATIENCE)]));
    if (feedback) await feedback.practise(this, record, fate);
    else await this.next();
  }

  async notKept(error) {
    if (error instanceof AnsweredElsewhere) await this.moveOn();
    else this.frame.complain(this.texts.not_kept);
  }

  /** The item was answered in another tab. */
  async moveOn() {
    await this.work.recall();
    this.forgetDraft(this.current.showing);
    this.frame.announce(this.texts.elsewhere);
    await this.next();
  }

  forgetDraft(showing) {
    this.notes.set(`draft:${showing.position}`, null);
  }

  fateOf(uuid) {
    return new Promise((resolve) => this.fates.set(uuid, resolve));
  }

  /** The server has spoken about an answer, here or in another tab. */
  settled(record, outcome) {
    const { given } = this.work;
    const why = outcome.body?.error;
    const latest = given.get(record.position)?.uuid === record.uuid;
    if (latest && why !== "revisions") given.set(record.position, record);
    this.fates.get(record.uuid)?.(outcome);
    this.fates.delete(record.uuid);
    if (OVER.includes(why) || outcome.body?.ended) this.over();
    else if (why === "answered") this.frame.announce(this.texts.elsewhere);
    else if (why === "revisions") this.unchanged();
    else if (outcome.status !== 200) this.frame.complain(this.texts.one_refused);
  }

  /** A change was not stored because there were too many: the answer before it stands. */
  async unchanged() {
    await this.work.recall();
    this.frame.complain(this.texts.unchanged);
  }

  // going back, and other ways out ---------------------------------------------------------

  /** Change the answer just given; false if there is none. */
  previous() {
    const record = this.current?.revising === null ? this.work.last() : null;
    if (record === null || this.busy) return false;
    this.revise(record);
    return true;
  }

  revise(record) {
    const noted = this.notes.get(REVISING);
    const { draft, envelope } = record;
    const given = { draft, touched: true, comment: envelope.comment };
    const own = noted?.revising === record.uuid ? noted : given;
    this.show(this.work.showingOf(record.position), own, record.uuid);
    this.frame.announce(this.texts.revising);
  }

  /** Leave the last answer as it was; false if it is not being changed. */
  keep() {
    if (!this.current?.revising) return false;
    this.next();
    return true;
  }

  async skip() {
    if (this.mode && this.maySkip && !isOpen()) (await this.part("dialogs"))?.skip(this);
  }

  async help() {
    if (!isOpen()) (await this.part("dialogs"))?.help(this);
  }

  /** A picture was opened in the whole window, or closed. */
  zoomed(what) {
    this.current?.clock.log("zoom", "", what);
    if (what === "close") this.mode?.focus();
  }

  // other tabs -----------------------------------------------------------------------------

  broadcast(message) {
    this.tabs.postMessage({ ...message, session: this.outbox.session });
  }

  async hear({ kind, session, position }) {
    if (session !== this.outbox.session) {
      if (kind === "here") location.reload(); // somebody else uses this browser now
      return;
    }
    if (kind === "here") this.sender.kick(true); // perhaps the link was opened again
    if (kind !== "given" || this.busy) return;
    await this.work.recall();
    if (this.current?.showing.position === position) await this.moveOn();
  }

  // the end --------------------------------------------------------------------------------

  async finish() {
    await (await PARTS.ending.surely()).finish(this);
  }

  /** The session has ended, elsewhere or by the researcher; the page of its stage says how. */
  async over() {
    this.busy = true;
    await (await PARTS.ending.surely()).leave(this, "/");
  }

  /** Wait until nothing is left to send. */
  async sent() {
    this.sender.kick(true);
    while ((await this.sender.waiting()) > 0) await later(100);
  }
}

/** The texts while an answer is changed: what goes on to the next item saves instead. */
function textsOfSaving(texts) {
  const { save, save_help: said, save_ready: ready, help, rest } = texts;
  const { submit, ctrl_enter } = help;
  const keys = { submit: [submit[0], said], ctrl_enter: [ctrl_enter[0], said] };
  return { ...texts, next: save, help: { ...help, ...keys }, rest: { ...rest, ready } };
}

function reasonOf({ refusal }) {
  return { reason: refusal.reason ?? refusal.status };
}

async function start() {
  history.replaceState(null, "", location.pathname);
  const plan = await getPlan();
  const module = import(plan.mode.module);
  const outbox = await openOutbox(plan.session);
  await new Task(plan, await module, outbox).begin();
}

start();
