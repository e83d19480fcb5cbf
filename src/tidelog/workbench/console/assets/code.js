/** A field for a text of a program: it completes names of relations, marks the place of an error, and knows two keys. */

import { useRef, useState } from "preact/hooks";
import { useLive } from "console/state";
import { html } from "console/parts";

const MOST_LINES = 30;
const WORD = /[A-Za-z_?][\w.?]*$/;

/** Return the relations whose names have a word in them, those that begin with it first. */
function completions(relations, word) {
  const wanted = word.toLowerCase();
  const at = ({ name }) => name.toLowerCase().indexOf(wanted);
  const found = [...relations.values()].filter((each) => at(each) >= 0 && each.name !== word);
  return found.sort((one, other) => Math.min(at(one), 1) - Math.min(at(other), 1));
}

/** Return a text before an error, the word or the character that is wrong, and the rest. */
function partsAt(text, { line, column, length }) {
  const lines = text.split("\n").slice(0, line - 1);
  const start = Math.min(lines.reduce((sum, each) => sum + each.length + 1, 0) + column - 1, text.length);
  const end = Math.min(start + (length || 1), text.length);
  return [text.slice(0, start), text.slice(start, end) || " ", text.slice(end)];
}

/** `commit` is called for Ctrl+Enter, `leave` for Escape. */
export function Code({ label, value, change, error, rows = 3, placeholder, commit, leave }) {
  const { relations } = useLive();
  const [words, setWords] = useState([]);
  const [at, setAt] = useState(-1);
  const field = useRef(null);
  const mirror = useRef(null);

  function offer(isAsked = false) {
    const before = field.current.value.slice(0, field.current.selectionStart);
    const word = WORD.exec(before)?.[0] ?? "";
    setWords(word || isAsked ? completions(relations, word) : []);
    setAt(-1);
  }

  function complete({ name, columns }) {
    const { value: text, selectionStart: caret } = field.current;
    const start = caret - (WORD.exec(text.slice(0, caret))?.[0].length ?? 0);
    const isCalled = text[caret] === "(";
    field.current.setRangeText(isCalled ? name : `${name}(${columns.map((each) => each.name).join(", ")})`, start, caret, "end");
    change(field.current.value);
    setWords([]);
    field.current.focus();
  }

  function press(event) {
    const act = actions[event.key]?.(event);
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  const isOpen = words.length > 0;
  const move = (step) => () => setAt((at + step + words.length + (at < 0 && step < 0 ? 1 : 0)) % words.length);
  const actions = {
    Enter: ({ ctrlKey, metaKey }) => (ctrlKey || metaKey ? (setWords([]), commit) : isOpen && at >= 0 && (() => complete(words[at]))),
    Tab: ({ shiftKey }) => isOpen && !shiftKey && (() => complete(words[Math.max(at, 0)])),
    Escape: () => (isOpen ? () => setWords([]) : leave),
    ArrowDown: () => isOpen && move(1),
    ArrowUp: () => isOpen && move(-1),
    " ": ({ ctrlKey }) => ctrlKey && (() => offer(true)),
  };
  const list = `completions-${label.replace(/\W+/g, "-")}`;
  const [before, wrong, after] = error?.line ? partsAt(value, error) : [value, "", ""];
  return html`<div class="code">
    <pre class="mirror" aria-hidden="true" ref=${mirror}>${before}${wrong && html`<mark>${wrong}</mark>`}${after}${"\n"}</pre>
    <textarea ref=${field} rows=${Math.min(MOST_LINES, Math.max(rows, value.split("\n").length))} spellcheck=${false} autocapitalize="off"
      autocomplete="off" aria-label=${label} aria-autocomplete="list" aria-controls=${isOpen ? list : undefined} aria-activedescendant=${at >= 0 ? `${list}-${at}` : undefined}
      aria-invalid=${error ? "true" : undefined} placeholder=${placeholder} value=${value}
      onInput=${(event) => (change(event.target.value), offer())} onKeyDown=${press} onClick=${() => setWords([])} onBlur=${() => setWords([])}
      onScroll=${(event) => (mirror.current.scrollTop = event.target.scrollTop)}></textarea>
    ${isOpen && html`<ul class="completions" id=${list} role="listbox" aria-label="Relations to complete">
      ${words.map((each, index) => html`<li key=${each.name} id=${`${list}-${index}`} role="option" aria-selected=${index === at ? "true" : "false"}
        ref=${(element) => index === at && element?.scrollIntoView({ block: "nearest" })}
        onMouseDown=${(event) => (event.preventDefault(), complete(each))}>
        ${each.name}<small>(${each.columns.map(({ name, type }) => `${name}: ${type}`).join(", ")})</small></li>`)}
    </ul>`}
  </div>`;
}
