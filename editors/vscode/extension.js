// Starts `tidelog lsp` for the programs that the editor opens, and says what to do if that fails; the rest is in the server.
const { spawn } = require("node:child_process");
const { commands, window, workspace } = require("vscode");
const { CloseAction, LanguageClient } = require("vscode-languageclient/node");

const SETTINGS = "Open Settings";
const OUTPUT = "Show Output";
const INSTALL = "Install tidelog with its extra lsp, or let the setting tidelog.command name its program.";
const MOST_SAID = 2000;

class Client extends LanguageClient {
  // `report` says why a server does not start. Errors of one that has started are shown as ever.
  error(message, data, shown) {
    super.error(message, data, this.started ? shown : false);
  }
}

let client;
let output;
let last = Promise.resolve();

function activate(context) {
  output = window.createOutputChannel("tidelog");
  context.subscriptions.push(
    output,
    commands.registerCommand("tidelog.restart", restart),
    workspace.onDidChangeConfiguration((event) => event.affectsConfiguration("tidelog") && restart()),
  );
  return restart();
}

function deactivate() {
  return stop();
}

function restart() {
  last = last.then(stop).then(start); // One at a time: settings may change while a server starts.
  return last;
}

async function stop() {
  const old = client;
  client = undefined;
  if (old && old.isRunning()) {
    await old.stop();
  }
}

async function start() {
  const settings = workspace.getConfiguration("tidelog");
  const store = settings.get("store");
  const command = settings.get("command");
  const server = { command, args: ["lsp", ...(store ? ["--store", store] : [])] };
  const options = {
    outputChannel: output,
    documentSelector: [{ language: "datalog", scheme: "file" }, { language: "datalog", scheme: "untitled" }],
    initializationFailedHandler: () => false, // `report` says it.
    errorHandler: {
      error: (...given) => usual.error(...given),
      closed: () => {
        if (made.started) {
          return usual.closed();
        }
        report(new Error("It said nothing."), server); // It would end again.
        return { action: CloseAction.DoNotRestart, handled: true };
      },
    },
  };
  const made = new Client("tidelog", "tidelog", () => launched(server), options);
  const usual = made.createDefaultErrorHandler();
  client = made;
  try {
    await made.start();
    made.started = true;
  } catch (error) {
    report(error, server);
  }
}

// Returns the process of a server, or throws if its command cannot be started. Notes what it writes to standard error.
function launched(server) {
  server.said = "";
  server.reported = false;
  const folder = workspace.workspaceFolders && workspace.workspaceFolders[0].uri.fsPath;
  return new Promise((resolve, reject) => {
    const child = spawn(server.command, server.args, { cwd: folder });
    server.end = () => {
      child.kill();
      return new Promise((ended) => (child.stderr.closed ? ended() : child.once("close", ended)));
    };
    child.stderr.setEncoding("utf8");
    child.stderr.on("data", (text) => {
      server.said = (server.said + text).slice(-MOST_SAID);
      output.append(text);
    });
    child.once("error", reject);
    child.once("spawn", () => resolve(child));
  });
}

async function report(error, server) {
  if (server.reported) {
    return;
  }
  server.reported = true;
  const missing = error.code === "ENOENT" || error.code === "EACCES";
  if (!missing) {
    await server.end(); // so that all it has to say is there
  }
  const text = missing
    ? `tidelog: the command '${server.command}' cannot be started (${error.code}). ${INSTALL}`
    : `tidelog: the language server has ended. ${server.said.trim() || error.message}`;
  const chosen = await window.showErrorMessage(text, SETTINGS, OUTPUT);
  if (chosen === SETTINGS) {
    commands.executeCommand("workbench.action.openSettings", "tidelog.command");
  } else if (chosen === OUTPUT) {
    output.show();
  }
}

module.exports = { activate, deactivate };
