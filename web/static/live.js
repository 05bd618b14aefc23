// Follows the table: one stream a page; fragments are morphed into place, so that focus and typed text stay.
const lost = document.getElementById('lost');
const KEPT = new Set(['open']);
let stream = null;
let again = 0;

function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeType !== fresh.nodeType || old.nodeName !== fresh.nodeName || old.id !== fresh.id) {
    old.replaceWith(fresh);
    return;
  }
  if (old.nodeType !== Node.ELEMENT_NODE) {
    old.data = fresh.data;
    return;
  }
  // What a script owns stays as it is until the server means another one.
  if (old.dataset.own !== undefined && old.dataset.own === fresh.dataset.own) return;
  const keeps = name => KEPT.has(name) || (name === 'hidden' && 'second' in old.dataset && 'second' in fresh.dataset);
  for (const { name, value } of [...fresh.attributes]) {
    if (old.getAttribute(name) !== value && !keeps(name)) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (!fresh.hasAttribute(name) && !keeps(name)) old.removeAttribute(name);
  }
  const children = [...fresh.childNodes];
  children.forEach((child, place) => {
    const named = child.id && [...old.children].find(other => other.id === child.id);
    if (named && named !== old.childNodes[place]) old.insertBefore(named, old.childNodes[place] ?? null);
    if (old.childNodes[place]) morph(old.childNodes[place], child);
    else old.append(child);
  });
  while (old.childNodes.length > children.length) old.lastChild.remove();
}

function show(html) {
  const page = new DOMParser().parseFromString(html, 'text/html');
  for (const fresh of [...page.body.children]) {
    if (fresh.dataset.go) {
      close();
      location.replace(fresh.dataset.go);
      return;
    }
    const old = document.getElementById(fresh.id);
    if (old) morph(old, document.adoptNode(fresh));
  }
  document.dispatchEvent(new Event('shown'));
}

function open() {
  close();
  if (document.hidden) return;
  stream = new EventSource(document.body.dataset.live);
  stream.onopen = () => { lost.hidden = true; };
  stream.onmessage = event => show(event.data);
  stream.onerror = () => {
    lost.hidden = false;
    // A refused stream (too many viewers, a freed seat) is not tried again by the browser.
    if (stream?.readyState === EventSource.CLOSED) again = setTimeout(open, 2000);
  };
  document.dispatchEvent(new CustomEvent('stream', { detail: stream }));
}

function close() {
  clearTimeout(again);
  stream?.close();
  stream = null;
}

document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
addEventListener('pagehide', close);
addEventListener('pageshow', event => { if (event.persisted) open(); });
// Other modules listen first: they are loaded after this one.
addEventListener('DOMContentLoaded', open);
if (document.readyState === 'complete') open();
