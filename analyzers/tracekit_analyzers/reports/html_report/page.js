(function () {
  "use strict";
  var list = document.getElementById("runs-list");
  if (!list) return;
  var items = Array.prototype.slice.call(list.children);
  var bar = document.getElementById("tools"), words = document.getElementById("words");
  var kind = document.getElementById("kind"), told = document.getElementById("told");
  function apply() {
    var wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean), shown = 0;
    items.forEach(function (item) {
      var head = (item.querySelector("summary") || item).textContent.toLowerCase();
      var fits = (!kind.value || item.getAttribute("data-code") === kind.value) &&
        wanted.every(function (word) { return head.indexOf(word) >= 0; });
      item.hidden = !fits;
      if (fits) shown += 1;
    });
    told.textContent = shown + " of " + items.length + " shown";
  }
  function toTarget() {
    var found = location.hash && document.getElementById(location.hash.slice(1));
    if (!found || !list.contains(found)) return;
    words.value = ""; kind.value = ""; apply();
    if (found.tagName === "DETAILS") found.open = true;
    found.scrollIntoView();
  }
  words.addEventListener("input", apply);
  kind.addEventListener("change", apply);
  document.getElementById("fold").addEventListener("click", function () {
    items.forEach(function (item) { item.open = false; });
  });
  window.addEventListener("hashchange", toTarget);
  bar.hidden = false;
  apply();
  toTarget();
})();
