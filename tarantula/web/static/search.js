// What the search pages can do better where scripts run: complete what is typed, and look again by themselves.

const PAUSE = 150;
const AGAIN = 1000;

function completing(field, list) {
  let timer = null;
  let last = null;
  const complete = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      last?.abort();
      last = new AbortController();
      try {
        const answer = await fetch(`/search/complete?q=${encodeURIComponent(field.value)}`, { signal: last.signal });
        const found = answer.ok ? await answer.json() : [];
        list.replaceChildren(...found.map((text) => Object.assign(document.createElement("option"), { value: text })));
      } catch {
        // Whoever types on has asked for something else.
      }
    }, PAUSE);
  };
  field.addEventListener("input", complete);
  // Somebody may have typed before this script came.
  if (field.value !== field.defaultValue) complete();
}

const field = document.getElementById("q");
if (field?.list) completing(field, field.list);
if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), AGAIN);
