// Buttons that make the drawing of this name on the page save itself (event "dpcore:save").

export default function (component) {
  const { data, parentElement } = component;
  if (parentElement.querySelector(".files")) return undefined;
  const row = document.createElement("div");
  row.className = "files";
  for (const [format, label, title] of data.formats) {
    const button = document.createElement("button");
    button.type = "button";
    button.title = title;
    button.textContent = label;
    button.addEventListener("click", () => {
      const detail = { name: data.name, format };
      window.dispatchEvent(new CustomEvent("dpcore:save", { detail }));
    });
    row.append(button);
  }
  parentElement.append(row);
  return () => row.remove();
}
