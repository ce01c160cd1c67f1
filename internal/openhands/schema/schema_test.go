package schema_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/schema"
)

type convert func(*jsonedit.Doc, schema.Release) (schema.Result, error)

// pinned is the list that stands for the standard tools without switch_llm.
const pinned = `{"name":"terminal","params":{}},{"name":"file_editor","params":{}},{"name":"task_tracker","params":{}},{"name":"browser_tool_set","params":{}}`

func to(t testing.TB, version string) schema.Release {
	t.Helper()
	r, err := schema.ParseRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func run(t testing.TB, f convert, src, version string) schema.Result {
	t.Helper()
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	result, err := f(doc, to(t, version))
	if err != nil {
		t.Fatalf("%s to %s: %v", src, version, err)
	}
	return result
}

func lost(r schema.Result) string {
	fields := make([]string, 0, len(r.Lost))
	for _, l := range r.Lost {
		fields = append(fields, l.Field)
	}
	return strings.Join(fields, " ")
}

// agent is the file that has these agent settings.
func agent(settings, members string) string {
	return `{"schema_version":` + settings + `,"agent_settings":{` + members + `}}`
}

func TestEachStepUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, version, want, lost string }{
		"no version at all":           {`{"agent_settings":{"llm":{"model":"a"}}}`, "1.58", `{"agent_settings":{"llm":{"model":"a"},"agent_kind":"openhands","schema_version":9},"schema_version":6}`, ""},
		"nothing in it":               {`{}`, "latest", `{"schema_version": 6}`, ""},
		"null versions":               {agent("null", `"schema_version":null,"agent_kind":"acp"`), "1.58.2", agent("6", `"schema_version":9,"agent_kind":"acp"`), ""},
		"the kind of 1.18":            {agent("1", `"schema_version":1,"agent_kind":"llm"`), "1.21.0", `{"agent_settings":{"schema_version":2,"agent_kind":"openhands"}}`, ""},
		"confirmation":                {agent("1", `"schema_version":2,"verification":{"confirmation_mode":true,"critic_enabled":true,"security_analyzer":"llm"}`), "1.24.0", agent("1", `"schema_version":3,"verification":{"critic_enabled":true}`), ""},
		"a model of OpenHands' proxy": {agent("2", `"schema_version":3,"llm":{"model":"litellm_proxy/gpt-5.6","base_url":"https://llm-proxy.app.all-hands.dev/","x":1.0}`), "1.34.0", agent("2", `"schema_version":4,"llm":{"model":"openhands/gpt-5.6","x":1.0}`), ""},
		"modify_params":               {agent("2", `"schema_version":5,"llm":{"model":"a","modify_params":true,"x":1.50e0}`), "1.49.1", agent("3", `"schema_version":6,"llm":{"model":"a","x":1.50e0}`), ""},
		"the LLM of an ACP agent":     {agent("3", `"schema_version":6,"agent_kind":"acp","llm":{"model":"a"},"acp_model":"m"`), "1.51.0", agent("5", `"schema_version":8,"agent_kind":"acp","acp_model":"m"`), "agent_settings.llm"},
		"switches of an ACP agent":    {agent("3", `"schema_version":7,"agent_kind":"acp","enable_sub_agents":true`), "1.51.0", agent("5", `"schema_version":8,"agent_kind":"acp"`), ""},
		"null tools":                  {agent("3", `"schema_version":6,"tools":null,"enable_sub_agents":false,"enable_switch_llm_tool":true`), "1.51.0", agent("5", `"schema_version":8,"tools":null`), ""},
		"an empty list":               {agent("3", `"schema_version":6,"tools":[ ]`), "1.51.0", agent("5", `"schema_version":8,"tools":null`), ""},
		"no switch_llm":               {agent("3", `"schema_version":6,"tools":null,"enable_switch_llm_tool":false`), "1.51.0", agent("5", `"schema_version":8,"tools":[`+pinned+`]`), ""},
		"an empty list, no switch":    {agent("3", `"schema_version":6,"tools":[],"enable_switch_llm_tool":"off"`), "1.51.0", agent("5", `"schema_version":8,"tools":[`+pinned+`]`), ""},
		"sub-agents":                  {agent("3", `"schema_version":6,"enable_sub_agents":1`), "1.51.0", agent("5", `"schema_version":8,"tools":[`+pinned+`,{"name":"task_tool_set","params":{}},{"name":"switch_llm","params":{}}]`), ""},
		"a list":                      {agent("3", `"schema_version":6,"tools":[{"name":"glob","params":{"n":1.0}}],"enable_sub_agents":true`), "1.51.0", agent("5", `"schema_version":8,"tools":[{"name":"glob","params":{"n":1.0}},{"name":"switch_llm","params":{}}]`), ""},
		"a list that excludes it":     {agent("3", `"schema_version":6,"tools":[{"name":"SwitchLLMTool"},{"name":"glob"}],"enable_switch_llm_tool":false`), "1.51.0", agent("5", `"schema_version":8,"tools":[{"name":"glob"}]`), ""},
		"switches that are left":      {agent("5", `"schema_version":8,"enable_switch_llm_tool":false,"tools":null`), "1.56.0", agent("6", `"schema_version":9,"tools":null`), ""},
		"half a version":              {agent("6", `"schema_version":5,"llm":{"model":"a","modify_params":false}`), "latest", agent("6", `"schema_version":9,"llm":{"model":"a"}`), ""},
		"conversations":               {`{"schema_version":6,"conversation_settings":{"max_iterations":5}}`, "latest", `{"schema_version":6,"conversation_settings":{"max_iterations":5,"schema_version":1}}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, schema.Settings, tt.from, tt.version)
			if diff := cmp.Diff(compact(tt.want), compact(string(got.Doc.Bytes()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if lost(got) != tt.lost {
				t.Errorf("lost: %s", lost(got))
			}
			again := run(t, schema.Settings, string(got.Doc.Bytes()), tt.version)
			if diff := cmp.Diff(string(got.Doc.Bytes()), string(again.Doc.Bytes())); diff != "" || len(again.Lost) > 0 {
				t.Errorf("a second time (-first +second):\n%s%v", diff, again.Lost)
			}
		})
	}
}

func compact(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }

func TestAgentProfilesUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ from, version, want string }{
		"the profile that OpenHands made": {`{"schema_version":1,"name":"default","tools":[],"skills":[],"revision":0}`, "1.43.1", `{"schema_version":2,"name":"default","tools":null,"revision":0}`},
		"one that was changed":            {`{"schema_version":1,"name":"default","tools":[],"revision":3}`, "1.43.1", `{"schema_version":2,"name":"default","tools":[],"revision":3}`},
		"switches":                        {`{"schema_version":2,"name":"a","enable_switch_llm_tool":false}`, "latest", `{"schema_version":4,"name":"a","tools":[` + pinned + `]}`},
		"no version":                      {`{"name":"a","tools":[]}`, "latest", `{"name":"a","tools":[],"schema_version":4}`},
		"no version, but a switch":        {`{"name":"a","enable_sub_agents":false}`, "latest", `{"name":"a","schema_version":4}`},
		"the ones of 1.51":                {`{"schema_version":3,"name":"a","enable_sub_agents":true}`, "latest", `{"schema_version":4,"name":"a"}`},
		"ACP":                             {`{"schema_version":2,"name":"a","agent_kind":"acp","enable_sub_agents":true}`, "latest", `{"schema_version":4,"name":"a","agent_kind":"acp"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, schema.AgentProfile, tt.from, tt.version)
			if diff := cmp.Diff(compact(tt.want), compact(string(got.Doc.Bytes()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatHasNoStepIsAnError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		f         convert
		src, want string
	}{
		"a newer file":              {schema.Settings, `{"schema_version":99}`, "schema_version is 99, newer than 6, the newest version that ohgw knows"},
		"newer agent settings":      {schema.Settings, agent("6", `"schema_version":10`), "agent_settings.schema_version is 10, newer than 9, the newest version that ohgw knows"},
		"a newer agent profile":     {schema.AgentProfile, `{"schema_version":5}`, "schema_version is 5, newer than 4, the newest version that ohgw knows"},
		"a text as a version":       {schema.AgentProfile, `{"schema_version":"2"}`, "schema_version is not an integer"},
		"a negative version":        {schema.AgentProfile, `{"schema_version":-1}`, "schema_version is negative"},
		"a switch that is no truth": {schema.AgentProfile, `{"schema_version":2,"enable_sub_agents":"perhaps"}`, "enable_sub_agents is neither true nor false"},
		"a null switch":             {schema.AgentProfile, `{"schema_version":2,"enable_sub_agents":null}`, "enable_sub_agents is neither true nor false"},
		"a tool without a name":     {schema.Settings, agent("2", `"schema_version":5,"tools":[{"params":{}}]`), "agent_settings.tools has an element without a name"},
		"two members of one name":   {schema.Settings, `{"x":1,"x":2}`, "set schema_version: duplicate members or invalid numbers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := jsonedit.Parse([]byte(tt.src))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := tt.f(doc, schema.Latest); err == nil || err.Error() != tt.want {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestReleasesByName(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"latest": "1.58.2", "1.58": "1.58.2", "v1.58.2": "1.58.2", "1.58.0": "1.58.0", "1.43.1": "1.43.1", "1.40": "1.40", "1.21": "1.21", "1.21.0": "1.21.0",
		"1.58.3": "", "1.59": "", "2.0.0": "", "1.20.1": "", "1": "", "": "", "1.x": "", "1.2.3.4": "", "-1.2": "",
	} {
		got, err := schema.ParseRelease(text)
		if want == "" {
			if _, ok := errors.AsType[*schema.RangeError](err); !ok {
				t.Errorf("%q: ParseRelease = %v, error %v", text, got, err)
			}
		} else if err != nil || got.String() != want {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

func TestDownAndUpAgain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		f                            convert
		from, version, want, back, l string
	}{
		"null tools":                 {schema.Settings, agent("6", `"schema_version":9,"tools":null`), "1.43.1", agent("2", `"schema_version":5,"tools":null`), agent("6", `"schema_version":9,"tools":null`), ""},
		"null tools of 1.21":         {schema.Settings, agent("6", `"schema_version":9,"agent_kind":"openhands","tools":null`), "1.21.0", `{"agent_settings":{"schema_version":2,"agent_kind":"openhands","tools":[]}}`, `{"agent_settings":{"schema_version":9,"agent_kind":"openhands","tools":null},"schema_version":6}`, ""},
		"the standard without LLMs":  {schema.Settings, agent("6", `"schema_version":9,"tools":[`+pinned+`]`), "1.49.1", agent("3", `"schema_version":6,"tools":null,"enable_switch_llm_tool":false`), agent("6", `"schema_version":9,"tools":[`+pinned+`]`), ""},
		"another list":               {schema.Settings, agent("6", `"schema_version":9,"tools":[{"name":"glob"},{"name":"switch_llm","params":{}}]`), "1.49.1", agent("3", `"schema_version":6,"tools":[{"name":"glob"}]`), agent("6", `"schema_version":9,"tools":[{"name":"glob"},{"name":"switch_llm","params":{}}]`), ""},
		"an empty list":              {schema.AgentProfile, `{"schema_version":4,"tools":[]}`, "1.49.1", `{"schema_version":2,"tools":[],"enable_switch_llm_tool":false}`, `{"schema_version":4,"tools":[` + pinned + `]}`, "tools"},
		"fields of a profile":        {schema.AgentProfile, `{"schema_version":4,"persona":"p","secret_refs":["A"],"public_skills":null,"mine":1.0}`, "1.43.1", `{"schema_version":2,"mine":1.0}`, `{"schema_version":4,"mine":1.0}`, "secret_refs persona"},
		"fields of settings":         {schema.Settings, `{"schema_version":6,"active_meta_profile":"m","agent_settings":{"schema_version":9,"persona":null,"x":1}}`, "1.43.1", `{"schema_version":2,"agent_settings":{"schema_version":5,"x":1}}`, `{"schema_version":6,"agent_settings":{"schema_version":9,"x":1}}`, "active_meta_profile"},
		"servers":                    {schema.Settings, agent("6", `"schema_version":9,"agent_kind":"acp","mcp_config":{"a":{"url":"u","enabled":false}}`), "1.34.0", agent("2", `"schema_version":4,"agent_kind":"acp","mcp_config":{"a":{"url":"u"}}`), agent("6", `"schema_version":9,"agent_kind":"acp","mcp_config":{"a":{"url":"u"}}`), "agent_settings.mcp_config.a.enabled"},
		"servers of 1.28":            {schema.Settings, agent("6", `"schema_version":9,"agent_kind":"openhands","mcp_config":{"a":{"url":"u","enabled":true}}`), "1.28.1", agent("2", `"schema_version":4,"agent_kind":"openhands","mcp_config":{"mcpServers":{"a":{"url":"u"}}}`), agent("6", `"schema_version":9,"agent_kind":"openhands","mcp_config":{"a":{"url":"u"}}`), ""},
		"another program":            {schema.AgentProfile, `{"schema_version":4,"agent_kind":"acp","acp_server":"pi"}`, "1.34.0", `{"schema_version":1,"agent_kind":"acp","acp_server":"custom"}`, `{"schema_version":4,"agent_kind":"acp","acp_server":"custom"}`, "acp_server"},
		"an LLM":                     {schema.LLMProfile, `{"model":"a","stream_idle_timeout":70,"reasoning_effort":"max","api_mode":"auto","schema_version":1}`, "1.34.0", `{"model":"a","schema_version":1}`, `{"model":"a","schema_version":1}`, "reasoning_effort stream_idle_timeout"},
		"tools that came later":      {schema.AgentProfile, `{"schema_version":4,"tools":[{"name":"ask_oracle"},{"name":"mine","params":{"n":1.0}},{"name":"start_child_conversation"},{"name":"switch_llm","params":{}}]}`, "1.43.1", `{"schema_version":2,"tools":[{"name":"mine","params":{"n":1.0}}]}`, `{"schema_version":4,"tools":[{"name":"mine","params":{"n":1.0}},{"name":"switch_llm","params":{}}]}`, "tools.ask_oracle tools.start_child_conversation"},
		"no switch_llm below 1.22":   {schema.Settings, agent("6", `"schema_version":9,"agent_kind":"openhands","tools":[{"name":"glob"}]`), "1.21.0", `{"agent_settings":{"schema_version":2,"agent_kind":"openhands","tools":[{"name":"glob"}]}}`, `{"agent_settings":{"schema_version":9,"agent_kind":"openhands","tools":[{"name":"glob"},{"name":"switch_llm","params":{}}]},"schema_version":6}`, "agent_settings.tools.switch_llm"},
		"no switch_llm in a profile": {schema.AgentProfile, `{"schema_version":4,"tools":[` + pinned + `]}`, "1.29.0", `{"schema_version":1}`, `{"schema_version":4}`, "tools.switch_llm"},
		"tools of every agent":       {schema.Settings, agent("6", `"schema_version":9,"tools":[{"name":"ThinkTool"},{"name":"glob"},{"name":"finish","params":{}},{"name":"switch_llm","params":{}}]`), "1.49.1", agent("3", `"schema_version":6,"tools":[{"name":"glob"}]`), agent("6", `"schema_version":9,"tools":[{"name":"glob"},{"name":"switch_llm","params":{}}]`), ""},
		"tools of the SDK itself":    {schema.AgentProfile, `{"schema_version":4,"tools":[{"name":"VisionInspectTool"},{"name":"invoke_skill"},{"name":"finish","params":{"response_schema":{}}},{"name":"glob"}]}`, "1.49.1", `{"schema_version":2,"tools":[{"name":"glob"}],"enable_switch_llm_tool":false}`, `{"schema_version":4,"tools":[{"name":"glob"}]}`, "tools.VisionInspectTool tools.invoke_skill tools.finish"},
		"they stay in newer ones":    {schema.AgentProfile, `{"schema_version":4,"tools":[{"name":"ThinkTool"},{"name":"inspect_image_with_vision"}]}`, "1.51.0", `{"schema_version":3,"tools":[{"name":"ThinkTool"},{"name":"inspect_image_with_vision"}]}`, `{"schema_version":4,"tools":[{"name":"ThinkTool"},{"name":"inspect_image_with_vision"}]}`, ""},
		"a tool that is there":       {schema.Settings, agent("6", `"schema_version":9,"tools":[{"name":"ask_oracle"},{"name":"switch_llm","params":{}}]`), "1.44.0", agent("2", `"schema_version":5,"tools":[{"name":"ask_oracle"}]`), agent("6", `"schema_version":9,"tools":[{"name":"ask_oracle"},{"name":"switch_llm","params":{}}]`), ""},
		"the limit of an answer":     {schema.LLMProfile, `{"model":"a","timeout":77,"stream_idle_timeout":77.0}`, "1.49.1", `{"model":"a","timeout":77}`, `{"model":"a","timeout":77}`, ""},
		"its usual limit":            {schema.LLMProfile, `{"model":"a","stream_idle_timeout":300}`, "1.49.1", `{"model":"a"}`, `{"model":"a"}`, ""},
		"no limit of a pause":        {schema.LLMProfile, `{"model":"a","timeout":77,"stream_idle_timeout":null}`, "1.49.1", `{"model":"a","timeout":77}`, `{"model":"a","timeout":77}`, "stream_idle_timeout"},
		"no limit at all":            {schema.LLMProfile, `{"model":"a","timeout":null,"stream_idle_timeout":null}`, "1.49.1", `{"model":"a","timeout":null}`, `{"model":"a","timeout":null}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			down := run(t, tt.f, tt.from, tt.version)
			if diff := cmp.Diff(compact(tt.want), compact(string(down.Doc.Bytes()))); diff != "" {
				t.Errorf("down (-want +got):\n%s", diff)
			}
			if lost(down) != tt.l {
				t.Errorf("lost: %s", lost(down))
			}
			up := run(t, tt.f, string(down.Doc.Bytes()), "latest")
			if diff := cmp.Diff(compact(tt.back), compact(string(up.Doc.Bytes()))); diff != "" {
				t.Errorf("up again (-want +got):\n%s", diff)
			}
		})
	}
}

// What OpenHands 1.37 makes of the servers of older releases.
func TestServersUp(t *testing.T) {
	t.Parallel()
	const token = `"access_token":"a","n":1.50`
	for name, tt := range map[string]struct{ from, want, lost string }{
		"a bearer header":     {`"s":{"url":"u","headers":{"Authorization":"Bearer  x y","X":"1"}}`, `"s":{"url":"u","headers":{"X":"1"},"auth":{"strategy":"bearer","value":"xy"}}`, ""},
		"another header":      {`"s":{"url":"u","headers":{"authorization":"Basicx"},"timeout":5.0}`, `"s":{"url":"u","timeout":5.0,"auth":{"strategy":"header","headers":{"authorization":"Basicx"}}}`, ""},
		"an encrypted header": {`"s":{"url":"u","headers":{"Authorization":"gAAAAABx"}}`, `"s":{"url":"u","auth":{"strategy":"header","headers":{"Authorization":"gAAAAABx"}}}`, ""},
		"a token":             {`"s":{"url":"u","auth":"t","headers":{"Authorization":"x"}}`, `"s":{"url":"u","auth":{"strategy":"bearer","value":"t"},"headers":{"Authorization":"x"}}`, ""},
		"a key":               {`"s":{"url":"u","api_key":"k"}`, `"s":{"url":"u","auth":{"strategy":"api_key","value":"k"}}`, ""},
		"OAuth":               {`"s":{"url":"u","auth":"oauth","authentication":{"client_id":"c"}}`, `"s":{"url":"u","auth":{"strategy":"oauth2","authentication":{"client_id":"c","type":"oauth"}}}`, ""},
		"tokens of OAuth": {
			`"s":{"url":"u","auth":"oauth","oauth_credentials":{"mcp-oauth-token":{"x":{"access_token":"b"},"u/tokens":{"value":{` + token + `,"y":null}}},"mcp-oauth-token-expiry":{"x":{"expires_at":1.5}}}}`,
			`"s":{"url":"u","auth":{"strategy":"oauth2","state":{"tokens":{` + token + `},"token_expires_at":1.5}}}`, "",
		},
		"tokens beside a state": {
			`"s":{"url":"u","auth":{"strategy":"oauth2","credentials":{"mcp-oauth-token-expiry":{"x":{"expires_at":1.5}}},"state":{"token_expires_at":3}}}`,
			`"s":{"url":"u","auth":{"strategy":"oauth2","state":{"token_expires_at":3}}}`, "",
		},
		"a type":              {`"s":{"url":"u","type":"shttp"}`, `"s":{"url":"u","transport":"http"}`, ""},
		"a type as well":      {`"s":{"url":"u","type":"sse","transport":"http"}`, `"s":{"url":"u","transport":"http"}`, ""},
		"an unknown member":   {`"s":{"command":"c","tools":{"x":{}}}`, `"s":{"command":"c"}`, "agent_settings.mcp_config.mcpServers.s.tools"},
		"Linear":              {`"sse":{"url":"https://mcp.linear.app/sse?x","transport":"sse"},"s":{"url":"u"}`, `"s":{"url":"u"},"shttp":{"url":"https://mcp.linear.app/mcp"}`, ""},
		"Linear, and its old": {`"s":{"url":"https://mcp.linear.app/mcp"},"t":{"url":"https://mcp.linear.app/sse/","transport":"sse"}`, `"s":{"url":"https://mcp.linear.app/mcp"}`, "agent_settings.mcp_config.mcpServers.t"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := run(t, schema.Settings, agent("2", `"schema_version":4,"mcp_config":{"mcpServers":{`+tt.from+`}}`), "1.37.0")
			if diff := cmp.Diff(agent("2", `"schema_version":5,"mcp_config":{`+tt.want+`}`), compact(string(got.Doc.Bytes()))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if lost(got) != tt.lost {
				t.Errorf("lost: %s", lost(got))
			}
		})
	}
}

// What OpenHands before 1.31 can be told, and what it is after the way up.
func TestServersDown(t *testing.T) {
	t.Parallel()
	const at = "agent_settings.mcp_config.s."
	for name, tt := range map[string]struct{ from, want, back, lost string }{
		"none":               {`"auth":{"strategy":"none"}`, ``, ``, ""},
		"a token":            {`"auth":{"strategy":"bearer","value":"t"}`, `,"auth":"t"`, `,"auth":{"strategy":"bearer","value":"t"}`, ""},
		"an encrypted token": {`"auth":{"strategy":"bearer","value":"gAAAAABx"}`, ``, ``, at + "auth"},
		"a key":              {`"auth":{"strategy":"api_key","value":"k"}`, `,"auth":"k"`, `,"auth":{"strategy":"bearer","value":"k"}`, at + "auth.strategy"},
		"a key in a header":  {`"auth":{"strategy":"api_key","value":"k","header_name":"X"}`, `,"headers":{"X":"k"}`, `,"headers":{"X":"k"}`, at + "auth.strategy"},
		"a password":         {`"auth":{"strategy":"basic","username":"u","password":"p"}`, ``, ``, at + "auth"},
		"a header":           {`"auth":{"strategy":"header","headers":{"Authorization":"T"}}`, `,"headers":{"Authorization":"T"}`, `,"auth":{"strategy":"header","headers":{"Authorization":"T"}}`, ""},
		"OAuth":              {`"auth":{"strategy":"oauth2","state":{"token_expires_at":3}}`, `,"auth":"oauth"`, `,"auth":{"strategy":"oauth2"}`, at + "auth.state"},
		"an encrypted value": {`"env":{"A":"gAAAAABx","B":"b"}`, `,"env":{"A":"gAAAAABx","B":"b"}`, `,"env":{"A":"gAAAAABx","B":"b"}`, at + "env.A"},
		"streamable HTTP":    {`"transport":"shttp"`, `,"transport":"http"`, `,"transport":"http"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			down := run(t, schema.Settings, agent("2", `"schema_version":5,"mcp_config":{"s":{"url":"u",`+tt.from+`}}`), "1.30.0")
			if diff := cmp.Diff(agent("2", `"schema_version":4,"mcp_config":{"mcpServers":{"s":{"url":"u"`+tt.want+`}}}`), compact(string(down.Doc.Bytes()))); diff != "" {
				t.Errorf("down (-want +got):\n%s", diff)
			}
			if lost(down) != tt.lost {
				t.Errorf("lost: %s", lost(down))
			}
			up := run(t, schema.Settings, string(down.Doc.Bytes()), "1.37.0")
			if diff := cmp.Diff(agent("2", `"schema_version":5,"mcp_config":{"s":{"url":"u"`+tt.back+`}}`), compact(string(up.Doc.Bytes()))); diff != "" {
				t.Errorf("up again (-want +got):\n%s", diff)
			}
		})
	}
}
