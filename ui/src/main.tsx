/** Opens the session, then draws. */
import "./style/layers.css";
import "./style/tokens.css";
import "./style/base.css";
import "./style/frame.css";
import "./style/parts.css";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { openSession } from "./api/session";
import { App } from "./frame/App";
import { openTheme } from "./parts/theme";

openTheme();
await openSession();
const root = document.getElementById("root");
if (root) {
  createRoot(root).render(
    <StrictMode>
      <App />
    </StrictMode>,
  );
}
