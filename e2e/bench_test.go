//go:build e2e

package e2e_test

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/agentserver"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakeserver"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/testkit/proxytest"
	"github.com/ohgw/ohgw/internal/uuid"
)

// target is something that answers chat completions from a scripted LLM.
type target struct {
	url    string
	llm    *llmtest.Server
	agents server // behind it; none behind the proxy
	key    string // empty: the gateway's
}

// targets are what the gateway is measured beside: a bare reverse proxy to the
// LLM is the floor, the fake agent-server shows what is the gateway's own, the
// real one what a user gets.
var targets = []struct {
	name  string
	start func(b *testing.B, args ...string) target
}{
	{"proxy", func(b *testing.B, _ ...string) target {
		llm := llmtest.New(b)
		to, err := url.Parse(strings.TrimSuffix(llm.URL, "/v1"))
		if err != nil {
			b.Fatal(err)
		}
		proxy := httptest.NewServer(proxytest.Duplex(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) }, FlushInterval: -1}))
		b.Cleanup(proxy.Close)
		return target{url: proxy.URL, llm: llm}
	}},
	{"fake", func(b *testing.B, args ...string) target {
		llm, fake := llmtest.New(b), newFake(b)
		fake.SaveProfile("scripted", fakeserver.Profile{Model: "openai/test", BaseURL: llm.URL, Key: "sk-llm-test"})
		agents := server{fake.URL, fakeKey}
		return target{url: serve(b, measured(b), agents, args...).URL, llm: llm, agents: agents}
	}},
	{"embedded", func(b *testing.B, args ...string) target {
		llm := llmtest.New(b)
		g := serveEmbedded(b, measured(b), llm.URL, args...)
		return target{url: g.URL, llm: llm}
	}},
	{"real", func(b *testing.B, args ...string) target {
		s := newStack(b, measured(b), args...)
		return target{url: s.URL, llm: s.llm, agents: server{s.agents.URL, s.agents.Key}}
	}},
}

const fakeKey = "sk-session-test"

func newFake(t testing.TB) *fakeserver.Server {
	t.Helper()
	return fakeserver.New(t, fakeserver.Options{Key: fakeKey, MaxRuns: 10_000}) // tests of ohgw's own limits
}

// keepAlive is one client of many connections, as a program has it.
func keepAlive(b *testing.B) *http.Client {
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	b.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

func (g target) post(b *testing.B, client *http.Client, body string, header ...string) *http.Response {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, g.url+"/v1/chat/completions", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+cmp.Or(g.key, gatewayKey))
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	return res
}

// BenchmarkStream is one streamed turn, word by word: how long to the first
// byte, how long each word takes from the LLM to the client, and how long after
// the LLM's last word the stream has ended.
func BenchmarkStream(b *testing.B) {
	const words = 20
	for _, of := range targets {
		b.Run(of.name, func(b *testing.B) {
			g, client := of.start(b), keepAlive(b)
			warm, _ := prompt("[[say Hello.]]")
			bodyOf(b, g.post(b, client, chat(warm, false)))
			var first, word, end []time.Duration
			for b.Loop() {
				text, mark := prompt("")
				feed := make(chan string)
				g.llm.On(llmtest.Says(mark), llmtest.Reply{Feed: feed})
				began := time.Now()
				res := g.post(b, client, chat(text, true))
				at := make(chan frame, 1)
				var reader sync.WaitGroup
				reader.Go(func() {
					defer close(at)
					frames(b, res.Body, func(f frame) bool { at <- f; return true })
				})
				first = append(first, (<-at).At.Sub(began))
				feed <- "one " // the LLM has been asked
				awaitText(at)
				for range words {
					sent := time.Now()
					feed <- "word "
					word = append(word, awaitText(at).Sub(sent))
				}
				sent := time.Now()
				close(feed)
				for f := range at {
					if f.Data == done {
						end = append(end, f.At.Sub(sent))
					}
				}
				reader.Wait()
				res.Body.Close()
			}
			report(b, "first", first)
			report(b, "word", word)
			report(b, "end", end)
		})
	}
}

// awaitText waits for a frame with text.
func awaitText(at <-chan frame) time.Time {
	for f := range at {
		if f.Content != "" {
			return f.At
		}
	}
	return time.Time{}
}

