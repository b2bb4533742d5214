"use strict";
const at = (id) => document.getElementById(id);
const word = document.querySelector("meta[name=word]").content;

function show(now) {
  at("problems").replaceChildren(...now.problems.map((p) => p.message).concat(now.missing.map((name) => `${name} is missing`)).map((text) => {
    const item = document.createElement("li");
    item.textContent = text;
    return item;
  }));
  if (now.done) at("main").textContent = now.complete ? "The form is complete. You can close this page." : "The form stays open. You can close this page.";
}

async function begin() {
  const form = await (await fetch("form.json")).json();
  const editor = new JSONEditor(at("form"), {
    schema: form.schema, startval: form.values, theme: "html", ajax: false, disable_collapse: true, disable_edit_json: true, disable_properties: true,
    remove_empty_properties: true, show_errors: "never",
  });
  const send = async (leave) => {
    at("problems").textContent = "";
    try {
      const answer = await fetch("answer", { method: "POST", headers: { "Content-Type": "application/json", "X-Word": word }, body: JSON.stringify({ leave, values: leave ? {} : editor.getValue() }) });
      if (!answer.ok) throw new Error(await answer.text());
      show(await answer.json());
    } catch (error) {
      show({ problems: [{ message: String(error.message) }], missing: [] });
    }
  };
  at("send").addEventListener("click", () => send(false));
  at("leave").addEventListener("click", () => send(true));
  show(form);
  editor.on("ready", () => { at("main").dataset.ready = "yes"; });
}
begin();
