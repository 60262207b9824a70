/** What stands around every page: navigation, who one is, the state of the connection, keys, the palette. */
import { Suspense, useEffect, useMemo, useState } from "react";
import { Link, Route, Switch, useLocation } from "wouter";
import { useIdentity } from "@/api/identity";
import { useLive, useLiveState } from "@/api/live";
import { session } from "@/api/session";
import { Button } from "@/parts/Button";
import { useCommands } from "@/parts/commands";
import { Dialog } from "@/parts/Dialog";
import { Icon, type IconName } from "@/parts/icons";
import { Palette } from "@/parts/Palette";
import { Empty, Loading } from "@/parts/States";
import { useShortcut, useShortcutKeys, useShortcuts } from "@/parts/shortcuts";
import { chooseTheme, useDark } from "@/parts/theme";
import { ROUTES } from "@/routes";
import { DropTarget } from "./DropTarget";
import { Guard } from "./Guard";

interface Place {
  href: string;
  title: string;
  icon: IconName;
  key: string;
}

const PLACES: readonly Place[] = [
  { href: "/", title: "Home", icon: "home", key: "h" },
  { href: "/playbooks", title: "Playbooks", icon: "playbook", key: "p" },
  { href: "/executions", title: "Executions", icon: "runs", key: "e" },
  { href: "/schedules", title: "Schedules", icon: "clock", key: "s" },
  { href: "/workers", title: "Workers", icon: "worker", key: "w" },
  { href: "/keychain", title: "Keychain", icon: "key", key: "k" },
  { href: "/open", title: "Open file…", icon: "open", key: "o" },
];

export function Frame() {
  useLive();
  useShortcutKeys();
  const [isPalette, setPalette] = useState(false);
  const [isHelp, setHelp] = useState(false);
  const [location, go] = useLocation();
  useShortcut("mod+k", "Jump to a page, playbook or execution", () => setPalette(true), true);
  useShortcut("?", "Show these keys", () => setHelp(true));
  useCommands(useMemo(() => placeCommands(go), [go]));
  return (
    <div className="frame">
      <a className="skip" href="#main">
        Skip to the page
      </a>
      {PLACES.map((place) => (
        <PlaceKey key={place.href} place={place} />
      ))}
      <Navigation location={location} onSearch={() => setPalette(true)} onHelp={() => setHelp(true)} />
      <main id="main" className="main" tabIndex={-1}>
        <Guard key={subjectOf(location)}>
          <Suspense fallback={<Loading />}>
            <Switch>
              {ROUTES.map(({ pattern, page: PageOf }) => (
                <Route key={pattern} path={pattern}>
                  <PageOf />
                </Route>
              ))}
              <Route>
                <Empty title="There is no page here" icon="alert">
                  The address may be of another version. <Link href="/">Home</Link> is still where it was.
                </Empty>
              </Route>
            </Switch>
          </Suspense>
        </Guard>
      </main>
      <DropTarget />
      <Palette isOpen={isPalette} onClose={() => setPalette(false)} />
      <Help isOpen={isHelp} onClose={() => setHelp(false)} />
    </div>
  );
}

function placeCommands(go: (to: string) => void) {
  return [
    ...PLACES.map((place) => ({
      id: `go ${place.href}`,
      title: place.title,
      hint: "page",
      icon: place.icon,
      run: () => go(place.href),
    })),
    { id: "light", title: "Light colours", icon: "sun" as const, run: () => chooseTheme("light") },
    { id: "dark", title: "Dark colours", icon: "moon" as const, run: () => chooseTheme("dark") },
    { id: "system", title: "Colours as the system has them", icon: "dot" as const, run: () => chooseTheme("system") },
    { id: "leave", title: "Sign out", icon: "user" as const, run: () => session.leave() },
  ];
}

function PlaceKey({ place }: { place: Place }) {
  const [, go] = useLocation();
  useShortcut(`g ${place.key}`, `Go to ${place.title}`, () => go(place.href));
  return null;
}

function Navigation(props: { location: string; onSearch: () => void; onHelp: () => void }) {
  return (
    <nav className="nav" aria-label="Pages">
      <Link href="/" className="brand" aria-label="NoETL, home">
        <img src="/ui/icon.svg" alt="" width="22" height="22" />
        <span>NoETL</span>
      </Link>
      <button type="button" className="nav-search" onClick={props.onSearch}>
        <Icon name="search" />
        <span>Jump to…</span>
        <kbd>{/Mac/.test(navigator.platform) ? "⌘K" : "Ctrl K"}</kbd>
      </button>
      <ul className="nav-list">
        {PLACES.map((place) => (
          <li key={place.href}>
            <Link
              href={place.href}
              className="nav-link"
              aria-current={isAt(props.location, place.href) ? "page" : undefined}
            >
              <Icon name={place.icon} />
              <span>{place.title}</span>
            </Link>
          </li>
        ))}
      </ul>
      <div className="nav-foot">
        <Connection />
        <Who />
        <div className="nav-tools">
          <ThemeSwitch />
          <Button look="quiet" size="s" onClick={props.onHelp} aria-label="Keys" title="Keys (?)">
            ?
          </Button>
          <Button look="quiet" size="s" onClick={() => session.leave()}>
            Sign out
          </Button>
        </div>
      </div>
    </nav>
  );
}

/** The page and what it is about: a change of tab keeps the page, with what was typed into it. */
function subjectOf(location: string): string {
  return location.split("/").slice(0, 3).join("/");
}

function isAt(location: string, href: string): boolean {
  return href === "/" ? location === "/" : location === href || location.startsWith(`${href}/`);
}

function ThemeSwitch() {
  const dark = useDark();
  const title = dark ? "Light colours" : "Dark colours";
  return (
    <Button
      icon={dark ? "sun" : "moon"}
      look="quiet"
      size="s"
      aria-label={title}
      title={title}
      onClick={() => chooseTheme(dark ? "light" : "dark")}
    />
  );
}

function Who() {
  const { data } = useIdentity();
  if (!data) return null;
  const sees = data.path_prefix ? `, sees ${data.path_prefix}*` : "";
  return (
    <p className="nav-who" title={`NoETL ${data.version}, ${data.store}${sees}`}>
      <Icon name="user" />
      <span>{data.name || "this server’s own"}</span>
      <span className="muted">{data.role}</span>
    </p>
  );
}

/** Quiet while all is well; says so when the pages are not told of changes. */
function Connection() {
  const state = useLiveState();
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (state !== "reconnecting" && state !== "connecting") return;
    const timer = window.setTimeout(() => setLate(true), 1500);
    return () => window.clearTimeout(timer);
  }, [state]);
  const text = state === "refused" ? "no live view" : isLate ? "reconnecting…" : "";
  return (
    <p className="nav-live" role="status" data-state={state}>
      {text ? (
        <>
          <Icon name={state === "refused" ? "alert" : "spin"} className={state === "refused" ? "" : "icon-spin"} />
          <span>{text}</span>
        </>
      ) : null}
    </p>
  );
}

function Help({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  const shortcuts = useShortcuts();
  return (
    <Dialog title="Keys" isOpen={isOpen} onClose={onClose}>
      <dl className="keys">
        {shortcuts.map((one) => (
          <div key={one.keys} className="keys-one">
            <dt>
              {one.keys.split(" ").map((key) => (
                <kbd key={key}>
                  {key.replace("mod+", /Mac/.test(navigator.platform) ? "⌘ " : "Ctrl ").toUpperCase()}
                </kbd>
              ))}
            </dt>
            <dd>{one.title}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  );
}
