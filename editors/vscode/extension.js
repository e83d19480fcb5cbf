// Starts `tidelog lsp` for the programs that the editor opens; everything else is in the server.
const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function activate() {
  const settings = workspace.getConfiguration("tidelog");
  const store = settings.get("store");
  const server = { command: settings.get("command"), args: ["lsp", ...(store ? ["--store", store] : [])] };
  client = new LanguageClient("tidelog", "tidelog", server, { documentSelector: [{ language: "datalog" }] });
  return client.start();
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
