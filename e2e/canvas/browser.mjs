// The agent canvas needs no operations of its own. internal/testkit/browsertest drives it.
import { drive } from "../../internal/testkit/browsertest/drive.mjs";

await drive();
