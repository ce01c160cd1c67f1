package firstrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm"
	"github.com/ohgw/ohgw/internal/config"
	"github.com/ohgw/ohgw/internal/fault"
	"github.com/ohgw/ohgw/internal/localport"
	"github.com/ohgw/ohgw/internal/loopback"
	"github.com/ohgw/ohgw/setup"
	"github.com/ohgw/ohgw/setup/agents"
)

// lookTime bounds how long ohgw waits for a server of this machine. A port that
// is closed fails at once; the time is for a server on a busy machine.
const lookTime = 3 * time.Second

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 4 << 20

// Server is a model server that answers on this machine.
type Server struct {
	Name     string   // what people call it: "Ollama"
	Provider string   // the prefix of its models
	BaseURL  string   // for profiles
	Models   []string // sorted; may be empty
	Loading  bool     // it loads its model, and tells nothing before
	// Abilities are what the server reports about them.
	Abilities map[string]Ability
}

// EnvKey is a key in the environment.
type EnvKey struct {
	Provider string
	Variable string
}

// Found is what is on this machine.
type Found struct {
	Servers     []Server
	Keys        []EnvKey
	AgentServer string // its address; "" if none answers
}

// kind is a sort of model server.
type kind struct {
	name, provider string
	address        string // where it is unless a variable says otherwise
	variables      []string
	path           string // behind the address, for profiles
}

// kinds look at ports of [localport.Sought] only.
func kinds() []kind {
	at := func(port uint16) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(int(port))) }
	return []kind{
		{"Ollama", "ollama_chat", at(localport.Ollama), []string{"OLLAMA_HOST", "OLLAMA_API_BASE"}, ""},
		{"LM Studio", "lm_studio", at(localport.LMStudio), []string{"LM_STUDIO_API_BASE"}, "/v1"},
		{"llama.cpp", "hosted_vllm", at(localport.LlamaCpp), nil, "/v1"},
		{"Jan", "hosted_vllm", at(localport.Jan), nil, "/v1"},
		{"vLLM", "hosted_vllm", at(localport.AgentServer), []string{"HOSTED_VLLM_API_BASE"}, "/v1"},
	}
}

// Look asks the usual ports of this machine, all at once, and reads the
// environment. It sends nothing to another machine.
func Look(ctx context.Context, env *setup.Env, s *config.Settings) Found {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	found := Found{Keys: envKeys(env)}
	all := kinds()
	servers := make([]*Server, len(all))
	var group sync.WaitGroup
	group.Go(func() { found.AgentServer = agents.Find(ctx, env, s) })
	for i, k := range all {
		group.Go(func() { servers[i] = k.look(ctx, env) })
	}
	group.Wait()
	for _, server := range servers {
		if server != nil && !isSame(server.BaseURL, found.AgentServer) {
			found.Servers = append(found.Servers, *server)
		}
	}
	return found
}

// isSame reports whether two addresses are one server: an agent-server has a
// list of models too.
func isSame(a, b string) bool {
	one, err := url.Parse(a)
	if err != nil {
		return false
	}
	other, err := url.Parse(b)
	return err == nil && one.Port() == other.Port() && loopback.Host(one.Hostname()) && loopback.Host(other.Hostname())
}

// envKeys finds the keys in the environment, sorted by their providers.
func envKeys(env *setup.Env) []EnvKey {
	var keys []EnvKey
	for _, p := range Providers() {
		if p.Keyless || p.NeedsBaseURL() {
			continue
		}
		for _, name := range p.Variables {
			if _, set := env.Lookup(name); set {
				keys = append(keys, EnvKey{p.Prefix, name})
				break
			}
		}
	}
	return keys
}

// base returns the address of a server, without a path.
func (k kind) base(env *setup.Env) string {
	address := env.UsualAddress(k.address)
	for _, name := range k.variables {
		if text, set := env.Lookup(name); set {
			address = text
			break
		}
	}
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "http://" + k.address
	}
	if u.Hostname() == "0.0.0.0" || u.Hostname() == "" { // where Ollama listens, which is not an address to send to
		u.Host = "127.0.0.1:" + cmp.Or(u.Port(), strings.TrimPrefix(k.address, "127.0.0.1:"))
	}
	if u.Port() == "" && u.Scheme == "http" && k.name == "Ollama" {
		u.Host += ":11434"
	}
	return u.Scheme + "://" + u.Host
}

// look asks for the models of a server; nil if it is not one. Only this machine
// is asked.
func (k kind) look(ctx context.Context, env *setup.Env) *Server {
	base := k.base(env)
	if !setup.OnThisMachine(base) || k.provider == "hosted_vllm" && isAgentServer(ctx, env.HTTP, base) {
		return nil
	}
	list, err := exchange(ctx, env.HTTP, http.MethodGet, base+"/v1/models", nil)
	if llm.IsLoading(err) {
		return &Server{Name: k.name, Provider: k.provider, BaseURL: base + k.path, Loading: true}
	}
	if err != nil {
		return nil
	}
	models, err := modelsIn(list)
	if err != nil {
		return nil
	}
	return &Server{
		Name: k.name, Provider: k.provider, BaseURL: base + k.path, Models: models,
		Abilities: abilities(ctx, env.HTTP, base, list, models),
	}
}

// isAgentServer reports whether an agent-server of OpenHands answers, which
// may have OpenAI's API too.
func isAgentServer(ctx context.Context, client *http.Client, base string) bool {
	var info struct {
		Version string `json:"version"`
	}
	return get(ctx, client, base+"/server_info", &info) == nil && info.Version != ""
}

var errNoModels = errors.New("not a list of models")

// modelsIn reads the models in a list of OpenAI's API.
func modelsIn(body []byte) ([]string, error) {
	var list struct {
		Object string `json:"object"`
		Data   []struct {
			ID    string `json:"id"`
			Owner string `json:"owned_by"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil {
		return nil, err
	}
	if list.Object != "list" {
		return nil, errNoModels
	}
	models := []string{}
	for _, m := range list.Data {
		if m.Owner == "openhands" { // another ohgw
			return nil, errNoModels
		}
		if !strings.Contains(m.ID, "embed") {
			models = append(models, m.ID)
		}
	}
	slices.Sort(models)
	return models, nil
}

// get reads a JSON document.
func get(ctx context.Context, client *http.Client, address string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return err
	}
	body, err := do(client, req)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, out)
}

// do makes a request and reads its answer. The error for a refusal is one that
// [llm.IsLoading] understands.
func do(client *http.Client, req *http.Request) ([]byte, error) {
	resp, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // It was only read.
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if resp.StatusCode != http.StatusOK {
		return nil, &llm.Error{Status: resp.StatusCode, Detail: string(body)}
	}
	return body, err
}

// usage makes the fault of a choice that flags or a person have made.
func usage(err error) error {
	if f, ok := errors.AsType[*fault.Error](err); ok {
		return fault.NewUsage(f.Msg, f.Hint)
	}
	return err
}
