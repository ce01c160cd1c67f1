package daemon_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/workdir"
)

// probe is a request with {id} where an id goes, of a response, an approval or a
// conversation.
type probe struct {
	path, body string
	header     []string
	of         idKind
	status     int
	code       string // of the error; OpenAI's has none
	// starts: a request with an unknown id starts a conversation, so the id of a
	// third token is what it is compared with.
	starts bool
}

type idKind string

const (
	ofConversation idKind = "conversation"
	ofHeader       idKind = "conversation in a header"
	ofResponse     idKind = "response"
	ofApproval     idKind = "approval"
	ofItem         idKind = "item in a conversation of one's own"
)

// ofNothing are the routes that take no id of a conversation or a response, with
// what they take.
func ofNothing() map[string]string {
	return map[string]string{
		"/{$}": "nothing", "/health": "nothing", "/healthz": "nothing", "/readyz": "nothing", "/metrics": "nothing",
		"/conversations": "nothing", "/models": "nothing", "/models/{id...}": "a model", "/runs": "nothing; runs_test.go has whose runs it lists",
	}
}

// probes are the requests of the routes that take ids, by method and path. A new
// route needs a line here, or one of ofNothing.
func probes() map[string][]probe {
	path := func(path string) []probe {
		return []probe{{path: path, of: ofConversation, status: http.StatusNotFound, code: "conversation_not_found"}}
	}
	stored := func(path string) []probe {
		return []probe{{path: path, of: ofResponse, status: http.StatusNotFound}}
	}
	with := func(at, body string) []probe {
		list := path(at)
		list[0].body = body
		return list
	}
	const one = "/conversations/{id}"
	item := append(path(one+"/items/{item}"), probe{path: "/conversations/{own}/items/{id}", of: ofItem, status: http.StatusNotFound, code: "item_not_found"})
	items := path(one + "/items")
	items = append(items, path(one+"/items?order=asc&limit=1&include=openhands.actions")...)
	response := append(stored("/responses/{id}"), stored("/responses/{id}?stream=true&starting_after=0")...)
	return map[string][]probe{
		"GET " + one: path(one), "HEAD " + one: path(one), "DELETE " + one: path(one),
		"GET " + one + "/items": items, "HEAD " + one + "/items": items,
		"POST " + one: with(one, `{"metadata":{}}`), "POST " + one + "/items": with(one+"/items", `{"items":[{"role":"user","content":"x"}]}`),
		"GET " + one + "/items/{item}": item, "HEAD " + one + "/items/{item}": item,
		"DELETE " + one + "/items/{item}": item,
		"GET " + one + "/extensions":      path(one + "/extensions"), "HEAD " + one + "/extensions": path(one + "/extensions"),
		"POST " + one + "/condense": path(one + "/condense"), "POST " + one + "/interrupt": path(one + "/interrupt"),
		"POST " + one + "/sandbox/grants": with(one+"/sandbox/grants", `{"access":"net","target":"a.example.com","scope":"once"}`),
		"GET /responses/{id}":             response, "DELETE /responses/{id}": stored("/responses/{id}"),
		"POST /responses/{id}/cancel": stored("/responses/{id}/cancel"), "GET /responses/{id}/input_items": stored("/responses/{id}/input_items"),
		"POST /chat/completions": chatProbes(), "POST /responses": responseProbes(),
	}
}

func chatProbes() (list []probe) {
	refused := probe{path: "/chat/completions", header: []string{apitest.HeaderID, "{id}"}, of: ofHeader, status: http.StatusNotFound, code: "conversation_not_found", starts: true}
	for _, body := range []string{apitest.Ask("go", apitest.Streamed), apitest.Ask("yes"), apitest.Ask(apitest.TitlePrompt), strings.Replace(apitest.Ask("go"), "openhands_default", "openhands_utility", 1)} {
		p := refused
		p.body = body
		list = append(list, p)
	}
	for _, more := range [][]string{{"X-OpenHands-Confirm", "accept"}, {"Idempotency-Key", "k"}, {"X-OpenHands-Repeat", "run"}, {"X-OpenHands-Confirmation", "never"}} {
		p := refused
		p.body, p.header = apitest.Ask("go"), slices.Concat(p.header, more)
		list = append(list, p)
	}
	return list
}

