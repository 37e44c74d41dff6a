// The end of a session: whoever has answered everything is let through once the server has it all.

import { backoff, call, getPlan, later } from "./server.js";

/** Wait until all answers are stored, then go on to the next page; or give again what is missing. */
export async function finish(task) {
  task.current?.clock.stop();
  task.current = null;
  task.notes.set("screen", null);
  const { total } = task.work.plan;
  task.frame.progress(total, total, "main");
  task.screen = null;
  task.frame.mark({ phase: "finishing" });
  task.pauseWith(task.texts.finish_title, task.texts.finish_text);
  await task.sent();
  if (task.work.open().length > 0) return task.next(); // one was refused at the last moment
  const { next, missing } = await askToFinish(() => task.tell({ waiting: 0, failing: true }));
  return next === undefined ? giveAgain(task, missing) : leave(task, next);
}

/** Ask to be let through; the address to go to, or the positions that are missing. */
async function askToFinish(onwait) {
  for (let failures = 0; ; failures += 1) {
    const { status, body, after } = await call("POST", "/api/finish", {});
    if (status === 200) return body.open ? { next: body.next } : { missing: body.missing };
    if (status === 401 || status === 409) return { next: "/" };
    onwait(true);
    await later(Math.max(after, backoff(failures)));
  }
}

async function giveAgain(task, missing) {
  await task.work.reopen(missing, task.texts.lost);
  task.work.take(await getPlan());
  return task.next();
}

/** Send what is left, forget everything here, and go. */
export async function leave(task, next) {
  await task.sent();
  await task.outbox.tidy(true);
  task.notes.tidy(true);
  location.assign(next);
}
