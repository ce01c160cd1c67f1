// Drives a page in a real browser, by commands that a Go test writes.
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [url, executablePath] = process.argv.slice(2);
export const address = url;
const browser = await chromium.launch({
  executablePath,
  // Nothing leaves this machine, whatever a page wants to load or to report.
  args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"],
});
export const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
page.setDefaultTimeout(120_000);

// What went wrong in the page, with the request where it was one.
const troubles = [];
const ours = (url) => ["localhost", "127.0.0.1"].includes(new URL(url).hostname);
page.on("pageerror", (error) => troubles.push({ kind: "page", text: String(error) }));
page.on("console", (message) => {
  // The browser's own words about a request that failed; the request is kept below.
  if (message.type() !== "error" || message.text().startsWith("Failed to load resource")) return;
  troubles.push({ kind: "console", text: message.text(), url: message.location().url });
});
page.on("response", (answer) => {
  if (answer.status() < 400 || !ours(answer.url())) return;
  troubles.push({ kind: "answer", status: answer.status(), method: answer.request().method(), url: answer.url() });
});
page.on("requestfailed", (request) => {
  const text = request.failure()?.errorText;
  if (!ours(request.url()) || text === "net::ERR_ABORTED") return; // aborted: the page was left
  troubles.push({ kind: "request", method: request.method(), url: request.url(), text });
});

const find = ({ selector, nth }) => (nth === undefined ? page.locator(selector).last() : page.locator(selector).nth(nth));

// Operations that any page has. Selectors are those of Playwright; without nth
// the last element is meant.
const common = {
  async goto({ path }) {
    await page.goto(address + path);
  },
  async reload() {
    await page.reload();
  },
  async click(command) {
    await find(command).click();
  },
  async hover(command) {
    await find(command).hover();
  },
  async fill(command) {
    await find(command).fill(command.text);
  },
  // insert is what pasting does: a page does not turn the quotation marks.
  async insert(command) {
    await find(command).click();
    await page.keyboard.insertText(command.text);
  },
  async type({ text }) {
    await page.keyboard.type(text);
  },
  async press({ key }) {
    await page.keyboard.press(key);
  },
  async shown(command) {
    await find(command).waitFor();
  },
  async gone({ selector }) {
    await page.locator(selector).first().waitFor({ state: "hidden" });
  },
  async texts({ selector }) {
    return { texts: await page.locator(selector).allInnerTexts() };
  },
  async value(command) {
    return { value: await find(command).inputValue() };
  },
  async address() {
    return { path: new URL(page.url()).pathname };
  },
  // troubles are those since the last time.
  async troubles() {
    return { troubles: troubles.splice(0) };
  },
  async screenshot({ file }) {
    await page.screenshot({ path: file });
  },
};

// drive reads one command a line from standard input, as JSON with an op, and
// answers each with one line of JSON.
export async function drive(own = {}) {
  const ops = { ...common, ...own };
  for await (const line of createInterface({ input: process.stdin })) {
    const command = JSON.parse(line);
    try {
      const result = await ops[command.op](command);
      console.log(JSON.stringify({ ok: true, ...result }));
    } catch (error) {
      console.log(JSON.stringify({ ok: false, error: String(error).slice(0, 2000) }));
    }
  }
  await browser.close();
}
