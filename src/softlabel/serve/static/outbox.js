// Every answer is written here before anything else happens to it, and stays until the server
// holds it.  One store of records {order, session, uuid, position, envelope, draft, state}, where
// the state is "waiting", "sent" or "aside" (the server refused it, and said why).

/** The item was answered in another tab in the meantime. */
export class AnsweredElsewhere extends Error {}

/** The outbox of one session; in memory where the browser offers no database. */
export async function openOutbox(session) {
  try {
    return new Outbox(await openDatabase(), session);
  } catch {
    return new Outbox(null, session);
  }
}

function openDatabase() {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("softlabel", 1);
    request.onupgradeneeded = () => {
      const store = request.result.createObjectStore("answers", {
        keyPath: "order",
        autoIncrement: true,
      });
      store.createIndex("session", "session");
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
    request.onblocked = () => reject(new Error("blocked"));
  });
}

class Outbox {
  constructor(database, session) {
    this.database = database;
    this.session = session;
    this.memory = new Map();
    database?.addEventListener("versionchange", () => database.close());
    // storage was cleared while the page is open: from now on answers live as long as it does
    database?.addEventListener("close", () => (this.database = null));
  }

  /** True if answers would not outlive the page. */
  get fleeting() {
    return this.database === null;
  }

  /** All records of this session, oldest first. */
  async all() {
    if (this.fleeting) return [...this.memory.values()];
    return this.#run("readonly", (store) => store.index("session").getAll(this.session));
  }

  /** Keep an answer; resolves once it is on disk. An item that is already answered is refused. */
  async put(record) {
    const kept = {
      ...record,
      session: this.session,
      state: "waiting",
      attempts: 0,
      queued: Date.now(),
    };
    if (this.fleeting) {
      kept.order = this.memory.size + 1;
      this.memory.set(kept.order, kept);
      return kept;
    }
    const transaction = this.database.transaction("answers", "readwrite", { durability: "strict" });
    const store = transaction.objectStore("answers");
    const finished = ended(transaction);
    finished.catch(() => {}); // awaited below, or replaced by the better reason
    const before = await asked(store.index("session").getAll(this.session));
    const last = before.filter((old) => old.position === kept.position).at(-1);
    if (last && last.state !== "aside" && kept.envelope.supersedes !== last.uuid) {
      transaction.abort();
      throw new AnsweredElsewhere(kept.position);
    }
    kept.order = await asked(store.add(kept));
    await finished;
    return kept;
  }

  /** Change a record that is there. */
  async change(record, changes) {
    const changed = { ...record, ...changes };
    if (this.fleeting) this.memory.set(changed.order, changed);
    else await this.#run("readwrite", (store) => store.put(changed));
    return changed;
  }

  /** The oldest answer that is still to be sent. */
  async first() {
    return (await this.all()).find((record) => record.state === "waiting") ?? null;
  }

  /** Forget what the server holds: of this session if it is over, of all earlier ones anyway. */
  async tidy(over) {
    if (this.fleeting) return;
    const records = await this.#run("readonly", (store) => store.getAll());
    const done = records.filter((r) => r.state === "sent" && (over || r.session !== this.session));
    for (const record of done) await this.#run("readwrite", (store) => store.delete(record.order));
  }

  async #run(kind, action) {
    const transaction = this.database.transaction("answers", kind);
    const finished = ended(transaction);
    const result = await asked(action(transaction.objectStore("answers")));
    await finished;
    return result;
  }
}

function asked(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

function ended(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the database gave up"));
    transaction.onerror = () => reject(transaction.error);
  });
}
