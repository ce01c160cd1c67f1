// What Open WebUI's page can be made to do. internal/testkit/browsertest drives it.
import { address, drive, page } from "../../internal/testkit/browsertest/drive.mjs";

const answers = () => page.locator(".chat-assistant");
const users = () => page.locator(".user-message");
const stop = () => page.locator('button[aria-label="Stop"]');

const ops = {
  async open({ path = "/" }) {
    await page.goto(address + path);
    await page.waitForSelector("#chat-input");
    await page.waitForTimeout(500);
    for (const text of ["Okay, Let's Go!", "Get started"]) {
      const button = page.getByText(text);
      if (await button.count()) await button.first().click().catch(() => {});
    }
  },
  async models() {
    await page.locator("#model-selector-model-button").click();
    await page.locator("#model-option-0").waitFor();
    const names = await page.locator('[id^="model-option-"]').evaluateAll((all) => all.map((e) => e.getAttribute("aria-label")));
    await page.keyboard.press("Escape");
    return { names };
  },
  async send({ text, image }) {
    if (image) await page.locator('input[type="file"]').first().setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(image, "base64") });
    if (image) await page.waitForTimeout(1500);
    await page.locator("#chat-input").click();
    await page.keyboard.insertText(text); // typing would make the quotation marks round
    await page.keyboard.press("Enter");
  },
  async shows({ text }) {
    await page.waitForFunction((t) => [...document.querySelectorAll(".chat-assistant")].some((e) => e.innerText.includes(t)), text, { timeout: 120_000 });
  },
  async page({ text }) {
    await page.waitForFunction((t) => document.body.innerText.includes(t), text, { timeout: 120_000 });
  },
  // While an answer is written there is a button that stops it.
  async settle() {
    await stop().waitFor({ state: "hidden" });
  },
  async messages() {
    return { users: await users().allInnerTexts(), answers: await answers().allInnerTexts() };
  },
  async edit({ index, text }) {
    await users().nth(index).hover();
    await users().nth(index).evaluate((message) => {
      let around = message;
      while (!around.querySelector('button[aria-label="Edit"]')) around = around.parentElement;
      around.querySelector('button[aria-label="Edit"]').click();
    });
    await page.locator('textarea[id^="message-edit-"]').fill(text);
    await page.locator("#confirm-edit-message-button").click();
  },
  async regenerate() {
    await page.locator(".regenerate-response-button").last().evaluate((b) => b.click());
  },
  async stop() {
    await stop().click();
    await stop().waitFor({ state: "hidden" });
  },
  async titled({ text }) {
    await page.waitForFunction((t) => document.title.includes(t), text);
  },
  async buttons() {
    return { buttons: await page.evaluate(() => [...document.querySelectorAll("button")].map((b) => `${b.id}|${b.getAttribute("aria-label") || ""}|${b.innerText.slice(0, 30)}|${b.className.slice(0, 40)}`)) };
  },
  async html({ selector }) {
    return { html: await page.locator(selector).last().evaluate((e) => e.outerHTML) };
  },
};

await drive(ops);
