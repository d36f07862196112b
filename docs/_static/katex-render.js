// Sets the formulas of a page: Sphinx leaves them as \(...\) and \[...\] in elements of class "math".
document.addEventListener("DOMContentLoaded", () => {
  for (const element of document.querySelectorAll(".math")) {
    const number = element.querySelector(".eqno");
    if (number) number.remove();
    const text = element.textContent.trim();
    const display = text.startsWith("\\[");
    katex.render(text.slice(2, -2), element, {displayMode: display, throwOnError: false});
    if (number) element.prepend(number);
  }
});
