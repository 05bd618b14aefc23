// Before anything is drawn: who covers what he enters must not see it flash up.
try {
  if (localStorage.getItem('cover') === 'on') document.documentElement.classList.add('covered');
} catch { /* a browser that keeps nothing covers nothing */ }
