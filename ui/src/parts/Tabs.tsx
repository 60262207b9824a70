import { type KeyboardEvent, type ReactNode, useEffect, useRef } from "react";

export interface Tab {
  id: string;
  title: ReactNode;
}

/** Tabs whose choice the caller keeps (mostly in the address). Arrows move, as a reader expects. */
export function Tabs(props: {
  tabs: readonly Tab[];
  chosen: string;
  onChoose: (id: string) => void;
  label: string;
  children: ReactNode;
}) {
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    // On a narrow window the list scrolls: the chosen one comes into sight, and the page stays where it is.
    const tab = list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(props.chosen)}"]`);
    const box = list.current;
    if (tab && box) box.scrollLeft = tab.offsetLeft - box.offsetLeft - (box.clientWidth - tab.offsetWidth) / 2;
  }, [props.chosen]);
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = props.tabs.findIndex((tab) => tab.id === props.chosen);
    const next = props.tabs[(at + step + props.tabs.length) % props.tabs.length];
    if (!next) return;
    props.onChoose(next.id);
    list.current?.querySelector<HTMLElement>(`[data-tab="${CSS.escape(next.id)}"]`)?.focus();
  };
  return (
    <div className="tabs">
      <div className="tabs-list" role="tablist" aria-label={props.label} ref={list} onKeyDown={move}>
        {props.tabs.map((tab) => (
          <button
            type="button"
            role="tab"
            key={tab.id}
            id={`tab-${tab.id}`}
            data-tab={tab.id}
            aria-selected={tab.id === props.chosen}
            aria-controls="tab-panel"
            tabIndex={tab.id === props.chosen ? 0 : -1}
            className="tab"
            onClick={() => props.onChoose(tab.id)}
          >
            {tab.title}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="tab-panel" aria-labelledby={`tab-${props.chosen}`} className="tabs-panel">
        {props.children}
      </div>
    </div>
  );
}
