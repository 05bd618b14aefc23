// Pages before a player has a seat: the join code, and pages that wait for something.
import { forget, recall, remember } from './page.js';

// ---- the join code ----

// A scanned address has the join code behind a #, which browsers send to no server. It moves from the address into the form
// at once, and is stored for this tab only.
{
  const STORE = 'join-code';
  const field = document.querySelector('input[name="code"]');
  const scanned = location.hash.slice(1);

  if (/^[2-9a-z]{6}$/.test(scanned)) {
    remember(STORE, scanned);
    history.replaceState(null, '', location.pathname + location.search);
  }
  const stored = recall(STORE) ?? '';
  if (field?.dataset.wrong !== undefined) {
    forget(name => name === STORE);
    if (field.value === stored) field.value = ''; // a scanned code has no typing error that could be corrected
  } else if (field && !field.value) field.value = stored;
}

// ---- waiting ----

// A page that waits for something fetches itself every few seconds (`data-again`) while it is visible, and replaces the parts
// that have changed. If a fetch fails, the next one may succeed. If the answer is another page, that page is loaded.
if (document.querySelector('[data-again]')) {
  const waiting = document.querySelector('[data-again]');
  let isFetching = false;

  // Replace the parts of the page that differ from those of its newer version.
  function showParts(newer) {
    const parts = [...newer.children];
    parts.forEach((part, index) => {
      const oldPart = waiting.children[index];
      if (!oldPart) waiting.append(part);
      else if (!oldPart.isEqualNode(part)) oldPart.replaceWith(part);
    });
    while (waiting.children.length > parts.length) waiting.lastElementChild.remove();
  }

  async function refresh() {
    if (document.hidden || isFetching) return;
    isFetching = true;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', headers: { Accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const newer = page.querySelector('[data-again]');
      if (newer && !answer.redirected) showParts(newer);
      else {
        clearInterval(timer); // the address may be a download now, which leaves this page open
        location.replace(location.href);
      }
    } catch {
      // no connection: the next fetch comes soon
    }
    isFetching = false;
  }

  const timer = setInterval(refresh, waiting.dataset.again * 1000);
  document.addEventListener('visibilitychange', refresh);
}
