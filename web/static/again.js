// A page that waits for something: it asks again by itself, while somebody looks, and shows what has changed. An answer
// that does not come is asked for once more; only what is no such page any more is loaded anew.
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
