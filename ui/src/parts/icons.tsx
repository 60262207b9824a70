/** The icons there are: strokes on a grid of 16. Always beside a word, or with one for readers (`title`). */
import type { ReactNode } from "react";

const SHAPES = {
  home: <path d="M2.5 7.5 8 3l5.5 4.5M4 6.8V13h8V6.8M6.7 13V9.5h2.6V13" />,
  playbook: <path d="M4 2.5h8v11H4zM6 5.5h4M6 8h4M6 10.5h2.5" />,
  run: <path d="M5 3.5v9l7-4.5z" />,
  runs: <path d="M2.5 4h11M2.5 8h7M2.5 12h9" />,
  clock: <path d="M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 0 0 0-11M8 5v3.2l2.2 1.3" />,
  worker: <path d="M3 3h10v4H3zM3 9h10v4H3zM5.2 5h.1M5.2 11h.1" />,
  key: <path d="M10.5 3a3 3 0 1 1-2.7 4.3L3 12v1.5h2V12h1.5v-1.5H8L9 9.4A3 3 0 0 1 10.5 3M11 5.5h.1" />,
  open: <path d="M2.5 12.5v-9h4l1.5 2h5.5v7zM8 7.5v3M6.5 9 8 7.5 9.5 9" />,
  search: <path d="M7 2.8a4.2 4.2 0 1 0 0 8.4 4.2 4.2 0 0 0 0-8.4M10.2 10.2l3.3 3.3" />,
  check: <path d="m3.5 8.5 3 3 6-7" />,
  cross: <path d="m4 4 8 8M12 4l-8 8" />,
  alert: <path d="M8 2.5 14 13H2zM8 6.5v3M8 11.4h.1" />,
  pause: <path d="M5.5 4v8M10.5 4v8" />,
  wait: <path d="M4.5 2.5h7M4.5 13.5h7M5 2.5c0 3 3 3.5 3 5.5 0 2-3 2.5-3 5.5M11 2.5c0 3-3 3.5-3 5.5 0 2 3 2.5 3 5.5" />,
  stop: <path d="M4 4h8v8H4z" />,
  skip: <path d="M3.5 4v8l5-4zM8.5 4v8l5-4z" />,
  dot: <path d="M8 6.5a1.5 1.5 0 1 0 0 3 1.5 1.5 0 0 0 0-3" />,
  ring: <path d="M8 4a4 4 0 1 0 0 8 4 4 0 0 0 0-8" />,
  spin: <path d="M13 8a5 5 0 1 1-2.5-4.33" />,
  retry: <path d="M12.8 6.5A5 5 0 1 0 13 9M13 3v3.5H9.5" />,
  fork: <path d="M4.5 3v10M4.5 8c0-2 7-1 7-4.5M10 5l1.5-1.5L13 5" />,
  join: <path d="M4 3v2.5C4 8.5 8 8 8 11v2M12 3v2.5C12 8.5 8 8 8 11" />,
  copy: <path d="M5.5 5.5h7v8h-7zM3.5 10.5v-8h7" />,
  terminal: <path d="M2.5 3.5h11v9h-11zM5 6.5 6.5 8 5 9.5M8 10h3" />,
  sun: (
    <path d="M8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M8 2v1.2M8 12.8V14M2 8h1.2M12.8 8H14M3.8 3.8l.8.8M11.4 11.4l.8.8M12.2 3.8l-.8.8M4.6 11.4l-.8.8" />
  ),
  moon: <path d="M12.8 9.7A5.5 5.5 0 0 1 6.3 3.2a5.5 5.5 0 1 0 6.5 6.5" />,
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  left: <path d="m10 4-4 4 4 4" />,
  plus: <path d="M8 3v10M3 8h10" />,
  minus: <path d="M3 8h10" />,
  menu: <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />,
  user: <path d="M8 3a2.5 2.5 0 1 0 0 5 2.5 2.5 0 0 0 0-5M3.5 13.5c0-2.5 2-4 4.5-4s4.5 1.5 4.5 4" />,
  loop: <path d="M3 8a3.5 3.5 0 0 1 3.5-3.5H12M10 2.5l2 2-2 2M13 8a3.5 3.5 0 0 1-3.5 3.5H4M6 13.5l-2-2 2-2" />,
  graph: <path d="M3 2.5h4v3H3zM9 10.5h4v3H9zM5 5.5V12h4" />,
  list: <path d="M5.5 4h8M5.5 8h8M5.5 12h8M2.5 4h.1M2.5 8h.1M2.5 12h.1" />,
  download: <path d="M8 2.5v7.5M5 7.5l3 3 3-3M3 13h10" />,
  external: <path d="M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5" />,
  dots: <path d="M3.5 8h.1M8 8h.1M12.5 8h.1" />,
  filter: <path d="M2.5 3.5h11L9.5 8.5v4l-3 1v-5z" />,
  edit: <path d="M3 13l.6-2.6L10.8 3.2l2 2-7.2 7.2zM9.5 4.5l2 2" />,
} satisfies Record<string, ReactNode>;

export type IconName = keyof typeof SHAPES;

export function Icon({ name, title, className }: { name: IconName; title?: string; className?: string }) {
  return (
    <svg
      viewBox="0 0 16 16"
      className={`icon ${className ?? ""}`}
      role={title ? "img" : undefined}
      aria-label={title}
      aria-hidden={title ? undefined : true}
      focusable="false"
    >
      {title ? <title>{title}</title> : null}
      {SHAPES[name]}
    </svg>
  );
}
