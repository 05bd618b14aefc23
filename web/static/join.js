// Pages before a seat: the code for sitting down, and pages that wait for something.
import { forget, recall, remember } from './page.js';

// ---- the code ----

// The code for sitting down comes in the address behind a #, which no server and no log ever sees: from there into the
// form, and out of the address at once. It is kept for this tab alone.
{
  const KEPT = 'join-code';
  const field = document.querySelector('input[name="code"]');
  const given = location.hash.slice(1);

  if (/^[2-9a-z]{6}$/.test(given)) {
    remember(KEPT, given);
    history.replaceState(null, '', location.pathname + location.search);
  }
  const kept = recall(KEPT) ?? '';
  if (field?.dataset.wrong !== undefined) {
    forget(name => name === KEPT);
    if (field.value === kept) field.value = ''; // scanned, not typed: there is nothing to be mended in it
  } else if (field && !field.value) field.value = kept;
}

// ---- waiting ----

// A page that waits for something: it asks again by itself, while somebody looks, and shows what has changed. An answer
// that does not come is asked for once more; only what is no such page any more is loaded anew.
if (document.querySelector('[data-again]')) {
  const waiting = document.querySelector('[data-again]');
  let asking = false;

  function show(fresh) {
    const parts = [...fresh.children];
    parts.forEach((part, place) => {
      const old = waiting.children[place];
      if (!old) waiting.append(part);
      else if (!old.isEqualNode(part)) old.replaceWith(part);
    });
    while (waiting.children.length > parts.length) waiting.lastElementChild.remove();
  }

  async function ask() {
    if (document.hidden || asking) return;
    asking = true;
    try {
      const answer = await fetch(location.href, { cache: 'no-store', headers: { Accept: 'text/html' } });
      const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const fresh = page.querySelector('[data-again]');
      if (fresh && !answer.redirected) show(fresh);
      else {
        clearInterval(timer); // what comes may be a file, which leaves this page where it is
        location.replace(location.href);
      }
    } catch {
      // No connection: the next time comes soon.
    }
    asking = false;
  }

  const timer = setInterval(ask, waiting.dataset.again * 1000);
  document.addEventListener('visibilitychange', ask);
}
