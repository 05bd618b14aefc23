// A page that waits for something: it asks again by itself, while somebody looks.
const { again } = document.querySelector('[data-again]').dataset;
const ask = () => { if (!document.hidden) location.replace(location.href); };
setInterval(ask, again * 1000);
document.addEventListener('visibilitychange', ask);
