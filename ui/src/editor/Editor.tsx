/**
 * The YAML editor: CodeMirror, with findings, completions and the place of the cursor handed in and out. It lives in a
 * shadow root, because there its styles are adopted sheets, which the policy of the pages allows; a style element is not.
 * Load it lazily, it is a chunk of its own: `const Editor = lazy(() => import("@/editor/Editor"))`.
 */
import "./editor.css";
import {
  autocompletion,
  type Completion,
  type CompletionContext,
  type CompletionResult,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import {
  bracketMatching,
  foldGutter,
  foldKeymap,
  HighlightStyle,
  indentUnit,
  syntaxHighlighting,
} from "@codemirror/language";
import { lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { useEffect, useRef } from "react";
import type { Finding } from "@/api/problem";
import { changeOf, type Echoes, isEcho, tell } from "./echoes";
import { diagnosticsOf, offsetOf, type Place, placeOf } from "./places";

export type { Place } from "./places";

export interface EditorProps {
  value: string;
  onChange?: (text: string) => void;
  /** Where the cursor is; called when it moves. */
  onCursor?: (place: Place) => void;
  findings?: readonly Finding[];
  /** Completions at a place, as POST /catalog/complete answers. */
  complete?: (text: string, place: Place, signal: AbortSignal) => Promise<Completions | null>;
  /** Brings a line into sight and puts the cursor there; a new object asks again. */
  goTo?: Place | null;
  isReadOnly?: boolean;
  label: string;
  height?: string;
  extensions?: Extension;
}

export interface Completions {
  start_column: number;
  items: { label: string; insert: string; kind: string; detail: string; doc: string }[];
}

const HIGHLIGHT = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-string)" },
  { tag: tags.number, color: "var(--code-number)" },
  { tag: [tags.bool, tags.null, tags.keyword, tags.typeName], color: "var(--code-atom)" },
  { tag: tags.comment, color: "var(--code-comment)", fontStyle: "italic" },
  { tag: [tags.punctuation, tags.separator], color: "var(--text-2)" },
  { tag: tags.invalid, color: "var(--bad)" },
]);

const LOOK = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", height: "100%", fontSize: "0.8125rem" },
  "&.cm-focused": { outline: "none" }, // the frame around it shows the focus: within, the gutters would cover it
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55", overflow: "auto" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--text-3)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--surface-2)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-matchingBracket": { backgroundColor: "var(--surface-3)", outline: "1px solid var(--line-strong)" },
  ".cm-selectionMatch": { backgroundColor: "var(--surface-3)" },
  ".cm-tooltip": {
    backgroundColor: "var(--surface)",
    color: "var(--text)",
    border: "1px solid var(--line-strong)",
    borderRadius: "6px",
    boxShadow: "var(--shadow)",
  },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionInfo": {
    maxWidth: "24rem",
    padding: "0.5rem 0.7rem",
    fontFamily: "var(--font)",
    whiteSpace: "pre-wrap",
  },
  ".cm-completionDetail": { color: "inherit", opacity: "0.85", fontStyle: "normal", marginLeft: "1em" },
  ".cm-diagnostic": { padding: "0.35rem 0.6rem", fontFamily: "var(--font)", whiteSpace: "pre-wrap", maxWidth: "34rem" },
  ".cm-diagnosticText code": { fontFamily: "var(--mono)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--surface-3)", border: "0", color: "var(--text-2)" },
  ".cm-panels": { backgroundColor: "var(--surface-2)", color: "var(--text)" },
  ".cm-textfield": { backgroundColor: "var(--surface)", border: "1px solid var(--line-strong)" },
  ".cm-button": {
    backgroundImage: "none",
    backgroundColor: "var(--surface-3)",
    border: "1px solid var(--line-strong)",
  },
});

