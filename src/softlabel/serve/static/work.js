// What there is to do in a session: what the server gave out, less what was answered here.

export class Work {
  constructor(plan, outbox) {
    this.outbox = outbox;
    this.given = new Map(); // position -> the latest record of this browser
    this.take(plan);
  }

  take(plan) {
    this.plan = plan;
    this.showings = new Map(plan.showings.map((showing) => [showing.position, showing]));
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
    return this.showings.size - this.open().length;
  }

  /** How many showings come before this one. */
  placeOf(showing) {
    return [...this.showings.keys()].indexOf(showing.position);
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

  /** The answer just given, if it can still be changed. */
  last() {
    const records = [...this.given.values()].sort((a, b) => b.order - a.order);
    const [last = null] = records;
    const held = last !== null && last.state !== "aside" && last.phase === "main";
    return held && this.showings.has(last.position) ? last : null;
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
