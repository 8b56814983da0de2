// Searches the pages' texts as you type. Pages with the words in their title come first, then those that have them most often.
const form = document.querySelector("#search"), input = form.querySelector("input"), list = form.querySelector("ol");
const root = new URL(".", document.currentScript.src);
let pages;

const count = (text, word) => text.split(word).length - 1;

async function search() {
  const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
  list.replaceChildren();
  list.hidden = words.length === 0;
  if (list.hidden) return;
  pages ??= fetch(new URL("index.json", root)).then((answer) => answer.json());
  const found = (await pages)
    .map((page) => {
      const title = page.title.toLowerCase(), text = page.text.toLowerCase();
      const hits = words.map((word) => 100 * count(title, word) + count(text, word));
      return { page, text, score: Math.min(...hits) };
    })
    .filter((result) => result.score > 0)
    .sort((a, b) => b.score - a.score)
    .slice(0, 12);
  for (const { page, text } of found) {
    const at = Math.max(0, text.indexOf(words[0]) - 60);
    const link = document.createElement("a"), place = document.createElement("small"), item = document.createElement("li");
    link.href = new URL(page.url, root);
    link.textContent = page.title;
    place.textContent = page.text.slice(at, at + 160);
    link.append(place);
    item.append(link);
    list.append(item);
  }
  if (found.length === 0) list.textContent = "No page has all of these words.";
}

input.addEventListener("input", search);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  list.querySelector("a")?.click();
});
if (window.matchMedia("(max-width: 52rem)").matches) document.querySelector("nav details").open = false;
