// Reads settings as the client does that they are for: its own parser, from its
// own package. node settings.mjs CLIENT < settings; prints its entries as JSON.
import fs from "node:fs";
import { configYamlSchema } from "@continuedev/config-yaml";
import { configSchema } from "librechat-data-provider";
import { parse } from "yaml";

const readers = {
  librechat: (doc) => configSchema.strict().parse(doc).endpoints.custom,
  continue: (doc) => configYamlSchema.parse(doc).models,
};

const doc = parse(fs.readFileSync(0, "utf8"));
console.log(JSON.stringify(readers[process.argv[2]](doc)));
