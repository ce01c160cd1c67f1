//go:build e2e

package e2e_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/uuid"
)

// The benchmarks of this file measure ohgw from outside: the program, the
// scripted LLM and a bare proxy are processes, and this one is their client.
// What ohgw costs stands beside what the proxy costs in the same run, as a
// ratio; the machine decides the rest. They print figures and judge none.

// benchBinary names another ohgw to measure, e.g. one of an earlier commit.
const benchBinary = "OHGW_BENCH_BINARY"

var (
	llmProgram   = built("llmtest", "..", "./internal/testkit/llmtest/cmd/llmtest")
	proxyProgram = built("proxy", "..", "-tags", "e2e", "./e2e/proxy")
)

// measured is the program whose figures are wanted.
func measured(b *testing.B) string {
	if path := os.Getenv(benchBinary); path != "" {
		return path
	}
	return plainProgram(b)
}

// process is a program that prints its address and ends with its input.
type process struct {
	url string
	pid int
}

func launch(b *testing.B, program string, args ...string) process {
	b.Helper()
	cmd := exec.Command(program, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatalf("%s says no address: %v", program, err)
	}
	return process{url: strings.TrimSpace(line), pid: cmd.Process.Pid}
}

// outside is what is measured, and what it is measured beside.
type outside struct {
	llm    process
	client *http.Client
}

func newOutside(b *testing.B) outside {
	return outside{llm: launch(b, llmProgram(b)), client: keepAlive(b)}
}

func (o outside) proxy(b *testing.B) (target, int) {
	p := launch(b, proxyProgram(b), strings.TrimSuffix(o.llm.url, "/v1"))
	return target{url: p.url}, p.pid
}

func (o outside) ohgw(b *testing.B, args ...string) (target, *gateway) {
	g := serveEmbedded(b, measured(b), o.llm.url, args...)
	return target{url: g.URL}, g
}

// ask sends one request and reads its answer to the end.
func (o outside) ask(b *testing.B, to target, script string, header ...string) string {
	text, _ := prompt(script)
	res := to.post(b, o.client, chat(text, false), header...)
	defer res.Body.Close()
	body := bodyOf(b, res)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "Hello.") {
		b.Fatalf("status = %s, body %s", res.Status, body)
	}
	return body
}

// forget empties the books of the LLM, so that it stays small.
func (o outside) forget(b *testing.B) {
	req, err := http.NewRequestWithContext(b.Context(), http.MethodDelete, strings.TrimSuffix(o.llm.url, "/v1")+"/requests", nil)
	if err != nil {
		b.Fatal(err)
	}
	if res, err := o.client.Do(req); err == nil {
		res.Body.Close()
	}
}

// middle gives the median of some times.
func middle(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

// The units of ohgw's figure as a multiple of the proxy's: of what ohgw takes, and of
// what it does in a time.
const (
	timesProxy = "x-proxy"
	shareProxy = "of-proxy"
)

// beside runs a measurement with the proxy, then with ohgw, and reports how
// many times the proxy's figure ohgw's is.
func (o outside) beside(b *testing.B, unit string, args []string, measure func(b *testing.B, to target) float64) {
	var bare float64
	b.Run("of=proxy", func(b *testing.B) {
		to, _ := o.proxy(b)
		bare = measure(b, to)
		b.ReportMetric(0, "ns/op")
		o.forget(b)
	})
	b.Run("of=ohgw", func(b *testing.B) {
		to, _ := o.ohgw(b, args...)
		figure := measure(b, to)
		if bare > 0 {
			b.ReportMetric(figure/bare, unit)
		}
		b.ReportMetric(0, "ns/op")
		o.forget(b)
	})
}

// BenchmarkOutside is turns of one agent that answers at once. Give it many:
// -benchtime 1000x.
func BenchmarkOutside(b *testing.B) {
	o := newOutside(b)
	for _, clients := range []int{16, 64} {
		b.Run(fmt.Sprintf("turns/clients=%d", clients), func(b *testing.B) {
			o.beside(b, shareProxy, []string{"--one-shot-ttl", "0s"}, func(b *testing.B, to target) float64 {
				o.ask(b, to, "[[say Hello.]]")
				b.SetParallelism(max(1, clients/parallelism()))
				b.ResetTimer()
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						o.ask(b, to, "[[say Hello.]]")
					}
				})
				rate := float64(b.N) / b.Elapsed().Seconds()
				b.ReportMetric(rate, "turns/s")
				return rate
			})
		})
	}
	b.Run("hello", func(b *testing.B) {
		o.beside(b, timesProxy, nil, func(b *testing.B, to target) float64 {
			o.ask(b, to, "[[say Hello.]]")
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				o.ask(b, to, "[[say Hello.]]")
				took = append(took, time.Since(began))
			}
			report(b, "hello", took)
			return middle(took).Seconds()
		})
	})
	b.Run("text", func(b *testing.B) {
		o.beside(b, timesProxy, nil, func(b *testing.B, to target) float64 {
			o.ask(b, to, "[[say Hello.]]")
			var took []time.Duration
			for b.Loop() {
				took = append(took, o.untilText(b, to))
			}
			report(b, "first-text", took)
			return middle(took).Seconds()
		})
	})
	b.Run("stream", func(b *testing.B) {
		o.beside(b, timesProxy, nil, func(b *testing.B, to target) float64 {
			o.ask(b, to, "[[say Hello.]]")
			var first, whole []time.Duration
			for b.Loop() {
				text, _ := prompt("[[slow 20 1ms]]")
				began := time.Now()
				res := to.post(b, o.client, chat(text, true))
				frames(b, res.Body, func(f frame) bool {
					if len(first) == len(whole) {
						first = append(first, f.At.Sub(began))
					}
					return true
				})
				whole = append(whole, time.Since(began))
				res.Body.Close()
			}
			report(b, "first-byte", first)
			report(b, "20-words", whole)
			return middle(whole).Seconds()
		})
	})
}

