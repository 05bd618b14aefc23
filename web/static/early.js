// A tap on a key whose script has not come yet is kept and done when it has: at first the page's own scripts are on their
// way, later those of what a fragment brings (ways.js). No module: it is there before the first key is.
(() => {
  const KEYS = '#live :is(button[type="button"], .view .board)';
  const kept = [];
  let coming = 1;
  addEventListener('click', event => {
    const key = coming > 0 && event.target.closest?.(KEYS);
    if (!key) return;
    kept.push(event);
    event.preventDefault();
    event.stopImmediatePropagation();
  }, true);
  function come() {
    coming -= 1;
    if (coming > 0) return;
    for (const { target, clientX, clientY } of kept.splice(0)) {
      target.dispatchEvent(new MouseEvent('click', { bubbles: true, cancelable: true, clientX, clientY }));
    }
  }
  document.addEventListener('coming', () => { coming += 1; });
  document.addEventListener('come', come);
  document.addEventListener('DOMContentLoaded', come); // modules have run before
})();
