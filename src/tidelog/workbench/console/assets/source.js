/** Where the page has its data from: a server, or the data in the file of the page. */

import { json, parse } from "console/api";

const embedded = document.getElementById("snapshot");

class Server {
  isLive = true;
  relations = () => json("/v1/relations");
  rules = () => json("/v1/rules");
  graph = () => json("/v1/graph");
  profile = () => json("/v1/profile");
  lastCheck = () => json("/v1/check");

  rows(name, { filters = {}, order = "", descending = false, cursor = "" }) {
    const parameters = new URLSearchParams({ limit: "100" });
    if (cursor) parameters.set("cursor", cursor);
    else {
      for (const [column, text] of Object.entries(filters)) if (text !== "") parameters.set(`filter[${column}]`, text);
      if (order) parameters.set("order", order);
      if (order && descending) parameters.set("descending", "true");
    }
    return json(`/v1/relations/${encodeURIComponent(name)}?${parameters}`);
  }
}

class File {
  isLive = false;

  constructor(text) {
    this.data = parse(text);
  }

  relations = async () => this.data.relations;
  rules = async () => this.data.rules;
  graph = async () => this.data.graph;
  profile = async () => this.data.profile;
  lastCheck = async () => this.data.check;

  async rows(name, { filters = {}, order = "", descending = false }) {
    const found = this.data.rows[name];
    const place = (column) => found.columns.findIndex((each) => each.name === column);
    const wanted = Object.entries(filters).filter(([, text]) => text !== "").map(([column, text]) => [place(column), text]);
    const rows = found.rows.filter((row) => wanted.every(([at, text]) => String(row[at]) === text));
    if (order) {
      const at = place(order);
      rows.sort((one, other) => (one[at] < other[at] ? -1 : one[at] > other[at] ? 1 : 0) * (descending ? -1 : 1));
    }
    return { ...found, rows, total: wanted.length ? rows.length : found.total, cursor: null };
  }
}

export const source = embedded ? new File(embedded.textContent) : new Server();
