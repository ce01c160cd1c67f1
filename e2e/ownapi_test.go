//go:build e2e

package e2e_test

import (
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkOwnAPI is one agent-server by two ways: through the gateway, and by the chat
// completions that the server has itself. Both ways take turns, so that they meet the
// same machine. The server's own way sends nothing before the end of a turn.
func BenchmarkOwnAPI(b *testing.B) {
	s := newStack(b, measured(b), "--one-shot-ttl", "0s")
	ways := []struct {
		name string
		target
	}{
		{"gateway", target{url: s.URL}},
		{"own", target{url: s.agents.URL, key: s.agents.Key}},
	}
	client := keepAlive(b)
	say := func(b *testing.B, to target) {
		text, _ := prompt("[[say Hello.]]")
		res := to.post(b, client, chat(text, false))
		if body := bodyOf(b, res); !strings.Contains(body, "Hello.") {
			b.Errorf("status = %s, body %s", res.Status, body)
		}
		res.Body.Close()
	}
	for _, w := range ways {
		say(b, w.target)
	}
	b.Run("stream", func(b *testing.B) {
		first, word, whole := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string][]time.Duration{}
		for b.Loop() {
			for _, w := range ways {
				text, _ := prompt("[[slow 20 20ms]]")
				began := time.Now()
				res := w.post(b, client, chat(text, true))
				var byteAt, textAt time.Duration
				frames(b, res.Body, func(f frame) bool {
					took := f.At.Sub(began)
					if byteAt == 0 {
						byteAt = took
					}
					if textAt == 0 && f.Content != "" {
						textAt = took
					}
					return true
				})
				res.Body.Close()
				if textAt == 0 {
					b.Fatalf("%s: no text", w.name)
				}
				first[w.name], word[w.name] = append(first[w.name], byteAt), append(word[w.name], textAt)
				whole[w.name] = append(whole[w.name], time.Since(began))
			}
		}
		for _, w := range ways {
			report(b, w.name+"-first-byte", first[w.name])
			report(b, w.name+"-first-word", word[w.name])
			report(b, w.name+"-end", whole[w.name])
		}
	})
	b.Run("turns/clients=8", func(b *testing.B) {
		took, turns := map[string]time.Duration{}, map[string]int{}
		for b.Loop() {
			for _, w := range ways {
				var clients sync.WaitGroup
				began := time.Now()
				for range 8 {
					clients.Go(func() { say(b, w.target) })
				}
				clients.Wait()
				took[w.name] += time.Since(began)
				turns[w.name] += 8
			}
		}
		for _, w := range ways {
			b.ReportMetric(float64(turns[w.name])/took[w.name].Seconds(), w.name+"-turns/s")
		}
		b.ReportMetric(0, "ns/op")
	})
}
