// OpenHands' own TypeScript client with a gateway, which it takes for an agent-server.
// node native.mjs URL KEY LLM DIRECTORY; prints what came of it as JSON.
//
// A page of a browser has a window; the client finds its WebSocket there.
globalThis.window = { WebSocket: globalThis.WebSocket };
const { Agent, Conversation, ConversationManager, Workspace } = await import("@openhands/typescript-client");
const { AgentServerClient } = await import("@openhands/typescript-client/clients");

const [host, apiKey, llmURL, dir] = process.argv.slice(2);
const result = {};
const llm = { model: "openai/test", api_key: "sk-llm-test", base_url: llmURL, usage_id: "agent", num_retries: 0, stream: true };
const server = new AgentServerClient({ host, apiKey });

await settings();
await files();
await conversation();
const stranger = new AgentServerClient({ host, apiKey: "wrong" });
result.refused = await stranger.settings.getSettings().catch((error) => error.status);
console.log(JSON.stringify(result));
process.exit(0);

// settings are read and changed, and so are secrets and profiles.
async function settings() {
  result.version = (await server.server.getServerInfo()).version;
  result.tools = (await server.tools.listTools()).includes("terminal");
  await server.settings.updateSettings({ agent_settings_diff: { llm: { model: "openai/test", base_url: llmURL } } });
  result.model = (await server.settings.getSettings()).agent_settings.llm.model;
  await server.settings.upsertSecret({ name: "WORD", value: "tea" });
  result.secret = await server.settings.getSecret("WORD");
  await server.profiles.saveProfile("one", { llm, include_secrets: true });
  await server.profiles.renameProfile("one", "two");
  await server.profiles.activateProfile("two");
  const { profiles, active_profile: active } = await server.profiles.listProfiles();
  result.profiles = [active, profiles.some((p) => p.name === "one"), profiles.some((p) => p.name === "two")];
  await server.agentProfiles.saveAgentProfile("helper", { agent_kind: "openhands", llm_profile_ref: "two" });
  result.agents = (await server.agentProfiles.listAgentProfiles()).profiles.some((p) => p.name === "helper");
}

// files go up and down, and commands see them.
async function files() {
  await server.files.uploadTextFile("grün\n", `${dir}/up.txt`);
  result.file = await server.files.downloadTextFile(`${dir}/up.txt`);
  const output = await server.bash.executeCommand({ command: "cat up.txt; exit 3", cwd: dir, timeout: 30 });
  result.command = [output.stdout, output.exit_code];
  await server.bash.executeCommand({ command: "git init -q . && git add up.txt", cwd: dir, timeout: 30 });
}

// conversation runs, is confirmed, rejected, paused, forked and deleted.
async function conversation() {
  const seen = [];
  let waiting;
  const workspace = new Workspace({ host, apiKey, workingDir: dir });
  const c = new Conversation(new Agent({ llm, tools: [{ name: "terminal", params: {} }] }), workspace, {
    callback: (event) => {
      seen.push(event);
      waiting?.(event);
    },
  });
  const until = (is) => seen.some(is) || new Promise((done) => { waiting = (event) => is(event) && done(); });
  const status = (want) => (e) => e.key === "execution_status" && e.value === want;
  const turn = async (text, end) => {
    seen.length = 0;
    await c.sendMessage(text);
    await c.run();
    await until(status(end));
  };
  await c.start();
  await c.startWebSocketClient();
  await until((e) => e.kind === "ConversationStateUpdateEvent"); // the socket is open
  await turn('[[tool terminal {"command":"echo tea > note.txt"}]] then [[say Here is tea.]]', "finished");
  result.streamed = seen.filter((e) => e.kind === "StreamingDeltaEvent").map((e) => e.content ?? "").join("").includes("Here is tea.");
  result.answer = await c.getAgentFinalResponse();
  result.kinds = (await c.state.events.getEvents()).map((e) => e.kind).filter((k) => /Message|Action|Observation/.test(k));
  await c.setConfirmationPolicy({ kind: "AlwaysConfirm" });
  await turn('[[tool terminal {"command":"echo yes > yes.txt"}]] then [[finish Confirmed.]]', "waiting_for_confirmation");
  await c.sendConfirmationResponse(true);
  await until(status("finished"));
  await turn('[[tool terminal {"command":"echo no > no.txt"}]] then [[finish Never.]]', "waiting_for_confirmation");
  await c.sendConfirmationResponse(false, "not this");
  await until((e) => e.kind === "UserRejectObservation");
  await c.setConfirmationPolicy({ kind: "NeverConfirm" });
  await turn('[[tool terminal {"command":"sleep 600"}]] then [[finish Never.]]', "running");
  await until((e) => e.kind === "ActionEvent");
  await server.conversations.interruptConversation(c.id);
  await until(status("paused"));
  await look(c);
}

// look reads what there is about a conversation, and ends it.
async function look(c) {
  const manager = new ConversationManager({ host, apiKey });
  await c.setTitle("Tea");
  const fork = await c.fork();
  result.forked = (await manager.getConversation(fork.id)).forked_from_conversation_id === c.id;
  result.asked = await c.askAgent("[[say Asked.]]");
  await c.switchLlm({ ...llm, usage_id: "other" });
  result.title = (await manager.getConversation(c.id)).title;
  result.changes = (await c.workspace.gitChanges(dir)).map((change) => change.path).sort();
  result.trajectory = (await c.downloadTrajectory()).size > 0;
  await c.stopWebSocketClient();
  await manager.deleteConversation(c.id);
  result.left = (await manager.getConversations([c.id, fork.id])).map((conversation) => conversation?.id === fork.id);
}