// report prints the middle and the worst hundredth of some times, in
// milliseconds.
func report(b *testing.B, name string, times []time.Duration) {
	b.Helper()
	if len(times) == 0 {
		b.Errorf("%s: nothing was measured", name)
		return
	}
	slices.Sort(times)
	b.ReportMetric(times[len(times)/2].Seconds()*1000, name+"-p50-ms")
	b.ReportMetric(times[len(times)*99/100].Seconds()*1000, name+"-p99-ms")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkTurns is one-shot turns of 16 clients with an LLM that answers at
// once; "native" is the agent-server's own API without a gateway, and without
// the gateway's limit of 8 runs at a time.
func BenchmarkTurns(b *testing.B) {
	for _, of := range targets {
		b.Run(of.name, func(b *testing.B) {
			g, client := of.start(b, "--one-shot-ttl", "0s"), keepAlive(b)
			turnsPerSecond(b, func() {
				text, _ := prompt("[[finish Hello.]]")
				res := g.post(b, client, chat(text, false))
				if body := bodyOf(b, res); !strings.Contains(body, "Hello.") {
					b.Errorf("status = %s, body %s", res.Status, body)
				}
				res.Body.Close()
			})
		})
		if of.name == "proxy" || of.name == "embedded" {
			continue // nothing of their own is behind them
		}
		b.Run(of.name+"-native", func(b *testing.B) {
			g := of.start(b)
			backend, workspace := g.native(b), b.TempDir()
			turnsPerSecond(b, func() {
				open := agentapi.OpenRequest{ID: uuid.New(), New: true, Workspace: workspace}
				nativeTurn(b, backend, open)
				if err := backend.Remove(context.WithoutCancel(b.Context()), open.ID); err != nil {
					b.Error(err)
				}
			})
		})
	}
}

// turnsPerSecond runs turns on 16 clients.
func turnsPerSecond(b *testing.B, turn func()) {
	b.SetParallelism(max(1, 16/parallelism()))
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			turn()
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(0, "ns/op")
}

// native is the agent-server's own API, by our client for it.
func (g target) native(b *testing.B) agentapi.Backend {
	backend, err := agentserver.New(agentserver.Config{URL: g.agents.URL, Key: func() string { return g.agents.Key }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = backend.Close() })
	return backend
}

// nativeTurn runs one turn of a conversation, which it makes if it is not there.
func nativeTurn(b *testing.B, backend agentapi.Backend, open agentapi.OpenRequest) {
	open.Profile = "scripted"
	conversation, err := backend.Open(b.Context(), open)
	if err != nil {
		b.Error(err)
		return
	}
	defer conversation.Close()
	text, _ := prompt("[[finish Hello.]]")
	result, err := turn.Run(b.Context(), conversation, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}})
	if err != nil || result.Answer != "Hello." {
		b.Errorf("answer = %q, error %v", result.Answer, err)
	}
}

// BenchmarkLongConversation compares the second turn of a conversation with
// the 200th and those after it, on the fake agent-server, which like a real one
// sends the LLM a history that grows: "native" is what that costs.
func BenchmarkLongConversation(b *testing.B) {
	g, client := targets[1].start(b), keepAlive(b)
	backend, workspace := g.native(b), b.TempDir()
	ways := []struct {
		name string
		say  func(b *testing.B, id string)
	}{
		{"gateway", func(b *testing.B, id string) {
			text, _ := prompt("[[finish Hello.]]")
			res := g.post(b, client, chat(text, false), "X-OpenHands-ServerConversation-ID", id)
			defer res.Body.Close()
			if body := bodyOf(b, res); res.StatusCode != http.StatusOK {
				b.Fatalf("status = %s, body %s", res.Status, body)
			}
		}},
		{"native", func(b *testing.B, id string) {
			nativeTurn(b, backend, agentapi.OpenRequest{ID: id, Workspace: workspace})
		}},
	}
	for _, way := range ways {
		for _, before := range []int{1, 199} {
			b.Run(fmt.Sprintf("%s/turn%d", way.name, before+1), func(b *testing.B) {
				var times []time.Duration
				id := ""
				for b.Loop() {
					if id == "" || before == 1 {
						id = uuid.New()
						for range before {
							way.say(b, id)
						}
					}
					began := time.Now()
					way.say(b, id)
					times = append(times, time.Since(began))
				}
				report(b, "turn", times)
			})
		}
	}
}

// BenchmarkStart is from the start of the process until it is ready, and the
// memory it then holds; and commands that do next to nothing, with the time that
// processors spend on them.
func BenchmarkStart(b *testing.B) {
	fake := newFake(b)
	program := measured(b)
	b.Run("serve", func(b *testing.B) {
		var ready []time.Duration
		var memory int
		for b.Loop() {
			began := time.Now()
			g := serve(b, program, server{fake.URL, fakeKey})
			ready = append(ready, time.Since(began))
			memory = g.resident()
			g.stop(b)
		}
		report(b, "ready", ready)
		b.ReportMetric(mb(memory), "MB")
	})
	b.Run("serve-embedded", func(b *testing.B) {
		llm := llmtest.New(b)
		var ready []time.Duration
		var memory int
		for b.Loop() {
			began := time.Now()
			g := serveEmbedded(b, program, llm.URL)
			ready = append(ready, time.Since(began))
			memory = g.resident()
			g.stop(b)
		}
		report(b, "ready", ready)
		b.ReportMetric(mb(memory), "MB")
	})
	for _, args := range [][]string{{"--version"}, {"version"}, {"__complete", "tokens", ""}} {
		b.Run(args[0], func(b *testing.B) {
			var times []time.Duration
			var busy time.Duration
			for b.Loop() {
				began := time.Now()
				cmd := exec.CommandContext(b.Context(), program, args...)
				cmd.Env = []string{"HOME=" + b.TempDir()}
				if out, err := cmd.CombinedOutput(); err != nil {
					b.Fatalf("running the program: %v\n%s", err, out)
				}
				times = append(times, time.Since(began))
				busy += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
			}
			report(b, "run", times)
			b.ReportMetric(busy.Seconds()*1000/float64(len(times)), "cpu-ms")
		})
	}
}