func responseProbes() (list []probe) {
	for _, more := range [][]string{{}, {apitest.Streamed}, {`"background":true`}} {
		list = append(list,
			probe{body: apitest.Input("go", append(more, `"conversation":"{id}"`)...), of: ofConversation, status: http.StatusNotFound, code: "conversation_not_found", starts: true},
			probe{body: apitest.Input("go", append(more, `"conversation":{"id":"{id}"}`)...), of: ofConversation, status: http.StatusNotFound, code: "conversation_not_found", starts: true},
			probe{body: apitest.Input("go", more...), header: []string{apitest.HeaderID, "{id}"}, of: ofHeader, status: http.StatusNotFound, code: "conversation_not_found", starts: true},
			probe{body: apitest.Input("go", append(more, `"previous_response_id":"{id}"`)...), of: ofResponse, status: http.StatusBadRequest, code: "previous_response_not_found"},
			probe{body: apitest.Input("go", append(more, `"previous_response_id":"{id}"`)...), header: []string{"X-OpenHands-Branch", "reject"}, of: ofResponse, status: http.StatusBadRequest, code: "previous_response_not_found"},
		)
	}
	for _, approve := range []string{"true", "false"} {
		list = append(list, probe{
			body: `{"model":"openhands_default","input":[{"type":"mcp_approval_response","approval_request_id":"{id}","approve":` + approve + `}],` + apitest.ApprovalTool + `}`,
			of:   ofApproval, status: http.StatusBadRequest, code: "previous_response_not_found",
		})
	}
	for i := range list {
		list[i].path = "/responses"
	}
	return list
}

// secretID is an id, and the part of it that differs from other ids of its kind.
type secretID struct{ id, core string }

// spelled are the ids of a conversation that a path takes.
func spelled(id string) []secretID {
	return []secretID{{id, id}, {"conv_" + id, id}}
}

// secrets is a gateway on which a token, and a third one, have one of everything.
type secrets struct {
	*apitest.Gateway
	state   string
	backend *daemontest.Backend
	llm     *apitest.Plain
	ids     map[idKind][]secretID // of the first token
	others  map[idKind]secretID   // of a third token
	item    string                // of the first token's conversation
	own     map[string]string     // conversations of other tokens, by their keys
}

// unknown returns ids that no token has.
func unknown() map[idKind]secretID {
	const digits, uuid = "0123456789abcdef0123456789abcdef", "0198c9d2-0000-4b1c-8e3d-4f5a6b7c8d9e"
	return map[idKind]secretID{
		ofConversation: {uuid, uuid}, ofHeader: {uuid, uuid},
		ofResponse: {"resp_" + digits, digits}, ofApproval: {"mcpr_" + digits + "0", digits}, ofItem: {"msg_" + uuid, "msg_" + uuid},
	}
}

const thirdKey = "ohgw-third-key-0123456789"

// strangers are keys that try the ids of another one.
func strangers() []string {
	return []string{apitest.OtherKey, apitest.LimitedKey, apitest.ActiveKey, apitest.OperatorKey}
}

// create makes a conversation that no agent has yet.
func (s *secrets) create(bearer string) string {
	s.T.Helper()
	res := s.By(bearer, http.MethodPost, "/v1/conversations", `{"items":[{"type":"message","role":"user","content":"hello"}]}`)
	apitest.Equal(s.T, "the status", res.Status, http.StatusOK)
	return res.Header.Get(apitest.HeaderID)
}

