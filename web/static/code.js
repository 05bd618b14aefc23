// The code for sitting down comes in the address behind a #, which no server and no log ever sees: from there into the
// form, and out of the address at once. It is kept for this tab alone.
const KEPT = 'join-code';
const field = document.querySelector('input[name="code"]');
const given = location.hash.slice(1);

if (/^[2-9a-z]{6}$/.test(given)) {
  sessionStorage.setItem(KEPT, given);
  history.replaceState(null, '', location.pathname + location.search);
}
const kept = sessionStorage.getItem(KEPT) ?? '';
if (field?.dataset.wrong !== undefined) {
  sessionStorage.removeItem(KEPT);
  if (field.value === kept) field.value = ''; // scanned, not typed: there is nothing to be mended in it
} else if (field && !field.value) field.value = kept;
