// The standings beside the wall: as many rows as there is room for above the sign; the others come page by page.
const PAGE_MS = 8000;
const LEAST = 3;
let first = 0;

function show() {
  const list = document.querySelector('.ranks ol');
  const sign = document.querySelector('.hub>.sign');
  if (!list || !sign) return;
  const rows = [...list.children];
  if (first >= rows.length) first = 0;
  const top = list.getBoundingClientRect().top + scrollY;
  const behind = list.closest('.side').getBoundingClientRect().bottom - list.getBoundingClientRect().bottom;
  const gap = parseFloat(getComputedStyle(list.closest('.side')).rowGap);
  const room = sign.getBoundingClientRect().top - gap - top - behind;
  let height = 0;
  let shown = 0;
  for (const row of rows.slice(first)) {
    const more = row.getBoundingClientRect().height;
    if (shown >= LEAST && height + more > room) break;
    height += more;
    shown += 1;
  }
  // The list's own attributes are the server's: what follows the table would take them away.
  document.documentElement.style.setProperty('--ranks', `${Math.ceil(height)}px`);
  list.scrollTop = rows[first] ? rows[first].offsetTop - rows[0].offsetTop : 0;
  return first + shown;
}

// The next page; behind the last one the first.
export function turn() {
  first = show() ?? 0;
  show();
}

document.addEventListener('shown', show);
addEventListener('resize', show);
setInterval(turn, PAGE_MS);
show();
