import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/** The source of the policy that allows just this text: 'sha256-…'. */
async function hashSource(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return `'sha256-${btoa(String.fromCharCode(...new Uint8Array(digest)))}'`;
}

/** Allows the one script and the one style of the finished page by their hashes, in place of all inline ones. */
function hashedPolicy(): Plugin {
  return {
    name: "hashed-policy",
    enforce: "post",
    // After the plugin that puts everything into one file.
    generateBundle: {
      order: "post",
      async handler(_, bundle) {
        const page = bundle["index.html"];
        if (page?.type !== "asset") throw new Error("there is no index.html");
        let html = String(page.source);
        for (const [tag, directive] of [
          ["script", "script-src"],
          ["style", "style-src"],
        ]) {
          const open = `'unsafe-inline'`;
          // At the start of a line: code may hold the same signs. The data is JSON: it does not
          // run, and needs no hash.
          const elements = [...html.matchAll(new RegExp(`^ *<${tag}(?! type="application/json")[^>]*>([^]*?)</${tag}>`, "gm"))];
          if (elements.length !== 1 || !html.includes(`${directive} ${open}`)) throw new Error(`the page must have one ${tag} and ${directive} ${open}`);
          const source = await hashSource(elements[0]![1]!);
          html = html.replace(`${directive} ${open}`, `${directive} ${source}`);
        }
        page.source = html;
      },
    },
  };
}

// One page with everything in it. It is checked in where the command takes it from.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true }), hashedPolicy()],
  build: {
    outDir: "dist",
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
  },
});
