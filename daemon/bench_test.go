package daemon_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
)

// serveTCP is serve on a real socket.
func serveTCP(b *testing.B, backend *daemontest.Backend, change ...func(*daemon.Config)) *apitest.Gateway {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	g := apitest.ServeOn(b, ln, backend, change...)
	g.Client = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", ln.Addr().String())
	}}}
	b.Cleanup(g.Client.CloseIdleConnections)
	return g
}

// routes are the ways to ask for a streamed answer.
var routes = []struct{ name, path, body string }{
	{"chat", "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed)},
	{"responses", "/v1/responses", apitest.Input("hi", apitest.Streamed)},
	{"responses-unstored", "/v1/responses", apitest.Input("hi", apitest.Streamed, `"store":false`)},
}

// BenchmarkFirstByte is the time from a request to the first frame of its
// stream, over a kept connection.
func BenchmarkFirstByte(b *testing.B) {
	for _, route := range routes {
		b.Run(route.name, func(b *testing.B) { firstByte(b, route.path, route.body) })
	}
}

func firstByte(b *testing.B, path, ask string) {
	g := serveTCP(b, daemontest.New("default"), func(c *daemon.Config) { c.StateDir = b.TempDir() })
	g.Do(http.MethodGet, "/v1/models", "")
	var times []time.Duration
	for b.Loop() {
		r := g.Request(http.MethodPost, path, ask)
		began := time.Now()
		res := g.Send(r)
		body := bufio.NewReader(res.Body)
		if _, err := body.ReadString('\n'); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
		if _, err := io.Copy(io.Discard, body); err != nil {
			b.Fatal(err)
		}
		res.Body.Close()
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds()), "p50-µs")
	b.ReportMetric(float64(times[len(times)*99/100].Microseconds()), "p99-µs")
}

// BenchmarkStream is one token of a long stream, from the agent to the client.
func BenchmarkStream(b *testing.B) {
	const tokens = 1000
	steps := make([]daemontest.Step, 0, tokens+1)
	for range tokens {
		steps = append(steps, daemontest.Delta("token "))
	}
	for _, route := range routes {
		b.Run(route.name, func(b *testing.B) {
			g := serveTCP(b, apitest.Script(append(steps, daemontest.Finish(strings.Repeat("token ", tokens)))...), func(c *daemon.Config) { c.StateDir = b.TempDir() })
			b.ReportAllocs()
			for b.Loop() {
				res := g.Send(g.Request(http.MethodPost, route.path, route.body))
				if _, err := io.Copy(io.Discard, res.Body); err != nil {
					b.Fatal(err)
				}
				res.Body.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*tokens), "ns/token")
		})
	}
}

// BenchmarkPlain1MiB is a request of 1 MiB with an answer in one piece.
func BenchmarkPlain1MiB(b *testing.B) {
	g := serveTCP(b, daemontest.New("default"))
	body := apitest.Ask(strings.Repeat("All work and no play. ", 1<<20/22-100))
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", body))
		var out bytes.Buffer
		if _, err := out.ReadFrom(res.Body); err != nil || res.StatusCode != http.StatusOK {
			b.Fatal(res.Status, err, out.String())
		}
		res.Body.Close()
	}
}

// BenchmarkIdleStreams is what a stream costs while its agent works: memory of
// the daemon, its clients and the scripted agent together.
func BenchmarkIdleStreams(b *testing.B) {
	const streams = 1000
	for b.Loop() {
		backend := apitest.Script(daemontest.Hang())
		g := serveTCP(b, backend, func(c *daemon.Config) { c.MaxRuns = streams })
		before := memory()
		for i := range streams {
			res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi "+strconv.Itoa(i), apitest.Streamed)))
			defer res.Body.Close()
		}
		apitest.Eventually(b, "all run", func() bool { return backend.Runs() == streams })
		b.ReportMetric(float64(memory()-before)/streams/1024, "KiB/stream")
	}
}

// memory is what the process holds, garbage not counted.
func memory() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