// keepSecrets gives two tokens a conversation with a response and an action that
// waits, and the first one a response that is being made.
func keepSecrets(t *testing.T) *secrets {
	t.Helper()
	b := daemontest.New("default", "cheap", "secret")
	b.Script = func(prompt string) []daemontest.Step {
		if prompt == "work" {
			return []daemontest.Step{daemontest.Say("So far."), daemontest.Hang()}
		}
		return []daemontest.Step{daemontest.Batch("Let me look.", "ls"), daemontest.Confirm("rm -rf build"), daemontest.Finish("done")}
	}
	s := &secrets{state: t.TempDir(), backend: b, own: map[string]string{}, llm: &apitest.Plain{Answer: "a title"}, ids: map[idKind][]secretID{}, others: map[idKind]secretID{}}
	s.Gateway = apitest.Serve(t, b, s.llm.Config, func(c *daemon.Config) {
		c.StateDir, c.OneShotTTL = s.state, time.Hour
		c.Tokens = apitest.Rights{
			thirdKey:            {ID: "id-third", Name: "third"},
			apitest.OperatorKey: {ID: "id-operator", Name: "default", Operator: true, Workspaces: []string{workdir.Any}},
		}
	})
	for _, bearer := range []string{apitest.Key, thirdKey} {
		res := apitest.Responded(t, s.Respond(apitest.Input("clean up", apitest.ApprovalTool), "Authorization", "Bearer "+bearer))
		id, digits := strings.TrimPrefix(res.Conversation.ID, "conv_"), strings.TrimPrefix(res.ID, "resp_")
		if bearer == thirdKey {
			s.others[ofConversation], s.others[ofHeader] = secretID{id, id}, secretID{id, id}
			continue
		}
		s.ids[ofConversation], s.ids[ofHeader] = spelled(id), append(spelled(id), secretID{strings.ToUpper(id), id})
		s.item = s.Items(id, "order=asc").Data[0]["id"].(string)
		s.ids[ofItem] = []secretID{{s.item, s.item}}
		s.ids[ofResponse] = []secretID{{res.ID, digits}}
		for _, item := range res.Output {
			if item.Type == "mcp_approval_request" {
				s.ids[ofApproval] = []secretID{{item.ID, digits}}
			}
		}
	}
	unused := s.create(apitest.Key)
	s.ids[ofConversation], s.ids[ofHeader] = append(s.ids[ofConversation], spelled(unused)...), append(s.ids[ofHeader], secretID{unused, unused})
	for _, bearer := range strangers() {
		s.own[bearer] = s.create(bearer)
	}
	running := apitest.Responded(t, s.Respond(apitest.Input("work", `"background":true`)))
	synctest.Wait()
	id := strings.TrimPrefix(running.Conversation.ID, "conv_")
	s.ids[ofConversation] = append(s.ids[ofConversation], spelled(id)...)
	s.ids[ofHeader] = append(s.ids[ofHeader], secretID{id, id})
	s.ids[ofResponse] = append(s.ids[ofResponse], secretID{running.ID, strings.TrimPrefix(running.ID, "resp_")})
	if len(s.ids[ofApproval]) != 1 {
		t.Fatal("nothing waits for an approval")
	}
	return s
}

// answered is all that a client is told by an answer, the time that it takes included.
type answered struct {
	Status int
	Header http.Header
	Body   string
	Took   time.Duration
}

// ask makes a request of a probe with an id.
func (s *secrets) ask(bearer, method string, p probe, id secretID) answered {
	s.T.Helper()
	body := strings.ReplaceAll(p.body, "{id}", id.id)
	if model := apitest.Models()[bearer]; model != "" {
		body = strings.Replace(body, "openhands_default", model, 1)
	}
	header := []string{"Authorization", "Bearer " + bearer}
	for _, v := range p.header {
		header = append(header, strings.ReplaceAll(v, "{id}", id.id))
	}
	began := time.Now()
	path := strings.NewReplacer("{id}", id.id, "{item}", s.item, "{own}", s.own[bearer]).Replace(p.path)
	res := s.Do(method, "/v1"+path, body, header...)
	took := time.Since(began)
	hide := strings.NewReplacer(id.id, "ID", id.core, "ID", strings.ToUpper(id.core), "ID")
	out := answered{Status: res.Status, Header: http.Header{}, Body: hide.Replace(res.Body), Took: took}
	for name, values := range res.Header {
		switch name {
		case "Date", "X-Request-Id", "Content-Length":
		default:
			out.Header.Set(name, hide.Replace(strings.Join(values, ", ")))
		}
	}
	return out
}

// done is all that can have been done: what the backend was asked for, the calls of
// LLMs, and the files.
func (s *secrets) done() map[string]any {
	s.T.Helper()
	b := s.backend
	out := map[string]any{
		"opened": len(b.Opened()), "runs": b.Runs(), "prompts": len(b.Prompts()), "decided": len(b.Decided()),
		"removed": len(b.Removed()), "forked": len(b.Forked()), "interrupts": b.Interrupts(), "LLM": len(s.llm.Prompts),
	}
	for _, id := range s.ids[ofHeader] {
		out["mode of "+id.core] = b.Confirmation(id.core)
	}
	err := filepath.WalkDir(s.state, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		out[path] = sha256.Sum256(data)
		return err
	})
	if err != nil {
		s.T.Fatal(err)
	}
	return out
}

