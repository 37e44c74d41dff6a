// Small things a reload must not lose: the half-made answer on the screen and a few last choices.
// Written at once and in one piece, so that nothing lies between a key and its record.

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
