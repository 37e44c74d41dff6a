// An answer as it is kept and sent.

/** The record of an answer to a showing; `skip` is a reason for giving none, `app` our version. */
export function makeRecord({ showing, clock, mode, touched, revising }, skip, app) {
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
  };
}