// untilText measures the time from a request to the first text of its answer, and reads the
// answer to its end.
func (o outside) untilText(b *testing.B, to target) (took time.Duration) {
	text, _ := prompt("[[say Hello.]]")
	began := time.Now()
	res := to.post(b, o.client, chat(text, true))
	defer res.Body.Close()
	frames(b, res.Body, func(f frame) bool {
		if took == 0 && f.Content != "" {
			took = f.At.Sub(began)
		}
		return true
	})
	if took == 0 {
		b.Fatal("the answer has no text")
	}
	return took
}

// What BenchmarkHolding holds.
const (
	heldStreams  = 1000
	heldOneShots = 2000
	heldStarts   = 15

	heldBackground = 1000
	heldResponses  = 10_000
)

// BenchmarkHolding is what streams, conversations and starts cost. One round is
// enough: -benchtime 1x.
func BenchmarkHolding(b *testing.B) {
	o := newOutside(b)
	b.Run("streams=1000", func(b *testing.B) {
		var bare float64
		b.Run("of=proxy", func(b *testing.B) {
			to, pid := o.proxy(b)
			bare = o.streams(b, to, func() int { return resident(pid) })
		})
		b.Run("of=ohgw", func(b *testing.B) {
			to, g := o.ohgw(b, "--max-runs", fmt.Sprint(heldStreams+10), "--drain", "0s")
			b.ReportMetric(o.streams(b, to, g.resident)/bare, timesProxy)
		})
	})
	b.Run("one-shots=2000/of=ohgw", func(b *testing.B) {
		home := b.TempDir()
		g := o.at(b, home)
		empty, emptyMB := o.restarts(b, home, &g)
		to := target{url: g.URL}
		o.ask(b, to, "[[say Hello.]]")
		before := g.resident()
		o.shots(b, to, heldOneShots)
		time.Sleep(2 * time.Second) // a collection, if there is one
		b.ReportMetric(float64(g.resident()-before)/1024/heldOneShots, "kB/one-shot")
		full, fullMB := o.restarts(b, home, &g)
		b.ReportMetric(empty.Seconds()*1000, "ready-ms")
		b.ReportMetric(emptyMB, "idle-MB")
		b.ReportMetric(full.Seconds()*1000, "ready-after-ms")
		b.ReportMetric(fullMB, "idle-after-MB")
		b.ReportMetric(full.Seconds()/empty.Seconds(), "x-empty")
		b.ReportMetric(0, "ns/op")
	})
}

