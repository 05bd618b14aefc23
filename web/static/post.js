// Asks the table for something; a refusal is said next to the keys.
import { say } from './say.js';

let quiet = 0;

/* Says why not; `link` is the address and the name of the paragraph of the rules that says so. */
export function refuse(text, link) {
  const place = document.getElementById('said');
  if (!place) return;
  place.textContent = text;
  if (text && link) {
    const rule = document.createElement('a');
    [rule.href, rule.textContent] = link;
    place.append(' ', rule);
  }
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => { document.getElementById('said').textContent = ''; }, 8000);
}

/* Sends something to the table. After `patience` seconds without an answer it says so: six windows of one browser have
   all the connections that it opens to one table, and a seventh would wait for ever. */
export async function post(url, body = {}, patience = 15) {
  const stop = new AbortController();
  const late = setTimeout(() => stop.abort(), patience * 1000);
  try {
    const answer = await fetch(url, {
      method: 'POST',
      keepalive: true, // a key let go while the page is closed is let go all the same
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(body),
      signal: stop.signal,
    });
    const told = await answer.json();
    refuse(answer.ok ? '' : told.error.message, told.error?.link);
    return { ok: answer.ok, status: answer.status, ...told };
  } catch {
    refuse(stop.signal.aborted
      ? say('No answer from the table: close other windows of these pages, then try again')
      : say('No connection to the table: try again'));
    return { ok: false, status: 0 };
  } finally {
    clearTimeout(late);
  }
}
