/** The table of a relation: Python sends its HTML, in which every value is escaped. */
function render({ model, el }) {
  const show = () => {
    el.innerHTML = model.get("html");
  };
  model.on("change:html", show);
  show();
}

export default { render };
