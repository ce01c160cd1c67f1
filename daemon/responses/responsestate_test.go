package responses_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// steps are what agents do in a turn, and how it ends.
func steps() *rapid.Generator[[]daemontest.Step] {
	step := rapid.OneOf(
		rapid.Map(rapid.SampledFrom([]string{"a", "b ", "\n\nc", "äöü ✓"}), daemontest.Delta),
		rapid.Map(rapid.SampledFrom([]string{"I will look.", "Then this."}), daemontest.Say),
		rapid.Map(rapid.SampledFrom([]string{"ls", "pwd"}), daemontest.Tool),
	)
	end := rapid.SampledFrom([]daemontest.Step{
		daemontest.Finish("done"), daemontest.Finish(""), daemontest.Fail("LLMServiceUnavailableError", "down"),
		daemontest.Fail("MaxIterationsReached", "too many"), daemontest.Confirm("rm -rf build"), daemontest.Vanish(),
	})
	return rapid.Custom(func(t *rapid.T) []daemontest.Step {
		return append(rapid.SliceOfN(step, 0, 6).Draw(t, "steps"), end.Draw(t, "end"))
	})
}

// eventFrames are the events of a stream, as they were sent.
func eventFrames(body string) []string {
	var all []string
	for line := range strings.Lines(body) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			all = append(all, strings.TrimSuffix(data, "\n"))
		}
	}
	return all
}

// A stream that is cut after any of its events and resumed is the uncut one:
// whatever the agent did, while it works and after the end, from memory, from the
// file, and from the file of an earlier process.
func TestAStreamIsResumedAfterEachEvent(t *testing.T) {
	t.Parallel()
	for seed := range 24 {
		turn := steps().Example(seed)
		for _, stored := range []bool{true, false} {
			t.Run(fmt.Sprintf("%d/stored=%v", seed, stored), func(t *testing.T) {
				t.Parallel()
				resumedAfterEachEvent(t, turn, stored)
			})
		}
	}
}

func resumedAfterEachEvent(t *testing.T, turn []daemontest.Step, stored bool) {
	state := t.TempDir()
	config := func(c *daemon.Config) {
		c.Heartbeat = -1 // an event without news has no place of its own
		if stored {
			c.StateDir = state
		}
	}
	gate := make(chan struct{})
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		if prompt == "live" {
			return append(append([]daemontest.Step{}, turn[:len(turn)/2]...), append([]daemontest.Step{daemontest.Until(gate)}, turn[len(turn)/2:]...)...)
		}
		return turn
	}
	g := apitest.Serve(t, b, config)
	count := len(apitest.EventsOf(t, g.Respond(apitest.Input("how many", apitest.Streamed)).Body))

	id := apitest.Responded(t, g.Respond(apitest.Input("live", `"background":true`))).ID
	resume := func(g *apitest.Gateway, after int) *http.Response {
		return g.Send(g.Request(http.MethodGet, fmt.Sprintf("/v1/responses/%s?stream=true&starting_after=%d", id, after), ""))
	}
	live := make([]*http.Response, count)
	for cut := range live {
		live[cut] = resume(g, cut)
	}
	uncut := g.Send(g.Request(http.MethodGet, "/v1/responses/"+id+"?stream=true", ""))
	close(gate)
	body := g.Finish(uncut).Body
	apitest.EventsOf(t, body)
	want := eventFrames(body)
	check := func(how string, cut int, res *http.Response) {
		t.Helper()
		joined := append(want[:min(cut+1, len(want)):len(want)], eventFrames(g.Finish(res).Body)...)
		if diff := cmp.Diff(want, joined); diff != "" {
			t.Errorf("%s, cut after event %d: %s", how, cut, diff)
		}
	}
	for cut, res := range live {
		check("live", cut, res)
	}
	for cut := range want {
		check("after the end", cut, resume(g, cut))
	}
	if !stored {
		return
	}
	if err := g.Stop(); err != nil {
		t.Fatal(err)
	}
	next := apitest.Serve(t, b, config)
	for cut := range want {
		check("after a restart", cut, resume(next, cut))
	}
}

