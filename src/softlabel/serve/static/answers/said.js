// An answer in the making, apart from how it is drawn.  What somebody does either changes it, and
// says which field and how it is logged, or is refused, and says which text tells why.

/** A half-made answer whose every step can be taken back. */
export class Said {
  constructor(blank) {
    this.blank = blank;
    this.state = blank;
    this.past = [];
  }

  /** Replace parts of the state. */
  step(field, what, changes, more = {}) {
    this.past.push(this.state);
    this.state = { ...this.state, ...changes };
    return { field, what, ...more };
  }

  /** Back by one step; false at the beginning. */
  undo() {
    if (this.past.length === 0) return false;
    this.state = this.past.pop();
    return true;
  }

  /** Go on from what was noted; there is nothing before it to go back to. */
  restore(state) {
    this.past = [];
    this.state = { ...this.blank, ...state };
  }

  /** One word about everything that was not named. */
  sayRest(value) {
    return this.step("rest", `rest:${value}`, { rest: value });
  }
}

/** A step that is not taken; `name` is the text that tells why. */
export function no(name, values = {}) {
  return { refused: name, values };
}

/** The list without the entry, or with it. */
export function without(list, entry) {
  return list.filter((other) => other !== entry);
}
