// Lists the operations of the OpenAPI document and sends requests. Everything that comes from the server is put in as
// text, never as markup. The token is a variable of this page: it is not stored, and is gone when the page is.
"use strict";

const ANSWER_CHARACTERS_MAX = 1_000_000;
const METHODS = ["get", "post", "put", "delete"];
let token = "";
let description = null;

const byId = (id) => document.getElementById(id);

function made(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    element[name] = value;
  }
  element.append(...children);
  return element;
}

byId("opening").addEventListener("submit", async (event) => {
  event.preventDefault();
  token = byId("token").value.trim();
  const said = byId("said");
  try {
    const answer = await fetch("/api/v1/openapi.json", { headers: { Authorization: `Bearer ${token}` } });
    const found = await answer.json();
    if (!answer.ok) {
      said.textContent = found.detail;
      return;
    }
    description = found;
    byId("token").value = "";
    said.textContent = `Version ${description.info.version}.`;
    draw();
  } catch (error) {
    said.textContent = `The server does not answer: ${error.message}`;
  }
});

function draw() {
  const sections = new Map(description.tags.map(({ name }) => [name, made("section", {}, made("h2", { textContent: name }))]));
  for (const [path, methods] of Object.entries(description.paths)) {
    for (const method of METHODS.filter((one) => one in methods)) {
      sections.get(methods[method].tags[0]).append(operation(path, method, methods[method]));
    }
  }
  byId("operations").replaceChildren(...sections.values());
}

function operation(path, method, declared) {
  const head = made(
    "summary",
    {},
    made("span", { className: "method", textContent: method.toUpperCase() }),
    made("code", { textContent: path }),
    declared.summary,
  );
  const found = made("details", {}, head);
  found.addEventListener("toggle", () => found.children.length === 1 && found.append(form(path, method, declared)));
  return found;
}

function form(path, method, declared) {
  const asked = made("form", { className: "asking" }, made("p", { textContent: declared.description }));
  const inputs = (declared.parameters || []).map((parameter) => {
    const input = made("input", { required: parameter.required, placeholder: hint(parameter.schema) });
    asked.append(line(`${parameter.name} (${parameter.in})`, input, parameter.description || parameter.schema.description));
    return [parameter, input];
  });
  const media = Object.keys(declared.requestBody?.content || {})[0];
  const body = media && made("textarea", { value: example(declared.requestBody.content[media].schema), spellcheck: false });
  if (body) {
    asked.append(line(media, body));
  }
  const shown = made("pre", { hidden: true });
  const stop = made("button", { type: "button", textContent: "Stop", hidden: true });
  asked.append(made("div", {}, made("button", { textContent: "Send" }), " ", stop), shown);
  asked.addEventListener("submit", (event) => {
    event.preventDefault();
    send(path, method, inputs, media, body, shown, stop);
  });
  return asked;
}

function line(name, input, why) {
  const found = made("label", {}, made("span", { textContent: name }), input);
  if (why) {
    found.append(made("span", { className: "why", textContent: why }));
  }
  return found;
}

function hint(schema) {
  return schema.enum ? schema.enum.join(" | ") : schema.default === undefined ? schema.type || "" : String(schema.default);
}

function resolved(schema) {
  const name = schema.$ref?.split("/").pop();
  return name ? description.components.schemas[name] : schema;
}

function example(given) {
  const schema = resolved(given);
  const fields = Object.entries(schema.properties || {}).map(([name, field]) => [
    name,
    field.default !== undefined ? field.default : resolved(field).type === "object" ? {} : "",
  ]);
  return JSON.stringify(Object.fromEntries(fields), null, 2);
}

async function send(path, method, inputs, media, body, shown, stop) {
  const ending = new AbortController();
  const request = { method: method.toUpperCase(), headers: { Authorization: `Bearer ${token}` }, signal: ending.signal };
  const query = new URLSearchParams();
  let target = path;
  for (const [parameter, input] of inputs.filter(([, input]) => input.value !== "")) {
    if (parameter.in === "path") {
      target = target.replace(`{${parameter.name}}`, encodeURIComponent(input.value));
    } else if (parameter.in === "query") {
      query.set(parameter.name, input.value);
    } else {
      request.headers[parameter.name] = input.value;
    }
  }
  if (body) {
    request.headers["Content-Type"] = media;
    request.body = body.value;
  }
  stop.hidden = false;
  stop.onclick = () => ending.abort();
  shown.hidden = false;
  shown.textContent = "…";
  try {
    await show(await fetch(query.size ? `${target}?${query}` : target, request), shown);
  } catch (error) {
    shown.textContent += `\n${error.name === "AbortError" ? "stopped" : error.message}`;
  } finally {
    stop.hidden = true;
  }
}

async function show(answer, shown) {
  shown.classList.toggle("refused", !answer.ok);
  const head = `${answer.status} ${answer.statusText}\n${answer.headers.get("content-type") || ""}\n\n`;
  shown.textContent = head;
  let text = "";
  if (answer.body) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
      text = (text + piece.value).slice(-ANSWER_CHARACTERS_MAX);
      shown.textContent = head + text;
    }
  }
  shown.textContent = head + pretty(text);
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}