// Whatever becomes of a response, its object is as OpenAI's schema wants it.
func TestTheObjectOfEachStatus(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end    daemontest.Step
		status string
	}{
		"completed":  {daemontest.Finish("done"), "completed"},
		"failed":     {daemontest.Fail("LLMServiceUnavailableError", "down"), "failed"},
		"incomplete": {daemontest.Fail("MaxIterationsReached", "too many"), "incomplete"},
		"cut off":    {daemontest.Cut("The name of"), "incomplete"},
		"waiting":    {daemontest.Confirm("rm -rf build"), "completed"},
		"lost":       {daemontest.Vanish(), "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, apitest.Script(daemontest.Tool("ls"), tc.end))
			events := apitest.EventsOf(t, g.Respond(apitest.Input("go", apitest.Streamed)).Body)
			m := events[len(events)-1].Object(t)
			apitest.Equal(t, "status", m.Status, tc.status)
			apitest.Equal(t, "the last event", events[len(events)-1].Type, "response."+tc.status)
			apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID, "")).Status, tc.status)
		})
	}
}

func TestABackgroundResponseWaitsInTheQueue(t *testing.T) {
	t.Parallel()
	gate := make(chan struct{})
	b := daemontest.New("default")
	b.Script = func(prompt string) []daemontest.Step {
		return []daemontest.Step{daemontest.Until(gate), daemontest.Finish("done: " + prompt)}
	}
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir, c.MaxRuns = t.TempDir(), 1 })
	first := apitest.Responded(t, g.Respond(apitest.Input("first", `"background":true`)))
	apitest.Eventually(t, "the first run has begun", func() bool { return b.Runs() == 1 })
	second := apitest.Responded(t, g.Respond(apitest.Input("second", `"background":true`)))
	apitest.Equal(t, "status of the second", second.Status, "queued")
	path := "/v1/responses/" + second.ID
	apitest.Equal(t, "GET of the second", apitest.Responded(t, g.Do(http.MethodGet, path, "")).Status, "queued")
	apitest.Equal(t, "GET of the first", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+first.ID, "")).Status, "in_progress")
	third := apitest.Responded(t, g.Respond(apitest.Input("third", `"background":true`)))
	apitest.Equal(t, "cancelled in the queue", apitest.Responded(t, g.Do(http.MethodPost, "/v1/responses/"+third.ID+"/cancel", "{}")).Status, "cancelled")
	close(gate)
	events := apitest.EventsOf(t, g.Do(http.MethodGet, path+"?stream=true", "").Body)
	apitest.Equal(t, "text", events[len(events)-1].Object(t).Text(), "done: second")
	apitest.Equal(t, "GET of the cancelled", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+third.ID, "")).Status, "cancelled")
	apitest.Equal(t, "runs", b.Runs(), 2)
}

// Codex sends a turn five times more if its stream breaks off before its last
// event. One agent runs.
func TestCodexSendsACutStreamAgain(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]daemontest.Step{"that succeeds": daemontest.Finish("done"), "that fails": daemontest.Fail("LLMServiceUnavailableError", "down")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate := make(chan struct{})
			b := apitest.Script(daemontest.Tool("ls"), daemontest.Until(gate), end)
			g := apitest.Serve(t, b)
			body := apitest.Input("go", apitest.Streamed, `"store":false`, `"prompt_cache_key":"thread"`)
			codex := []string{"Originator", "codex_cli_rs", "User-Agent", "codex_cli_rs/0.140.0"}
			for attempt := range 5 {
				res := g.Send(g.Request(http.MethodPost, "/v1/responses", body, codex...))
				if _, err := res.Body.Read(make([]byte, 64)); err != nil {
					t.Fatal(err)
				}
				res.Body.Close()
				apitest.Eventually(t, "the client is missed", func() bool { return strings.Count(g.Logs.String(), `"msg":"request"`) == attempt+1 })
			}
			close(gate)
			events := apitest.EventsOf(t, g.Respond(body, codex...).Body)
			apitest.Equal(t, "the first event", events[0].Type, "response.created")
			if m := events[len(events)-1].Object(t); name == "that fails" {
				apitest.Equal(t, "code", m.Error.Code, "invalid_prompt")
			} else {
				apitest.Equal(t, "text", m.Text(), "done")
			}
			apitest.Equal(t, "runs", b.Runs(), 1)
		})
	}
}

