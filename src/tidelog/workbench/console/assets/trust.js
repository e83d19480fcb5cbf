/** The page Trust: the check of the views by a checker that shares nothing with the engine, and the certificate. */

import { useEffect, useState } from "preact/hooks";
import { ask, lines, parse, Problem } from "console/api";
import { source } from "console/source";
import { useWork, Working } from "console/work";
import { Complaint, html } from "console/parts";

export function Trust() {
  const [last, setLast] = useState(null);
  const [error, setError] = useState(null);
  const work = useWork();

  useEffect(() => {
    source.lastCheck().then((found) => setLast(found.last), setError);
  }, []);

  async function check() {
    setError(null);
    try {
      await work.run(async (signal) => {
        const response = await ask("/v1/check", { method: "POST", headers: { Accept: "application/x-ndjson" }, signal });
        for await (const line of lines(response)) {
          if (!line) continue;
          const found = parse(line);
          if (found.problem) throw new Problem(found.problem, found.problem.status);
          if ("ok" in found) setLast(found);
        }
      });
    } catch (problem) {
      setError(problem);
    }
  }

  async function download() {
    setError(null);
    try {
      const response = await ask("/v1/certificate");
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await response.blob());
      link.download = `certificate-${response.headers.get("Tidelog-Epoch")}.zip`;
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (problem) {
      setError(problem);
    }
  }

  return html`<section class="card" aria-label="Trust">
    <p>A check proves with plain SQL that each tuple of each view follows from the facts, and that none is missing.</p>
    ${source.isLive && html`<p><button type="button" class="main" disabled=${work.since !== null} onClick=${check}>Check now</button>
      <button type="button" onClick=${download}>Download the certificate</button></p>`}
    <${Working} work=${work} label="The check runs" />
    <${Complaint} error=${error} />
    ${last === null && html`<p class="quiet">${source.isLive ? "Nothing has been checked since the server was started." : "Nothing was checked."}</p>`}
    ${last?.ok === true && html`<p class="verdict right" role="status">The views of epoch ${last.epoch} are right.${last.seconds !== null && ` The check took ${last.seconds} s.`}</p>`}
    ${last?.ok === false && html`<div class="verdict wrong" role="alert">The views of epoch ${last.epoch} are wrong:<pre>${last.wrong}</pre></div>`}
    ${source.isLive && html`<p class="quiet">Anybody can check the certificate: unpack it, and run <code>tidelog check FOLDER</code>.</p>`}
  </section>`;
}
