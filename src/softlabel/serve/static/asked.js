// Questions that follow from another answer: hidden until it is given.  Without script all of them
// are to be seen, and say when they apply; the server decides either way.

const follow = [...document.querySelectorAll("[data-depends]")];

/** The places of the options that are picked in a field; none of one that is hidden. */
function picked(name) {
  const boxes = [...document.querySelectorAll("input")].filter(
    (box) => box.name === name || box.name.startsWith(`${name}.`),
  );
  const places = boxes.map((box) => (box.type === "radio" ? box.value : box.name.split(".")[1]));
  return places.filter((_, i) => boxes[i].checked && !boxes[i].disabled);
}

/** Show what applies; one question may depend on another that depends on a third. */
function show() {
  for (const question of follow) {
    const { depends, places } = question.dataset;
    const wanted = places.split(" ");
    const hidden = !picked(depends).some((place) => wanted.includes(place));
    question.hidden = hidden;
    for (const field of question.querySelectorAll("input, textarea")) field.disabled = hidden;
  }
}

for (const note of document.querySelectorAll(".only-if")) note.remove();
document.addEventListener("change", show);
window.addEventListener("pageshow", show); // a page from the browser's history has its old picks
show();
