// Runs before anything else on a page; no module, so that it is there first.
(() => {
  const root = document.documentElement;

  // Who covers what he enters must not see it flash up.
  try {
    if (root.classList.contains('may-cover') && localStorage.getItem('cover') === 'on') root.classList.add('covered');
  } catch { /* a browser that keeps nothing covers nothing */ }

  // A script or a stylesheet that is lost on the way: the page says so, and loads again by itself, once.
  const AGAIN_MS = 1500;
  let isWhole = true;
  const unloaded = () => {
    isWhole = false;
    const show = () => {
      const line = document.getElementById('unloaded');
      if (line) line.hidden = false;
    };
    if (document.readyState === 'loading') addEventListener('DOMContentLoaded', show);
    else show();
    if (history.state?.again) return;
    history.replaceState({ again: true }, '');
    setTimeout(() => location.reload(), AGAIN_MS);
  };
  addEventListener('error', ({ target }) => {
    if (target instanceof HTMLScriptElement || target instanceof HTMLLinkElement) unloaded();
  }, true);
  addEventListener('unloaded', unloaded);
  addEventListener('load', () => {
    if (isWhole && history.state?.again) history.replaceState(null, '');
  });

  // A tap on a key whose script is still on its way is kept, and done once all scripts have run.
  let kept = [];
  addEventListener('click', event => {
    if (!kept || !event.target.closest?.('#live :is([type=button], .board)')) return;
    event.stopImmediatePropagation();
    kept.push(event);
  }, true);
  let waits = 2; // for all files, and for the words of the page's language (page.js tells)
  const go = () => {
    waits -= 1;
    if (waits) return;
    const taps = kept;
    kept = null;
    for (const { target, clientX, clientY } of taps) {
      target.dispatchEvent(new MouseEvent('click', { bubbles: true, clientX, clientY }));
    }
  };
  addEventListener('DOMContentLoaded', go, { once: true });
  addEventListener('scripts', go, { once: true });
})();
