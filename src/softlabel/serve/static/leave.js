// The last page goes back to the recruiter by itself, unless the person wants to stay.

import { fill } from "./dom.js";

const countdown = document.getElementById("countdown");
const [text, stay] = [countdown.querySelector("p"), countdown.querySelector("button")];
let seconds = Number(countdown.dataset.seconds);

function show() {
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
  text.textContent = countdown.dataset.stayed;
  stay.remove();
});
show();
countdown.hidden = false;
