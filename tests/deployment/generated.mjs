// A client made from a door's OpenAPI document alone: one function for each operation, with fetch.
// Usage: node generated.mjs ADDRESS-OF-THE-DOCUMENT TOKEN
const [address, token] = process.argv.slice(2);
const document = await (await fetch(address)).json();
const base = new URL(document.servers[0].url, address);

function client(path, method, operation) {
  return async (given = {}) => {
    const place = { path: {}, query: new URLSearchParams(), header: {} };
    for (const { name, in: where } of operation.parameters ?? []) {
      const value = given[name];
      if (value === undefined) continue;
      if (where === "query") place.query.set(name, value);
      else place[where][name] = value;
    }
    const filled = path.replace(/{(\w+)}/g, (_, name) => encodeURIComponent(place.path[name]));
    const url = new URL(filled, base);
    url.search = place.query;
    const headers = { ...place.header };
    if (operation.security.length > 0) headers.authorization = `Bearer ${token}`;
    if (operation.requestBody) headers["content-type"] = Object.keys(operation.requestBody.content)[0];
    const body = operation.requestBody && JSON.stringify(given.body);
    const answer = await fetch(url, { method, headers, body });
    const described = operation.responses[String(answer.status)];
    if (!described) throw new Error(`${path}: ${answer.status} is not described`);
    const text = await answer.text();
    const kind = answer.headers.get("content-type") ?? "";
    return { status: answer.status, headers: answer.headers, body: kind.includes("json") ? JSON.parse(text) : text };
  };
}

const api = {};
for (const [path, methods] of Object.entries(document.paths))
  for (const [method, operation] of Object.entries(methods))
    api[operation.operationId] = client(path, method.toUpperCase(), operation);

const actions = JSON.parse(process.env.ACTIONS);
const asked = { body: { actions } };
const first = await api.post_v1_decisions({ ...asked, "Idempotency-Key": "one-request" });
const again = await api.post_v1_decisions({ ...asked, "Idempotency-Key": "one-request" });
const other = await api.post_v1_decisions({ ...asked, "Idempotency-Key": "another" });
const told = await api.post_v1_rewards({ body: { decision_id: first.body.decision_id, reward: 1 } });
const twice = await api.post_v1_rewards({ body: { decision_id: first.body.decision_id, reward: 1 } });
const status = await api.get_v1_status();
const ready = await api.get_readyz();
console.log(JSON.stringify({
  first: first.body, again: again.body, other: other.body, key: first.headers.get("idempotency-key"),
  told: told.status, twice: twice.body.type, decisions: status.body.decisions, ready: ready.body.ready,
}));
