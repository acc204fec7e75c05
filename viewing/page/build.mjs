// Builds ../page.html: the script and the style inside one file, with a policy that lets nothing else run or load.
// The SHA-256 of all sources is written into it: a test compares it, so a page that was not built again is found.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const out = process.argv[2] ?? "../page.html";
const kept = /\.(ts|css|html|mjs|json)$/;

/** The same digest as `hash_sources` in tests/viewing/test_page.py: names and contents in the order of names. */
function hashSources() {
  const names = [
    ...readdirSync(".").filter((name) => kept.test(name)),
    ...readdirSync("source").map((name) => `source/${name}`),
  ].sort();
  const hash = createHash("sha256");
  for (const name of names) hash.update(`${name}\0`).update(readFileSync(name)).update("\0");
  return hash.digest("hex");
}

const options = { bundle: true, minify: true, write: false, target: "es2022", charset: "utf8", legalComments: "none" };
const script = (await build({ ...options, entryPoints: ["source/main.ts"], format: "iife" })).outputFiles[0].text.trim();
const style = (await build({ ...options, entryPoints: ["style.css"] })).outputFiles[0].text.trim();
const digest = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const page = readFileSync("index.html", "utf8")
  .replace("{{sources}}", () => hashSources())
  .replace("{{script-src}}", () => digest(script))
  .replace("{{style-src}}", () => digest(style))
  .replace("{{style}}", () => style)
  .replace("{{script}}", () => script);
writeFileSync(out, page);
console.log(`${out}: ${page.length} characters`);