func TestIDsOfOtherKinds(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	m := apitest.Responded(t, g.Respond(apitest.Input("one")))
	chat := apitest.Completed(t, g.Chat(apitest.Ask("one")))
	for name, id := range map[string]string{
		"a completion":                      chat.ID,
		"a completion's digits":             "resp_" + strings.TrimPrefix(chat.ID, "chatcmpl-"),
		"a conversation":                    m.Conversation.ID,
		"a conversation's UUID":             strings.TrimPrefix(m.Conversation.ID, "conv_"),
		"a message":                         m.Output[len(m.Output)-1].ID,
		"in capitals":                       strings.ToUpper(m.ID),
		"with more digits":                  m.ID + "0",
		"a file":                            m.ID + ".json",
		"a null character":                  m.ID + `\u0000`,
		"something that is much too simple": "1",
	} {
		t.Run(name, func(t *testing.T) {
			if name != "a null character" {
				apitest.Envelope(t, g.Respond(apitest.Input("x", `"previous_response_id":"`+id+`"`)), http.StatusBadRequest, "previous_response_not_found", "previous_response_id")
			}
			for _, r := range []struct{ method, path string }{
				{http.MethodGet, ""}, {http.MethodGet, "?stream=true"}, {http.MethodDelete, ""}, {http.MethodPost, "/cancel"}, {http.MethodGet, "/input_items"},
			} {
				path := "/v1/responses/" + strings.ReplaceAll(id, `\u0000`, "%00") + r.path
				if res := g.Do(r.method, path, ""); res.Status != http.StatusNotFound {
					t.Errorf("%s %s: status %d: %s", r.method, path, res.Status, res.Body)
				}
			}
		})
	}
	apitest.Equal(t, "runs", b.Runs(), 2)
	apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID, ""))
}

// The header names the conversation itself. It is not changed, and not removed with
// a response of another one.
func TestAPreviousResponseOfAnotherConversation(t *testing.T) {
	t.Parallel()
	const header = "X-OpenHands-ServerConversation-ID"
	b := apitest.Script(daemontest.Finish("done"))
	g := apitest.Serve(t, b)
	m := apitest.Responded(t, g.Respond(apitest.Input("one")))
	own := strings.TrimPrefix(m.Conversation.ID, "conv_")
	other := g.Chat(apitest.Ask("hi"), header, "11111111-1111-4111-8111-111111111111").Header.Get(header)
	next := apitest.Input("two", `"previous_response_id":"`+m.ID+`"`)
	apitest.Envelope(t, g.Respond(next, header, other), http.StatusBadRequest, "mutually_exclusive_parameters", "previous_response_id")
	apitest.Equal(t, "conversation", apitest.Responded(t, g.Respond(next, header, own)).Conversation.ID, m.Conversation.ID)
	again := apitest.Input("two again", `"previous_response_id":"`+m.ID+`"`)
	apitest.Envelope(t, g.Respond(again, header, own), http.StatusBadRequest, "previous_response_not_latest", "previous_response_id")
	apitest.Equal(t, "runs", b.Runs(), 3)
	if copied := apitest.Responded(t, g.Respond(again)); copied.Conversation.ID == m.Conversation.ID {
		t.Error("it is not a copy")
	}
}

// A history of 10 MB costs its conversation nothing, and is not kept.
func TestALongHistory(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	b := apitest.Script(daemontest.Finish("done"))
	c := &resending{t: t, g: apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state }), keep: asItems}
	page := strings.Repeat("All work and no play. ", 150_000/22) // all of it is more than a file may have
	for range 10 {
		c.items = append(c.items, fmt.Sprintf(`{"role":"user","content":%q}`, page), fmt.Sprintf(`{"role":"assistant","content":%q}`, page))
	}
	c.say("one", "quoted")
	if n := len(b.Prompts()[0].Text); n > 80<<10 {
		t.Errorf("a new conversation is told %d bytes", n)
	}
	c.say("two", "continued")
	apitest.Equal(t, "message", b.Prompts()[1].Text, "two")
	for _, file := range responseFiles(t, state) {
		if info, err := os.Stat(file); err != nil || info.Size() > 2<<20 {
			t.Errorf("%s has %d bytes (%v)", file, info.Size(), err)
		}
	}
}

// responseFiles are the files of stored responses.
func responseFiles(t testing.TB, state string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(state, "responses", "*", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of responses, %v", len(files), err)
	}
	return files
}

func fileOf(t testing.TB, state, id string) string {
	t.Helper()
	return filepath.Join(state, "responses", id[len("resp_"):len("resp_")+2], id+".json")
}

