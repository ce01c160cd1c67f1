package firstrun

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/secret/secrettest"
	"github.com/ohgw/ohgw/setup/setuptest"
)

// server answers paths on this machine.
func server(t *testing.T, answers map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := answers[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// loading is llama.cpp that loads its model.
func loading(t *testing.T) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"error":{"message":"Loading model","type":"unavailable_error","code":503}}`)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

const models = `{"object":"list","data":[{"id":"qwen3:8b","owned_by":"library"},{"id":"nomic-embed-text","owned_by":"library"},{"id":"gemma3","owned_by":"library"}]}`

// closed is an address where nothing listens.
func closed(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	return "http://" + ln.Addr().String()
}

func TestModelServersOfThisMachineAreFound(t *testing.T) {
	t.Parallel()
	none := closed(t)
	both := map[string]string{"/v1/models": models, "/server_info": `{"version":"1.43.1"}`}
	for name, tt := range map[string]struct {
		variables map[string]string
		want      []Server // with the address as its base URL
		agents    bool
	}{
		"Ollama":                   {map[string]string{"OLLAMA_HOST": server(t, map[string]string{"/v1/models": models})}, []Server{{Name: "Ollama", Provider: "ollama_chat", Models: []string{"gemma3", "qwen3:8b"}}}, false},
		"LM Studio":                {map[string]string{"LM_STUDIO_API_BASE": server(t, map[string]string{"/v1/models": models}) + "/v1"}, []Server{{Name: "LM Studio", Provider: "lm_studio", Models: []string{"gemma3", "qwen3:8b"}}}, false},
		"no model yet":             {map[string]string{"OLLAMA_HOST": server(t, map[string]string{"/v1/models": `{"object":"list","data":null}`})}, []Server{{Name: "Ollama", Provider: "ollama_chat", Models: []string{}}}, false},
		"one that loads its model": {map[string]string{"LM_STUDIO_API_BASE": loading(t)}, []Server{{Name: "LM Studio", Provider: "lm_studio", Loading: true}}, false},
		"something else":           {map[string]string{"OLLAMA_HOST": server(t, map[string]string{"/v1/models": "<html>"})}, nil, false},
		"another ohgw":             {map[string]string{"HOSTED_VLLM_API_BASE": server(t, map[string]string{"/v1/models": `{"object":"list","data":[{"id":"openhands","owned_by":"openhands"}]}`})}, nil, false},
		"an agent-server":          {map[string]string{"HOSTED_VLLM_API_BASE": server(t, both)}, nil, false},
		"the one for agents":       {map[string]string{"OHGW_AGENT_SERVER_URL": server(t, both)}, nil, true},
		"another machine":          {map[string]string{"OLLAMA_HOST": "http://192.0.2.1:11434"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variables := map[string]string{"OH_PERSISTENCE_DIR": t.TempDir(), "OLLAMA_HOST": none, "LM_STUDIO_API_BASE": none, "HOSTED_VLLM_API_BASE": none, "OHGW_AGENT_SERVER_URL": none}
			for name, value := range tt.variables {
				variables[name] = value
			}
			env := setuptest.New(t, variables)
			s, err := env.Settings(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := Look(t.Context(), env, s)
			var servers []Server
			for _, s := range got.Servers {
				if s.Name == "llama.cpp" || s.Name == "Jan" { // Its port is fixed: it may be of this machine.
					continue
				}
				if base := tt.variables[map[string]string{"Ollama": "OLLAMA_HOST", "LM Studio": "LM_STUDIO_API_BASE"}[s.Name]]; s.BaseURL != base {
					t.Errorf("the base URL is %s, want %s", s.BaseURL, base)
				}
				s.BaseURL, s.Abilities = "", nil // TestWhatServersTellOfTheirModels has those
				servers = append(servers, s)
			}
			if diff := cmp.Diff(tt.want, servers); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if (got.AgentServer != "") != tt.agents {
				t.Errorf("the agent-server is %q", got.AgentServer)
			}
		})
	}
}

func TestAddressesOfOllamaAreRead(t *testing.T) {
	t.Parallel()
	ollama := kinds()[0]
	for text, want := range map[string]string{
		"":                       "http://127.0.0.1:11434",
		"127.0.0.1:5000":         "http://127.0.0.1:5000",
		"0.0.0.0":                "http://127.0.0.1:11434",
		"0.0.0.0:5000":           "http://127.0.0.1:5000",
		":5000":                  "http://127.0.0.1:5000",
		"localhost":              "http://localhost:11434",
		"http://localhost:5000/": "http://localhost:5000",
		"http://%zz":             "http://127.0.0.1:11434",
	} {
		env := setuptest.New(t, map[string]string{"OLLAMA_HOST": text})
		env.Usual = nil
		if got := ollama.base(env); got != want {
			t.Errorf("OLLAMA_HOST=%s is %s, want %s", text, got, want)
		}
	}
}

func TestKeysInTheEnvironmentAreFound(t *testing.T) {
	t.Parallel()
	env := setuptest.New(t, map[string]string{"OPENAI_API_KEY": "x", "GEMINI_API_KEY": "x", "LITELLM_PROXY_API_KEY": "x", "OLLAMA_API_KEY": "x", "HOME": "x"})
	want := []EnvKey{{"gemini", "GEMINI_API_KEY"}, {"openai", "OPENAI_API_KEY"}, {"openhands", "LITELLM_PROXY_API_KEY"}}
	if diff := cmp.Diff(want, envKeys(env)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A key in the environment is named with the command that uses it, and never shown.
func TestAKeyInTheEnvironmentHasItsCommand(t *testing.T) {
	t.Parallel()
	const key = "sk-0123456789abcdefghijkl"
	absent := t.TempDir() // a keyring that is not there
	if err := os.WriteFile(filepath.Join(absent, "absent"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		env      map[string]string
		variable string
		command  string
	}{
		"Anthropic":           {map[string]string{"ANTHROPIC_API_KEY": key}, "ANTHROPIC_API_KEY", "ohgw profiles add anthropic --provider anthropic --model claude-sonnet-4-6 --key-from env:ANTHROPIC_API_KEY"},
		"xAI":                 {map[string]string{"XAI_API_KEY": key}, "XAI_API_KEY", "ohgw profiles add xai --provider xai --model grok-4 --key-from env:XAI_API_KEY"},
		"another server":      {map[string]string{"OPENAI_API_KEY": key, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}, "OPENAI_API_KEY", "ohgw profiles add openai --provider openai --model MODEL --key-from env:OPENAI_API_KEY"},
		"no model is known":   {map[string]string{"CEREBRAS_API_KEY": key}, "CEREBRAS_API_KEY", "ohgw profiles add cerebras --provider cerebras --model MODEL --key-from env:CEREBRAS_API_KEY"},
		"the second of two":   {map[string]string{"GEMINI_API_KEY": " ", "OPENAI_API_KEY": key}, "OPENAI_API_KEY", "ohgw profiles add openai --provider openai --model gpt-5.5 --key-from env:OPENAI_API_KEY"},
		"not a key":           {map[string]string{"OPENAI_API_KEY": "two\nlines"}, "", ""},
		"AWS, which has more": {map[string]string{"AWS_ACCESS_KEY_ID": key, "AWS_BEARER_TOKEN_BEDROCK": key}, "", ""},
		"none":                {nil, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for store, more := range map[string]string{"file": "", "keyring": " --key-store file"} {
				env := setuptest.New(t, tt.env)
				env.Keyring = secrettest.FileKeyring(absent)
				settings, err := env.Settings(map[string][]string{"key-store": {store}})
				if err != nil {
					t.Fatal(err)
				}
				want := tt.command
				if want != "" {
					want += more
				}
				if variable, command := FromEnvironment(t.Context(), env, settings); variable != tt.variable || command != want {
					t.Errorf("%s: variable = %s, command %s; want %s, %s", store, variable, command, tt.variable, want)
				}
			}
		})
	}
}

func TestTheBaseURLOfTheEnvironmentIsThatOfTheProvider(t *testing.T) {
	t.Parallel()
	const here, ohgw = "http://127.0.0.1:9/v1", "http://localhost:6449/v1"
	for name, tt := range map[string]struct {
		env            map[string]string
		plan           Plan
		variable, base string
		refused        string
	}{
		"OpenAI":                {map[string]string{"OPENAI_BASE_URL": here}, Plan{Provider: "openai"}, "OPENAI_BASE_URL", here, ""},
		"the older variable":    {map[string]string{"OPENAI_API_BASE": here}, Plan{Provider: "openai"}, "OPENAI_API_BASE", here, ""},
		"by the model":          {map[string]string{"OPENAI_BASE_URL": here}, Plan{Model: "gpt-5"}, "OPENAI_BASE_URL", here, ""},
		"Anthropic":             {map[string]string{"ANTHROPIC_API_BASE": here}, Plan{Provider: "anthropic"}, "ANTHROPIC_API_BASE", here, ""},
		"vLLM":                  {map[string]string{"HOSTED_VLLM_API_BASE": here}, Plan{Provider: "hosted_vllm"}, "HOSTED_VLLM_API_BASE", here, ""},
		"of another provider":   {map[string]string{"OPENAI_BASE_URL": here}, Plan{Provider: "anthropic"}, "", "", ""},
		"empty":                 {map[string]string{"OPENAI_BASE_URL": ""}, Plan{Provider: "openai"}, "", "", ""},
		"not a URL":             {map[string]string{"OPENAI_BASE_URL": "127.0.0.1:9"}, Plan{Provider: "openai"}, "OPENAI_BASE_URL", "127.0.0.1:9", "is not a valid base URL"},
		"ohgw, as clients have": {map[string]string{"OPENAI_BASE_URL": ohgw}, Plan{Provider: "openai"}, "OPENAI_BASE_URL", ohgw, "is the address of ohgw itself"},
	} {
		env := setuptest.New(t, tt.env)
		settings, err := env.Settings(nil)
		if err != nil {
			t.Fatal(err)
		}
		variable, base := BaseFromEnvironment(env, tt.plan)
		if variable != tt.variable || base != tt.base {
			t.Errorf("%s: variable = %s, base URL %s", name, variable, base)
		}
		if base == "" {
			continue
		}
		if err := CheckEnvironmentBase(settings, variable, base); (err == nil) != (tt.refused == "") || err != nil && !strings.Contains(err.Error(), tt.refused) {
			t.Errorf("%s: %v, want %q", name, err, tt.refused)
		}
	}
}

func TestModelsAndProvidersAreChecked(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ model, base, want string }{
		{"anthropic/claude-sonnet-4-5", "", ""},
		{"gpt-5", "", ""},
		{"Qwen/Qwen3", "http://127.0.0.1:8000/v1", ""},
		{"vertex_ai/gemini", "", ""}, // for an agent-server
		{"antropic/claude", "", `unknown provider "antropic"`},
		{"nosuchprovider/foo", "", `unknown provider "nosuchprovider"`},
		{"foo", "", "no provider in its name"},
		{"openai/", "", "the name of the model is missing"},
		{"?", "", "is not the name of a model"},
		{"?", "http://127.0.0.1/v1", "is not the name of a model"},
	} {
		err := CheckModel(tt.model, tt.base)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("CheckModel(%q, %q) = %v, want %q", tt.model, tt.base, err, tt.want)
		}
	}
}

func TestProposalsStandFirst(t *testing.T) {
	t.Parallel()
	got := Arrange([]string{"a", "b", "c"}, []string{"c", "x", "b"})
	if diff := cmp.Diff([]string{"c", "b", "a"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"c", "x"}, Arrange(nil, []string{"c", "x"})); diff != "" {
		t.Errorf("without a list, -want +got:\n%s", diff)
	}
}

func TestWhatServersTellOfTheirModels(t *testing.T) {
	t.Parallel()
	list := func(owner, more string) string {
		return `{"object":"list","data":[{"id":"m","owned_by":"` + owner + `"` + more + `}]}`
	}
	for name, tt := range map[string]struct {
		answers map[string]string
		want    Ability
	}{
		"llama.cpp with tools": {map[string]string{
			"/v1/models": list("llamacpp", `,"meta":{"n_ctx":8192}`),
			"/props":     `{"default_generation_settings":{"n_ctx":4096},"chat_template_caps":{"supports_tools":true}}`,
		}, Ability{4096, HasTools}},
		"llama.cpp without tools": {map[string]string{
			"/v1/models": list("llamacpp", `,"meta":{"n_ctx":8192}`), "/props": `{"chat_template_caps":{"supports_tools":false}}`,
		}, Ability{8192, NoTools}},
		"an older llama.cpp": {map[string]string{"/v1/models": list("llamacpp", `,"meta":{"n_ctx":8192}`), "/props": `{}`}, Ability{8192, 0}},
		"Ollama, loaded": {map[string]string{
			"/v1/models": list("library", ""), "/api/ps": `{"models":[{"name":"m:latest","context_length":4096}]}`, "/api/show": `{"capabilities":["completion","tools"]}`,
		}, Ability{4096, HasTools}},
		"Ollama, not loaded": {map[string]string{
			"/v1/models": list("library", ""), "/api/ps": `{"models":[]}`, "/api/show": `{"capabilities":["completion"],"parameters":"num_ctx 2048"}`,
		}, Ability{2048, NoTools}},
		"LM Studio": {map[string]string{
			"/v1/models": list("organization_owner", ""), "/api/v0/models": `{"data":[{"id":"m","state":"loaded","loaded_context_length":4096,"capabilities":["tool_use"]}]}`,
		}, Ability{4096, HasTools}},
		"LM Studio, not loaded": {map[string]string{"/v1/models": list("organization_owner", ""), "/api/v0/models": `{"data":[{"id":"m","state":"not-loaded","capabilities":[]}]}`}, Ability{0, NoTools}},
		"vLLM":                  {map[string]string{"/v1/models": list("vllm", `,"max_model_len":40960`)}, Ability{40960, 0}},
		"Jan":                   {map[string]string{"/v1/models": list("openai", "")}, Ability{}},
	} {
		base := server(t, tt.answers)
		got := abilities(t.Context(), http.DefaultClient, base, []byte(tt.answers["/v1/models"]), []string{"m"})
		if got["m"] != tt.want {
			t.Errorf("%s: abilities = %+v, want %+v", name, got["m"], tt.want)
		}
	}
}
