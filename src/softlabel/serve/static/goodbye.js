// The person has left the study: what this browser still keeps of their session goes as well.

import { Notes, openOutbox } from "./storage.js";

const session = Notes.latest();
if (session !== null) {
  new Notes(session).tidy(true);
  const outbox = await openOutbox(session);
  await outbox.forget();
}
