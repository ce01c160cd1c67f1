// A schema with an array of objects, and a prompt whose answer has a document of it
// among words.
import { z } from "zod";

export const report = z.object({
  bugs: z.array(z.object({ file: z.string(), line: z.number(), severity: z.enum(["low", "high"]) })),
  note: z.string().nullable(),
});

const found = { bugs: [{ file: "a.go", line: 3, severity: "high" }], note: null };
export const find = `[[tool terminal {"command":"ls"}]] then [[finish Here it is: ${JSON.stringify(found)}]]`;