// Responses whose files name each other as the previous one do not make an
// endless loop: the agent gets each once.
func TestResponsesThatFollowEachOther(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	b := apitest.Script(daemontest.Finish("done"))
	b.NoFork = true
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
	first := apitest.Responded(t, g.Respond(apitest.Input("the first")))
	second := apitest.Responded(t, g.Respond(apitest.Input("the second", `"previous_response_id":"`+first.ID+`"`)))
	third := apitest.Responded(t, g.Respond(apitest.Input("the third", `"previous_response_id":"`+second.ID+`"`)))
	path := fileOf(t, state, first.ID)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(data), `"status":"in_progress",`, `"status":"in_progress","previous":"`+third.ID+`",`, 1)
	if err := os.WriteFile(path, []byte(changed), 0o600); err != nil || changed == string(data) {
		t.Fatal(err)
	}
	apitest.Responded(t, g.Respond(apitest.Input("again", `"previous_response_id":"`+second.ID+`"`))) // told in words
	said := b.Prompts()[3].Text
	for _, turn := range []string{"the first", "the second", "the third"} {
		apitest.Equal(t, "how often "+turn+" is told", strings.Count(said, "> User: "+turn), 1)
	}
}

// A response that cannot be read is an error that says why. Nothing is started,
// and its file stays as it is.
func TestFilesThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(string) string
		told   string
	}{
		"torn":              {func(s string) string { return s[:len(s)/10] }, "damaged"},
		"of a newer ohgw":   {func(s string) string { return strings.Replace(s, `{"version":1,`, `{"version":2,`, 1) }, "newer ohgw"},
		"of another's name": {func(s string) string { return strings.Replace(s, `"id":"resp_`, `"id":"resp_0`, 1) }, "damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			b := apitest.Script(daemontest.Finish("done"))
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
			c := &resending{t: t, g: g, keep: asItems}
			m := c.say("one", "")
			path := fileOf(t, state, m.ID)
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			unusable := tc.change(string(data))
			if err := os.WriteFile(path, []byte(unusable), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, res := range []apitest.Response{
				g.Respond(apitest.Input("x", `"previous_response_id":"`+m.ID+`"`)),
				g.Do(http.MethodGet, "/v1/responses/"+m.ID, ""),
				g.Do(http.MethodDelete, "/v1/responses/"+m.ID, ""),
				g.Do(http.MethodPost, "/v1/responses/"+m.ID+"/cancel", ""),
			} {
				message, _ := apitest.Envelope(t, res, http.StatusInternalServerError, "internal_error", "")["message"].(string)
				apitest.Contains(t, "message", message, tc.told)
				apitest.Equal(t, "x-should-retry", res.Header.Get("x-should-retry"), "false")
			}
			apitest.Equal(t, "runs", b.Runs(), 1)
			after, err := os.ReadFile(path)
			if err != nil || string(after) != unusable {
				t.Errorf("the file was changed (%v)", err)
			}
			c.say("two", "quoted") // a client that does not name it gets an answer
		})
	}
}

// A stream whose file lacks its end is not sent: clients take the turn for cut off,
// and send it again.
func TestATornStreamIsNotSent(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")), func(c *daemon.Config) { c.StateDir = state })
	m := apitest.Responded(t, g.Respond(apitest.Input("one")))
	path := strings.TrimSuffix(fileOf(t, state, m.ID), ".json") + ".events"
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	for name, torn := range map[string]string{"after a line": strings.Join(lines[:3], ""), "in a line": string(data[:len(data)-9]), "at its beginning": ""} {
		if err := os.WriteFile(path, []byte(torn), 0o600); err != nil {
			t.Fatal(err)
		}
		res := g.Do(http.MethodGet, "/v1/responses/"+m.ID+"?stream=true", "")
		if message, _ := apitest.Envelope(t, res, http.StatusNotFound, "response_not_found", "stream")["message"].(string); !strings.Contains(message, "without stream") {
			t.Errorf("torn %s: %s", name, message)
		}
	}
	apitest.Equal(t, "GET", apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID, "")).Text(), "done")
}

// Where a response cannot be stored, no agent begins, and its client is told.
func TestResponsesThatCannotBeStored(t *testing.T) {
	t.Parallel()
	for name, more := range map[string]string{"in one piece": `"stream":false`, "streamed": apitest.Streamed, "in the background": `"background":true`} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			blocker := filepath.Join(state, "responses")
			if err := os.WriteFile(blocker, nil, 0o600); err != nil {
				t.Fatal(err)
			}
			b := apitest.Script(daemontest.Finish("done"))
			g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = state })
			res := g.Respond(apitest.Input("go", more))
			if more == apitest.Streamed {
				events := apitest.EventsOf(t, res.Body)
				m := events[len(events)-1].Object(t)
				apitest.Equal(t, "status", m.Status, "failed")
				apitest.Contains(t, "message", m.Error.Message, "nothing was started")
			} else {
				apitest.WantDisk(t, res, http.StatusInsufficientStorage, "storage_unavailable", state)
			}
			apitest.Equal(t, "runs", b.Runs(), 0)
			if err := os.Remove(blocker); err != nil {
				t.Fatal(err)
			}
			m := apitest.Responded(t, g.Respond(apitest.Input("go"), "X-OpenHands-Repeat", "run"))
			apitest.Equal(t, "text with room again", m.Text(), "done")
		})
	}
}

