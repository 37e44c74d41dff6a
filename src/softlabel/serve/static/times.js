// Times in the reader's own zone.  The server writes UTC, which stays where this does not run.

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
const DAY = new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, dateStyle: "short" });
const TODAY = new Intl.DateTimeFormat("en-GB", { timeZone: ZONE, timeStyle: "medium" });
const BEFORE = new Intl.DateTimeFormat("en-GB", {
  timeZone: ZONE,
  day: "2-digit",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
});

/** Write every time of a page in the reader's zone, name the zone, and tell it to forms. */
export function localise(page) {
  const today = DAY.format(new Date());
  for (const time of page.querySelectorAll("time[datetime]")) {
    const at = new Date(time.dateTime);
    if (Number.isNaN(at.getTime())) continue;
    const format = DAY.format(at) === today ? TODAY : BEFORE;
    time.textContent = format.format(at).replace(",", "");
    time.title = at.toISOString();
  }
  for (const zone of page.querySelectorAll("[data-zone]")) zone.textContent = ZONE;
  for (const field of page.querySelectorAll('input[type="hidden"][name="zone"]')) field.value = ZONE;
}
