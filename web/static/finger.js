// A key is pressed where the finger is lifted: the browser's own click comes late on a slow phone. What scrolls or
// zooms is no press, and keys that count from the touch (data-edge) have counted.
document.addEventListener('touchend', event => {
  const { target, clientX, clientY } = event.changedTouches[0];
  const key = event.cancelable ? target.closest?.('button.key:not([data-edge])') : null;
  if (!key?.contains(document.elementFromPoint(clientX, clientY))) return;
  event.preventDefault();
  key.click();
}, { passive: false });
