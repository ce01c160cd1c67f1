// What the agent canvas's page can be made to do. internal/testkit/browsertest drives it.
import { drive, page } from "../../internal/testkit/browsertest/drive.mjs";

await drive({
  async attach({ name, type, text }) {
    await page.locator('input[type="file"]').first().setInputFiles({ name, mimeType: type, buffer: Buffer.from(text, "base64") });
  },
  // listen opens a WebSocket beside those of the canvas, which closes its own by itself.
  async listen({ url }) {
    await page.evaluate((url) => new Promise((open, fail) => {
      const socket = new WebSocket(url);
      socket.onopen = () => open();
      socket.onerror = () => fail(new Error("the WebSocket fails"));
      window.ended = new Promise((end) => { socket.onclose = ({ code, reason }) => end({ code, reason }); });
    }), url);
  },
  async ended() {
    return await page.evaluate(() => window.ended);
  },
});