// BenchmarkHoldingResponses is what responses cost that wait in the background, and
// those that are stored when ohgw starts.
func BenchmarkHoldingResponses(b *testing.B) {
	o := newOutside(b)
	b.Run("background=1000/of=ohgw", func(b *testing.B) {
		to, g := o.ohgw(b, "--max-runs", "1", "--max-queue", fmt.Sprint(heldBackground), "--drain", "0s")
		o.ask(b, to, "[[say Hello.]]")
		before := g.resident()
		for range heldBackground {
			text, _ := prompt("[[hang]]")
			a := answerOf(b, g.respond(b, map[string]any{"input": text, "background": true}))
			if a.Status != "queued" && a.Status != "in_progress" {
				b.Fatalf("a response in the background is %s", a.Status)
			}
		}
		time.Sleep(2 * time.Second) // a collection, if there is one
		b.ReportMetric(mb(g.resident()-before), "MB")
		b.ReportMetric(0, "ns/op")
	})
	b.Run("stored=10000/of=ohgw", func(b *testing.B) {
		home := b.TempDir()
		g := o.at(b, home)
		empty, emptyMB := o.restarts(b, home, &g)
		text, _ := prompt("[[say Hello.]]")
		one := answerOf(b, g.respond(b, map[string]any{"input": text}))
		copies(b, filepath.Join(g.State, "responses"), one.ID, heldResponses)
		full, fullMB := o.restarts(b, home, &g)
		b.ReportMetric(empty.Seconds()*1000, "ready-ms")
		b.ReportMetric(emptyMB, "idle-MB")
		b.ReportMetric(full.Seconds()*1000, "ready-after-ms")
		b.ReportMetric(fullMB, "idle-after-MB")
		b.ReportMetric(full.Seconds()/empty.Seconds(), "x-empty")
		began := time.Now()
		if got := g.retrieve(b, one.ID); got.ID != one.ID {
			b.Errorf("got %s", got.ID)
		}
		b.ReportMetric(time.Since(began).Seconds()*1000, "get-ms")
		b.ReportMetric(0, "ns/op")
	})
}

// copies stores a response under n more ids.
func copies(b *testing.B, dir, id string, n int) {
	shard := func(id string) string { return filepath.Join(dir, strings.TrimPrefix(id, "resp_")[:2]) }
	others := make([]string, n)
	for i := range others {
		others[i] = "resp_" + strings.ReplaceAll(uuid.New(), "-", "")
	}
	for _, kind := range []string{".json", ".events"} {
		data, err := os.ReadFile(filepath.Join(shard(id), id+kind))
		if err != nil {
			b.Fatal(err)
		}
		for _, other := range others {
			if err := os.MkdirAll(shard(other), 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(shard(other), other+kind), bytes.ReplaceAll(data, []byte(id), []byte(other)), 0o600); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// at starts ohgw with a home that may have been another's.
func (o outside) at(b *testing.B, home string) *gateway {
	return serveEmbeddedAt(b, home, measured(b), o.llm.url, "--one-shot-ttl", "1h")
}

// restarts ends g and starts it again, many times, and tells how long that
// takes until it is ready, and the memory that it has then, in MB.
func (o outside) restarts(b *testing.B, home string, g **gateway) (time.Duration, float64) {
	var ready []time.Duration
	var memory []int
	for range heldStarts {
		(*g).stop(b)
		began := time.Now()
		*g = o.at(b, home)
		ready = append(ready, time.Since(began))
		time.Sleep(200 * time.Millisecond) // what it does after that, it does beside requests
		memory = append(memory, (*g).resident())
	}
	slices.Sort(memory)
	return middle(ready), mb(memory[len(memory)/2])
}

// shots runs n one-shots with 16 clients.
func (o outside) shots(b *testing.B, to target, n int) {
	work := make(chan struct{})
	var clients sync.WaitGroup
	for range 16 {
		clients.Go(func() {
			for range work {
				text, _ := prompt("[[say Hello.]]")
				res := to.post(b, o.client, chat(text, false))
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
				if res.StatusCode != http.StatusOK {
					b.Error(res.Status)
				}
			}
		})
	}
	for range n {
		work <- struct{}{}
	}
	close(work)
	clients.Wait()
	o.forget(b)
}

// streams holds streams on which nothing comes, and tells what memory that
// takes, in MB.
func (o outside) streams(b *testing.B, to target, resident func() int) float64 {
	o.ask(b, to, "[[say Hello.]]")
	before := resident()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	bodies := make([]io.Closer, 0, heldStreams)
	defer func() {
		for _, body := range bodies {
			body.Close()
		}
	}()
	for range heldStreams {
		text, _ := prompt("[[say Hello.]] [[hang]]")
		res := to.post(b, client, chat(text, true))
		bodies = append(bodies, res.Body)
		frames(b, res.Body, func(f frame) bool { return f.Content == "" })
	}
	time.Sleep(5 * time.Second) // a heartbeat each
	grown := mb(resident() - before)
	b.ReportMetric(grown, "MB")
	b.ReportMetric(0, "ns/op")
	return grown
}