// A response in the background whose run fails before it is stored is an error, not
// a response that cannot be found.
func TestABackgroundResponseThatCannotBegin(t *testing.T) {
	t.Parallel()
	b := apitest.Script(daemontest.Finish("done"))
	b.FailOpen(errors.New("no"))
	g := apitest.Serve(t, b, func(c *daemon.Config) { c.StateDir = t.TempDir() })
	res := g.Respond(apitest.Input("go", `"background":true`))
	if res.Status == http.StatusOK { // it was stored while it waited
		m := apitest.Responded(t, res)
		apitest.Eventually(t, "it has failed", func() bool {
			return apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+m.ID, "")).Status == "failed"
		})
		return
	}
	apitest.Envelope(t, res, http.StatusInternalServerError, "internal_error", "")
}

func TestDeletingAConversationDeletesItsResponses(t *testing.T) {
	t.Parallel()
	for name, dir := range map[string]string{"on disk": t.TempDir(), "in memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := apitest.Serve(t, apitest.Script(daemontest.Finish("done")), func(c *daemon.Config) { c.StateDir = dir })
			c := &resending{t: t, g: g, keep: asText}
			first := c.say("one", "")
			second := c.say("two", "continued")
			other := apitest.Responded(t, g.Respond(apitest.Input("other")))
			if res := g.Do(http.MethodDelete, "/v1/conversations/"+first.Conversation.ID, ""); res.Status != http.StatusOK {
				t.Fatalf("status %d: %s", res.Status, res.Body)
			}
			for _, id := range []string{first.ID, second.ID} {
				apitest.Eventually(t, "the response is gone", func() bool { return g.Do(http.MethodGet, "/v1/responses/"+id, "").Status == http.StatusNotFound })
			}
			apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+other.ID, ""))
			c.say("three", "quoted")
		})
	}
}

func TestResponsesGoAwayAfterTheirTime(t *testing.T) {
	t.Parallel()
	for name, stored := range map[string]bool{"on disk": true, "in memory": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			state := t.TempDir()
			synctest.Test(t, func(t *testing.T) {
				b := apitest.Script(daemontest.Finish("done"))
				g := apitest.Serve(t, b, func(c *daemon.Config) {
					c.ResponsesTTL = 48 * time.Hour
					if stored {
						c.StateDir = state
					}
				})
				old := apitest.Responded(t, g.Respond(apitest.Input("one")))
				named := apitest.Responded(t, g.Respond(apitest.Input("two", `"conversation":"home"`)))
				young := apitest.Responded(t, g.Respond(apitest.Input("three")))
				time.Sleep(time.Hour + time.Minute)
				apitest.Responded(t, g.Do(http.MethodGet, "/v1/responses/"+old.ID, ""))
				if stored {
					long := time.Now().Add(-49 * time.Hour)
					for _, m := range []apitest.Made{old, named} {
						if err := os.Chtimes(fileOf(t, state, m.ID), long, long); err != nil {
							t.Fatal(err)
						}
					}
				} else {
					time.Sleep(24 * time.Hour)
					young = apitest.Responded(t, g.Respond(apitest.Input("three")))
					time.Sleep(24 * time.Hour)
				}
				time.Sleep(time.Hour)
				synctest.Wait()
				for id, want := range map[string]int{old.ID: http.StatusNotFound, named.ID: http.StatusNotFound, young.ID: http.StatusOK} {
					apitest.Equal(t, "status", g.Do(http.MethodGet, "/v1/responses/"+id, "").Status, want)
				}
				for _, id := range b.Removed() {
					if id == strings.TrimPrefix(named.Conversation.ID, "conv_") || id == strings.TrimPrefix(young.Conversation.ID, "conv_") {
						t.Errorf("the conversation %s was removed", id)
					}
				}
				apitest.Contains(t, "removed conversations", strings.Join(b.Removed(), " "), strings.TrimPrefix(old.Conversation.ID, "conv_"))
			})
		})
	}
}
