// Asks the table for something; a refusal is said next to the keys.
let quiet = 0;

export function say(text) {
  const place = document.getElementById('said');
  if (!place) return;
  place.textContent = text;
  clearTimeout(quiet);
  if (text) quiet = setTimeout(() => { document.getElementById('said').textContent = ''; }, 8000);
}

export async function post(url, body = {}) {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      keepalive: true, // a key let go while the page is closed is let go all the same
      headers: { 'Content-Type': 'application/json', Accept: 'application/json' },
      body: JSON.stringify(body),
    });
    const told = await answer.json();
    say(answer.ok ? '' : told.error.message);
    return { ok: answer.ok, status: answer.status, ...told };
  } catch {
    say('No connection to the table: try again');
    return { ok: false, status: 0 };
  }
}
