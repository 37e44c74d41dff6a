// Pages that stay true while you look at them: every few seconds the page is fetched again and
// the regions marked data-live are exchanged, but only those that changed, and only while the
// tab is visible.  The document is parsed by the browser itself; no markup is ever assigned.

import { localise } from "./times.js";

const EVERY = 5000;
const SOON = 1500;
const SLOWEST = 60000;

const button = document.getElementById("live");
let timer = 0;
let wait = EVERY;
let paused = sessionStorage.getItem("live") === "paused";

function fetchPage(done, failed) {
  const request = new XMLHttpRequest();
  request.open("GET", location.href);
  request.responseType = "document";
  request.timeout = 20000;
  request.onload = () => {
    // a page without the regions is the login page: the session has ended
    if (request.status === 200 && request.response) done(request.response);
    else failed();
  };
  request.onerror = failed;
  request.ontimeout = failed;
  request.send();
}

function pathTo(region, node) {
  const path = [];
  for (; node !== region; node = node.parentElement) {
    path.unshift(Array.prototype.indexOf.call(node.parentElement.children, node));
  }
  return path;
}

function follow(region, path) {
  return path.reduce((node, place) => node && node.children[place], region);
}

function exchange(page) {
  localise(page);
  for (const region of document.querySelectorAll("[data-live]")) {
    const fresh = page.getElementById(region.id);
    // an open list is in use: it waits until it is closed again
    if (!fresh || region.isEqualNode(fresh) || region.querySelector("details[open]")) continue;
    const active = document.activeElement;
    const path = region.contains(active) ? pathTo(region, active) : null;
    const taken = document.adoptNode(fresh);
    region.replaceWith(taken);
    const again = path && follow(taken, path); // whoever was on a link still is
    if (again) again.focus({ preventScroll: true });
  }
}

function schedule() {
  clearTimeout(timer);
  // a page on which something is still being computed looks again soon
  const unfinished = wait === EVERY && document.querySelector("[data-soon]") !== null;
  if (!paused) timer = setTimeout(refresh, unfinished ? SOON : wait);
}

function refresh() {
  if (document.visibilityState !== "visible") return; // woken by visibilitychange
  fetchPage(
    (page) => {
      if (page.querySelector("[data-live]") === null) return location.reload();
      exchange(page);
      wait = EVERY;
      say();
      schedule();
    },
    () => {
      wait = Math.min(wait * 2, SLOWEST);
      say("No connection; trying again");
      schedule();
    },
  );
}

function say(trouble) {
  button.textContent = paused ? "Resume updates" : "Pause updates";
  document.documentElement.dataset.live = trouble ? "lost" : paused ? "paused" : "on";
  document.getElementById("trouble").textContent = trouble || "";
}

localise(document);

if (button !== null) {
  button.hidden = false;
  button.addEventListener("click", () => {
    paused = !paused;
    sessionStorage.setItem("live", paused ? "paused" : "on");
    say();
    if (paused) clearTimeout(timer);
    else refresh();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible" && !paused) refresh();
  });
  say();
  schedule();
}
