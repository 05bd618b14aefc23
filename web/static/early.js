// A tap on a key whose script is still on its way (the page's own, or a fragment's: ways.js) is kept and done when it has
// come. No module: it is there before the first key is.
(() => {
  const kept = [];
  let coming = 1;
  addEventListener('click', event => {
    if (!coming || !event.target.closest?.('#live :is([type=button], .board)')) return;
    event.stopImmediatePropagation();
    kept.push(event);
  }, true);
  const come = () => {
    coming -= 1;
    if (coming) return;
    for (const { target, clientX, clientY } of kept.splice(0)) {
      target.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX, clientY }));
    }
  };
  addEventListener('coming', () => { coming += 1; });
  addEventListener('come', come);
  addEventListener('DOMContentLoaded', come); // modules have run before
})();
