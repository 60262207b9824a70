import { type FormEvent, useEffect, useState } from "react";
import { ask } from "@/api/client";
import { Problem, wordsOf } from "@/api/problem";
import { session } from "@/api/session";
import { Button } from "@/parts/Button";
import { Field } from "@/parts/Page";

/** Asks for a token, says where to find one, and tries it before it is kept. */
export function Login() {
  const [token, setToken] = useState("");
  const [error, setError] = useState("");
  const [isBusy, setBusy] = useState(false);
  useEffect(() => {
    document.title = "Sign in · NoETL";
  }, []);
  const enter = async (event: FormEvent): Promise<void> => {
    event.preventDefault();
    if (!token.trim()) return setError("a token is needed here");
    setBusy(true);
    try {
      await ask("GET", "/api/v1/identity", { headers: { Authorization: `Bearer ${token.trim()}` } });
      session.enter(token);
    } catch (refused) {
      const isUnknown = refused instanceof Problem && refused.status === 401;
      setError(isUnknown ? "the server does not know this token: is it complete, was it revoked?" : wordsOf(refused));
    } finally {
      setBusy(false);
    }
  };
  return (
    <main className="login">
      <form className="login-box card" onSubmit={(event) => void enter(event)}>
        <div className="brand">
          <img src="/ui/icon.svg" alt="" width="28" height="28" />
          <h1>NoETL</h1>
        </div>
        <p>These pages show what a token may see. It stays in this tab and is gone when the tab is closed.</p>
        <Field label="Token" id="token" error={error}>
          <input
            id="token"
            type="password"
            autoComplete="off"
            spellCheck={false}
            value={token}
            // biome-ignore lint/a11y/noAutofocus: the only field of the page
            autoFocus
            aria-invalid={error !== "" || undefined}
            onChange={(event) => setToken(event.target.value)}
          />
        </Field>
        <Button look="main" type="submit" busy={isBusy}>
          Sign in
        </Button>
        <div className="login-help">
          <h2>Where to find one</h2>
          <ul>
            <li>
              On the machine of the server, <code>noetl ui</code> opens these pages signed in.
            </li>
            <li>
              Its own token is in the file <code>server.token</code> of its home; <code>noetl server status</code> says
              where that is.
            </li>
            <li>
              Somebody with the role admin makes one for you: <code>noetl token create --role viewer</code>
            </li>
          </ul>
        </div>
      </form>
    </main>
  );
}
