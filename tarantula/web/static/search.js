// Optional script of the search pages: completes queries and reloads the status of a suggestion.

const DEBOUNCE_MILLISECONDS = 150;
const RELOAD_MILLISECONDS = 1000;

function completeQueries(field, list) {
  let timer = null;
  let last = null;
  const complete = () => {
    clearTimeout(timer);
    timer = setTimeout(async () => {
      last?.abort();
      last = new AbortController();
      try {
        const response = await fetch(`/search/complete?q=${encodeURIComponent(field.value)}`, { signal: last.signal });
        const completions = response.ok ? await response.json() : [];
        list.replaceChildren(...completions.map((text) => Object.assign(document.createElement("option"), { value: text })));
      } catch {
        // The input has changed: a newer request is running.
      }
    }, DEBOUNCE_MILLISECONDS);
  };
  field.addEventListener("input", complete);
  // The user may have typed before the script was loaded.
  if (field.value !== field.defaultValue) complete();
}

const field = document.getElementById("q");
if (field?.list) completeQueries(field, field.list);
if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), RELOAD_MILLISECONDS);
