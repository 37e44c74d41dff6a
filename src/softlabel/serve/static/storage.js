// What this browser keeps.  The outbox holds every answer before anything else happens to it, until
// the server has it: records {order, session, uuid, position, envelope, draft, state}, where the
// state is "waiting", "sent" or "aside" (the server refused it, and said why).  Notes hold small
// things that a reload must not lose: the half-made answer on the screen and a few last choices.

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
    this.session = session;
    this.memory = new Map(); // order -> record: what this tab knows, in case the database fails
    this.#use(database);
  }

  /** True if answers would not outlive the page. */
  get fleeting() {
    return this.database === null;
  }

  /** All records of this session, oldest first. */
  async all() {
    const found = await this.#run("readonly", (store) => recordsOf(store, this.session));
    if (found) this.memory = new Map(found.map((record) => [record.order, record]));
    return [...this.memory.values()];
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
    const order = await this.#run("readwrite", async (store) => {
      refuseTwins(await recordsOf(store, this.session), kept);
      return asked(store.add(kept));
    });
    if (order === null) refuseTwins([...this.memory.values()], kept);
    kept.order = order ?? Math.max(0, ...this.memory.keys()) + 1;
    this.memory.set(kept.order, kept);
    return kept;
  }

  /** Change a record that is there. */
  async change(record, changes) {
    const changed = { ...record, ...changes };
    this.memory.set(changed.order, changed);
    await this.#run("readwrite", (store) => asked(store.put(changed)));
    return changed;
  }

  /** Forget one record, as if it had never been given. */
  async drop({ order }) {
    this.memory.delete(order);
    await this.#drop((record) => record.order === order);
  }

  /** The oldest answer that is still to be sent. */
  async first() {
    return (await this.all()).find((record) => record.state === "waiting") ?? null;
  }

  /** Forget what is settled: of this session if it is over, of all earlier ones anyway. */
  async tidy(over) {
    const settled = (record) => record.state !== "waiting";
    await this.#drop((record) => settled(record) && (over || record.session !== this.session));
  }

  /** Forget everything of this session, sent or not. */
  async forget() {
    await this.#drop((record) => record.session === this.session);
  }

  async #drop(unwanted) {
    await this.#run("readwrite", async (store) => {
      for (const record of (await asked(store.getAll())).filter(unwanted))
        await asked(store.delete(record.order));
    });
  }

  #use(database) {
    this.database = database;
    database?.addEventListener("versionchange", () => database.close());
  }

  /**
   * Act on the database. Where it fails (storage cleared or full, connection closed), a new
   * connection is tried; where that fails too, answers live as long as the page: null.
   */
  async #run(kind, action) {
    for (let tries = 0; this.database && tries < 2; tries += 1) {
      try {
        return await transact(this.database, kind, action);
      } catch (error) {
        if (error instanceof AnsweredElsewhere) throw error;
        this.database.close();
        this.#use(tries === 0 ? await this.#reopened() : null);
      }
    }
    return null;
  }

  /** A new connection to a database that holds what this tab knows, or null. */
  async #reopened() {
    try {
      const database = await openDatabase();
      await transact(database, "readwrite", async (store) => {
        for (const record of this.memory.values()) await asked(store.put(record));
      });
      return database;
    } catch {
      return null;
    }
  }
}

function recordsOf(store, session) {
  return asked(store.index("session").getAll(session));
}

/** An item is answered once, unless the new answer revises the last one or that was refused. */
function refuseTwins(before, kept) {
  const last = before.filter((old) => old.position === kept.position).at(-1);
  if (last && last.state !== "aside" && kept.envelope.supersedes !== last.uuid)
    throw new AnsweredElsewhere(kept.position);
}

/** Run an action in a transaction of its own; resolves once that is on disk. */
async function transact(database, kind, action) {
  const transaction = database.transaction("answers", kind, { durability: "strict" });
  const finished = ended(transaction);
  finished.catch(() => {}); // awaited below, or replaced by the better reason
  try {
    const result = await action(transaction.objectStore("answers"));
    await finished;
    return result;
  } catch (error) {
    if (error instanceof AnsweredElsewhere) transaction.abort();
    throw error;
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

// notes, written at once and in one piece --------------------------------------------------

const PREFIX = "softlabel:";

const LATEST = "softlabel-session"; // whose answers this browser took last

/** The notes of one session. */
export class Notes {
  /** The session that was under way here last, or null. */
  static latest() {
    try {
      return localStorage.getItem(LATEST);
    } catch {
      return null;
    }
  }

  constructor(session) {
    this.session = session;
    this.prefix = `${PREFIX}${session}:`;
  }

  get(name) {
    try {
      return JSON.parse(localStorage.getItem(this.prefix + name) ?? "null");
    } catch {
      return null; // storage forbidden, or not ours: the screen then starts blank
    }
  }

  set(name, value) {
    try {
      if (value === null) localStorage.removeItem(this.prefix + name);
      else localStorage.setItem(this.prefix + name, JSON.stringify(value));
    } catch {
      // storage full or forbidden: the answer itself is in the outbox, only this comfort is missing
    }
  }

  /** This session is under way now. */
  begin() {
    try {
      localStorage.setItem(LATEST, this.session);
    } catch {
      // storage forbidden: then there is nothing to find again either
    }
    this.tidy(false);
  }

  /** Forget other people's notes on this machine; also our own once the session is over. */
  tidy(over) {
    try {
      for (const name of Object.keys(localStorage)) {
        const ours = name.startsWith(this.prefix);
        if (name.startsWith(PREFIX) && (over || !ours)) localStorage.removeItem(name);
      }
      if (over) localStorage.removeItem(LATEST);
    } catch {
      // nothing could be stored in the first place
    }
  }
}
