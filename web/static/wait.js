// Work that takes its time says so on the key that asked for it, until its answer is there: then the service sets a cookie.
const LOOK_MS = 250;
const works = new Map();

function begin(key, words, token) {
  const note = key.querySelector('small') ?? key.appendChild(document.createElement('small'));
  const before = note.textContent;
  const since = performance.now();
  const end = () => {
    clearInterval(timer);
    works.delete(key);
    key.removeAttribute('data-busy');
    note.textContent = before;
  };
  const tell = () => {
    const seconds = Math.floor((performance.now() - since) / 1000);
    note.textContent = seconds ? `${words} ${seconds} s` : words;
    if (document.cookie.includes(`made=${token}`)) end();
  };
  const timer = setInterval(tell, LOOK_MS);
  key.setAttribute('data-busy', '');
  works.set(key, end);
  tell();
}

const fresh = () => crypto.getRandomValues(new Uint32Array(1))[0].toString(36);

document.addEventListener('click', event => {
  const key = event.target.closest?.('a[data-wait]');
  if (!key) return;
  if (works.has(key)) {
    event.preventDefault();
    return;
  }
  const url = new URL(key.href);
  const token = fresh();
  url.searchParams.set('wait', token);
  key.href = url;
  begin(key, key.dataset.wait, token);
});

document.addEventListener('submit', event => {
  const form = event.target.closest('form[data-wait]');
  if (!form || !event.submitter) return;
  if (works.has(event.submitter)) {
    event.preventDefault();
    return;
  }
  const token = fresh();
  const field = form.querySelector('[name=wait]') ?? form.appendChild(Object.assign(document.createElement('input'), { type: 'hidden', name: 'wait' }));
  field.value = token;
  begin(event.submitter, form.dataset.wait, token);
});

addEventListener('pageshow', () => { for (const end of [...works.values()]) end(); });
