import { fileURLToPath } from "node:url";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// What a server is asked for while `npm run dev` serves the pages.
const server = process.env.NOETL_SERVER_URL ?? "http://127.0.0.1:8642";

// The graph and the editor are chunks of their own: the first page needs neither. What comes first takes what the
// later ones share with it.
const rooms: [string, RegExp][] = [
  ["base", /node_modules\/(react|react-dom|scheduler|wouter|regexparam|mitt|use-sync-external-store|@tanstack)\//],
  ["graph", /node_modules\/(@xyflow|@dagrejs|d3-|zustand|classcat)/],
  ["editor", /node_modules\/(@codemirror|@lezer|style-mod|w3c-keyname|crelt|@marijn)/],
];

export default defineConfig({
  base: "/ui/",
  plugins: [react()],
  resolve: { alias: { "@": fileURLToPath(new URL("./src", import.meta.url)) } },
  build: {
    outDir: process.env.NOETL_UI_OUT ?? "../src/noetl/ui/built",
    emptyOutDir: true,
    target: "es2022",
    assetsInlineLimit: 0, // an inlined file would be a data: URL, which the policy of the pages allows for images only
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
    license: { fileName: "licences.md" }, // of what is built in: their authors ask for it to go with every copy
    rolldownOptions: {
      output: {
        entryFileNames: "assets/[name]-[hash].js",
        chunkFileNames: "assets/[name]-[hash].js",
        assetFileNames: "assets/[name]-[hash][extname]",
        codeSplitting: { groups: rooms.map(([name, test], at) => ({ name, test, priority: rooms.length - at })) },
      },
    },
  },
  server: {
    port: 5173,
    proxy: Object.fromEntries(
      ["/api", "/healthz", "/metrics"].map((path) => [path, { target: server, changeOrigin: true }]),
    ),
  },
  test: { include: ["src/**/*.test.ts", "src/**/*.test.tsx"], environment: "node" },
});
