// What there is to do in a session: what the server gave out, less what was answered here.

const FEW = 3; // with fewer open showings than this, more are asked for at the latest

export class Work {
  constructor(plan, outbox) {
    this.outbox = outbox;
    this.given = new Map(); // position -> the latest record of this browser
    this.showings = new Map();
    this.take(plan);
  }

  /** A plan holds the next showings; of those before them the one answered last is kept here. */
  take(plan) {
    const latest = this.latest();
    this.kept = latest === null ? null : this.showingOf(latest.position);
    this.plan = plan;
    this.showings = new Map(plan.showings.map((showing) => [showing.position, showing]));
    this.before = plan.answered - plan.showings.filter((showing) => showing.answered).length;
    this.few = Math.max(FEW, Math.floor(this.open().length / 3));
  }

  /** What was shown at a position; null if that is too long ago. */
  showingOf(position) {
    const kept = this.kept?.position === position ? this.kept : null;
    return this.showings.get(position) ?? kept;
  }

  /** Whether it is time to ask for more. */
  isShort() {
    return this.plan.more && this.open().length < this.few;
  }

  /** Read what this browser has answered, in this tab or another one. */
  async recall() {
    const records = await this.outbox.all();
    this.given = new Map(records.map((record) => [record.position, record]));
  }

  /** An answer that the server refused is to be given again. */
  isDone(showing) {
    const record = this.given.get(showing.position);
    return record ? record.state !== "aside" : showing.answered;
  }

  open() {
    return [...this.showings.values()].filter((showing) => !this.isDone(showing));
  }

  isSkipped(showing) {
    const record = this.given.get(showing.position);
    const settled = record && record.state !== "aside";
    return settled ? record.envelope.skip !== null : showing.skipped;
  }

  /** How many more items may be skipped, practice aside: the server's count and what came since. */
  skipsLeft() {
    const main = [...this.showings.values()].filter((showing) => showing.phase === "main");
    const now = main.filter((showing) => this.isSkipped(showing));
    const before = main.filter((showing) => showing.skipped);
    return this.plan.skips_left - (now.length - before.length);
  }

  countDone() {
    return this.before + this.showings.size - this.open().length;
  }

  /** How many showings come before this one. */
  placeOf(showing) {
    const here = [...this.showings.keys()].indexOf(showing.position);
    return this.before + Math.max(0, here);
  }

  /** This showing and what comes after it. */
  from(showing) {
    const others = this.open().filter((one) => one.position !== showing.position);
    return [showing, ...others];
  }

  /** Why the server refused the answer to this showing, or null. */
  refusalOf(showing) {
    const record = this.given.get(showing.position);
    return record?.state === "aside" ? record : null;
  }

  /** The record of this browser's latest answer, or null. */
  latest() {
    const [latest = null] = [...this.given.values()].sort((a, b) => b.order - a.order);
    return latest;
  }

  /** The answer just given, if it can still be changed. */
  last() {
    const last = this.latest();
    const held = last !== null && last.state !== "aside" && last.phase === "main";
    return held && this.showingOf(last.position) !== null ? last : null;
  }

  /** The server lacks these answers, whatever it said before. */
  async reopen(positions, reason) {
    for (const position of positions) {
      const record = this.given.get(position);
      if (record) await this.outbox.change(record, { state: "aside", refusal: { reason } });
    }
    await this.recall();
  }
}