export default function Editor(props: EditorProps) {
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;
  const first = useRef(props);
  const echoes = useRef<Echoes>({ told: [] });

  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const root = element.shadowRoot ?? element.attachShadow({ mode: "open" });
    const readOnly = new Compartment();
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: first.current.value,
        extensions: [
          ...BASE,
          readOnly.of(readOnlyOf(first.current)),
          events(latest, echoes.current),
          completing(latest),
          first.current.extensions ?? [],
        ],
      }),
    });
    view.current = made;
    return () => {
      view.current = null;
      made.destroy();
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor || isEcho(echoes.current, props.value)) return;
    const text = editor.state.doc.toString();
    if (text !== props.value) editor.dispatch({ changes: changeOf(text, props.value), annotations: Given.of(true) });
  }, [props.value]);

  // Placed once: while the text changes, the editor moves them along until the next findings come.
  useEffect(() => {
    const editor = view.current;
    if (editor) editor.dispatch(setDiagnostics(editor.state, diagnosticsOf(editor.state, props.findings ?? [])));
  }, [props.findings]);

  useEffect(() => {
    const editor = view.current;
    if (!editor || !props.goTo) return;
    const at = offsetOf(editor.state, props.goTo);
    editor.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: "center" }) });
    editor.focus();
  }, [props.goTo]);

  return <div className="editor" ref={place} style={{ height: props.height ?? "100%" }} />;
}

const BASE: Extension[] = [
  lineNumbers(),
  foldGutter(),
  lintGutter(),
  history(),
  drawSelection(),
  EditorState.tabSize.of(2),
  indentUnit.of("  "),
  yaml(),
  syntaxHighlighting(HIGHLIGHT),
  bracketMatching(),
  closeBrackets(),
  highlightActiveLine(),
  highlightActiveLineGutter(),
  highlightSelectionMatches(),
  // Escape, then Tab leaves the field: CodeMirror's own way out for keyboards.
  keymap.of([
    ...closeBracketsKeymap,
    ...completionKeymap,
    ...lintKeymap,
    ...searchKeymap,
    ...historyKeymap,
    ...foldKeymap,
    ...defaultKeymap,
    indentWithTab,
  ]),
  LOOK,
];

function readOnlyOf(props: EditorProps): Extension {
  // Readers of the page, axe among them, know by the tabindex that what scrolls can be reached by keys.
  const named = EditorView.contentAttributes.of({ "aria-label": props.label, tabindex: "0" });
  return props.isReadOnly ? [EditorState.readOnly.of(true), EditorView.editable.of(true), named] : named;
}

const Given = Annotation.define<boolean>(); // a change that came from outside, and is not told of again

function events(latest: { current: EditorProps }, echoes: Echoes): Extension {
  return EditorView.updateListener.of((update) => {
    if (update.docChanged && !update.transactions.some((one) => one.annotation(Given))) {
      const text = update.state.doc.toString();
      tell(echoes, text);
      latest.current.onChange?.(text);
    }
    if (update.selectionSet || update.docChanged)
      latest.current.onCursor?.(placeOf(update.state, update.state.selection.main.head));
  });
}

function completing(latest: { current: EditorProps }): Extension {
  const source = async (context: CompletionContext): Promise<CompletionResult | null> => {
    const { complete, isReadOnly } = latest.current;
    if (!complete || isReadOnly) return null;
    const asking = new AbortController();
    context.addEventListener("abort", () => asking.abort());
    const place = placeOf(context.state, context.pos);
    const found = await complete(context.state.doc.toString(), place, asking.signal).catch(() => null);
    if (!found?.items.length) return null;
    const from = context.state.doc.lineAt(context.pos).from + found.start_column - 1;
    return { from, options: found.items.map(optionOf), validFor: /^[\w.-]*$/ };
  };
  return autocompletion({ override: [source], icons: false, activateOnTypingDelay: 120 });
}

function optionOf(item: Completions["items"][number]): Completion {
  return { label: item.label, apply: item.insert, detail: item.detail, info: item.doc || undefined, type: item.kind };
}
