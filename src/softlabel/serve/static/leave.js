// The last page goes back to the recruiter by itself, unless the person wants to stay.

import { fill } from "./dom.js";

const countdown = document.getElementById("countdown");
const [text, stay] = [countdown.querySelector("p"), countdown.querySelector("button")];
const first = Number(countdown.dataset.seconds);
let seconds = first;

function show() {
  // who has the page read aloud hears the beginning and the end, not every second
  text.setAttribute("aria-live", seconds === first || seconds === 3 ? "polite" : "off");
  text.textContent = fill(countdown.dataset.soon, { seconds });
}

const timer = setInterval(() => {
  seconds -= 1;
  show();
  if (seconds > 0) return;
  clearInterval(timer);
  document.getElementById("leave").click();
}, 1000);

stay.addEventListener("click", () => {
  clearInterval(timer);
  text.setAttribute("aria-live", "polite");
  text.textContent = countdown.dataset.stayed;
  document.getElementById("leave").focus();
  stay.remove();
});
show();
countdown.hidden = false;