// Whoever has come by an id of another token learns nothing by it, on no route: not
// by the answer, not by its headers, not by its time. Nothing is done for it.
func TestNothingIsToldOfWhatBelongsToAnotherToken(t *testing.T) {
	t.Parallel()
	for _, bearer := range strangers() {
		t.Run(bearer, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := keepSecrets(t)
				before := s.done()
				for _, name := range slices.Sorted(maps.Keys(probes())) {
					method, _, _ := strings.Cut(name, " ")
					for _, p := range probes()[name] {
						s.probe(bearer, method, p)
					}
				}
				synctest.Wait()
				if diff := cmp.Diff(before, s.done()); diff != "" {
					t.Errorf("something was done (-before +after):\n%s", diff)
				}
			})
		})
	}
}

// probe compares the answers to a request with the ids of another token and with one
// that no token has.
func (s *secrets) probe(bearer, method string, p probe) {
	s.T.Helper()
	operator := bearer == apitest.OperatorKey && strings.HasSuffix(p.path, "/interrupt")
	none := unknown()[p.of]
	if p.starts {
		none = s.others[p.of]
	}
	want := s.ask(bearer, method, p, none)
	if !operator && (want.Status != p.status || want.Took != gate.SteadyTick) {
		s.T.Errorf("%s %s %s: %d after %s: %s", method, p.path, p.body, want.Status, want.Took, want.Body)
	}
	if method != http.MethodHead && !operator {
		var envelope struct {
			Error struct{ Code string }
		}
		if err := json.Unmarshal([]byte(want.Body), &envelope); err != nil || envelope.Error.Code != p.code {
			s.T.Errorf("%s %s: %s (%v)", method, p.path, want.Body, err)
		}
	}
	if operator { // it stops the runs of others, and is not told of what it may not enter
		return
	}
	for _, id := range s.ids[p.of] {
		if diff := cmp.Diff(want, s.ask(bearer, method, p, id)); diff != "" {
			s.T.Errorf("%s %s %s with %s is not answered as with an id that nobody has (-want +got):\n%s", method, p.path, p.body, id.id, diff)
		}
	}
}

// A route without its line would be one that was not checked.
func TestEveryRouteIsProbedForSecrets(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script())
	all, nothing := probes(), ofNothing()
	for _, name := range g.Daemon.Routes() {
		_, path, _ := strings.Cut(name, " ")
		_, probed := all[name]
		_, harmless := nothing[path]
		if probed == harmless {
			t.Errorf("%s needs a line in probes, or in ofNothing if it takes no id of a conversation or a response", name)
		}
		delete(all, name)
	}
	for name := range all {
		t.Errorf("%s is not a route", name)
	}
}

// A file that is damaged or newer does not reveal its owner to another token either.
// The owner gets the reason.
func TestDamagedResponsesAreToldToTheirOwner(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := keepSecrets(t)
		id := s.ids[ofResponse][0]
		path := filepath.Join(s.state, "responses", id.core[:2], id.id+".json")
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, tt := range map[string]struct {
			data  string
			owner int
		}{
			"cut off":      {string(whole[:600]), http.StatusInternalServerError},
			"newer":        {strings.Replace(string(whole), `{"version":1,`, `{"version":9,`, 1), http.StatusInternalServerError},
			"without text": {"", http.StatusNotFound},
			"not JSON":     {"x", http.StatusNotFound},
		} {
			if err := os.WriteFile(path, []byte(tt.data), 0o600); err != nil {
				t.Fatal(err)
			}
			for request, probes := range probes() {
				method, _, _ := strings.Cut(request, " ")
				for _, p := range probes {
					if p.of == ofResponse {
						s.ids = map[idKind][]secretID{ofResponse: {id}}
						s.probe(apitest.OtherKey, method, p)
					}
				}
			}
			if res := s.Do(http.MethodGet, "/v1/responses/"+id.id, ""); res.Status != tt.owner {
				t.Errorf("%s: the owner gets %d %s", name, res.Status, res.Body)
			}
		}
	})
}

// What another token runs or waits for is in no list either.
func TestListsAreOfTheTokensOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := keepSecrets(t)
		for _, path := range []string{"/v1/runs", "/v1/models", "/healthz", "/readyz", "/v1/health", "/"} {
			res := s.By(apitest.OtherKey, http.MethodGet, path, "")
			for kind, ids := range s.ids {
				for _, id := range ids {
					apitest.Lacks(t, fmt.Sprint(path, " with a ", kind), res.Body, id.core)
				}
			}
		}
	})
}
