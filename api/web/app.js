/* app.js - the page begins here */
document.getElementById('main').textContent = '';
