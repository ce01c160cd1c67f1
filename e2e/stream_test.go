//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/testkit/llmtest"
)

// TestCurlSeesWordsAsTheyAreMade runs curl -N on an LLM that takes 100 ms for
// each of 20 words.
func TestCurlSeesWordsAsTheyAreMade(t *testing.T) {
	s := newStack(t, plainProgram(t))
	text, mark := prompt("[[slow 20 100ms]]")
	const id = "8d8ac610-566d-4ef0-9c22-186b2a5ed793"
	curl := exec.CommandContext(t.Context(), "curl", "-sSN", s.URL+"/v1/chat/completions",
		"-H", "Authorization: Bearer "+gatewayKey, "-H", "Content-Type: application/json",
		"-H", "X-OpenHands-ServerConversation-ID: "+id, "-d", chat(text, true))
	stdout, err := curl.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := curl.Start(); err != nil {
		t.Fatal(err)
	}
	var words []time.Time
	var first, end time.Time
	var answer string
	frames(t, stdout, func(f frame) bool {
		if first.IsZero() {
			first = f.At
		}
		if f.Content != "" {
			if len(words) == 0 && s.asked(mark)[0].Outcome() != llmtest.Open {
				t.Error("the first word came after the LLM had ended")
			}
			words = append(words, f.At)
			answer += f.Content
		}
		end = f.At
		return true
	})
	if err := curl.Wait(); err != nil {
		t.Fatal(err)
	}
	if fields := strings.Fields(answer); len(fields) != 20 || len(words) != 20 {
		t.Errorf("%d words in %d pieces, want 20 in 20: %q", len(fields), len(words), answer)
	}
	agentEnd := s.lastEvent(t, id)
	t.Logf("first byte after %v, first word after %v", first.Sub(began).Round(time.Millisecond), words[0].Sub(began).Round(time.Millisecond))
	t.Logf("between words: %v", spread(gaps(words)))
	t.Logf("[DONE] %v after the agent's last event", end.Sub(agentEnd).Round(100*time.Microsecond))
}

// gaps are the times between one moment and the next.
func gaps(moments []time.Time) []time.Duration {
	var all []time.Duration
	for i := 1; i < len(moments); i++ {
		all = append(all, moments[i].Sub(moments[i-1]))
	}
	return all
}

// spread is the least, the middle and the most of some times, for people.
func spread(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	round := func(d time.Duration) time.Duration { return d.Round(100 * time.Microsecond) }
	return fmt.Sprintf("min %v, p50 %v, p99 %v, max %v",
		round(all[0]), round(all[len(all)/2]), round(all[len(all)*99/100]), round(all[len(all)-1]))
}

// lastEvent is the time that the agent-server wrote on the last event of a
// conversation.
func (s stack) lastEvent(t testing.TB, id string) time.Time {
	t.Helper()
	var page struct {
		Items []struct {
			Timestamp string `json:"timestamp"`
		} `json:"items"`
	}
	s.agents.Call(t, http.MethodGet, "/api/conversations/"+id+"/events/search?limit=1&sort_order=TIMESTAMP_DESC", nil, &page)
	if len(page.Items) == 0 {
		t.Fatalf("conversation %s has no events", id)
	}
	at, err := time.ParseInLocation("2006-01-02T15:04:05", page.Items[0].Timestamp, time.Local)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// TestHelloBesideOpenHandsOwnGateway asks both gateways the same, in turn.
func TestHelloBesideOpenHandsOwnGateway(t *testing.T) {
	s := newStack(t, plainProgram(t))
	const turns = 5
	measure := func(name, url, key string) {
		var times []time.Duration
		for range turns {
			text, _ := prompt("[[finish Hello.]]")
			began := time.Now()
			res := send(t, http.MethodPost, url+"/v1/chat/completions", chat(text, false),
				"Authorization", "Bearer "+key, "Content-Type", "application/json")
			var out struct {
				Choices []struct {
					Message struct {
						Content string `json:"content"`
					} `json:"message"`
				} `json:"choices"`
			}
			body := bodyOf(t, res)
			times = append(times, time.Since(began))
			if err := json.Unmarshal([]byte(body), &out); err != nil || len(out.Choices) != 1 || out.Choices[0].Message.Content != "Hello." {
				t.Fatalf("%s: status = %s, body %s", name, res.Status, body)
			}
		}
		t.Logf("%-18s %s", name, spread(times))
	}
	measure("OpenHands' own /v1", s.agents.URL, s.agents.Key)
	measure("ohgw", s.URL, gatewayKey)
}

// TestServerKilledMidStream kills the agent-server while it streams, and goes
// on with the conversation when it is back.
func TestServerKilledMidStream(t *testing.T) {
	s := newStack(t, racyProgram(t))
	text, _ := prompt("[[slow 1000 100ms]]")
	res := s.post(t, chat(text, true))
	id := res.Header.Get("X-OpenHands-ServerConversation-ID")
	var killed, told time.Time
	var last frame
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	context.AfterFunc(ctx, func() { res.Body.Close() })
	frames(t, res.Body, func(f frame) bool {
		if f.Content != "" && killed.IsZero() {
			s.agents.Kill(t)
			killed = time.Now()
			time.AfterFunc(patience, cancel)
		}
		last, told = f, f.At
		return true
	})
	if last.Error == nil || last.Error.Code != "agent_server_lost" {
		t.Fatalf("the last frame is %q, want an error frame with agent_server_lost", last.Data)
	}
	t.Logf("error frame %v after the kill: %s", told.Sub(killed).Round(time.Millisecond), last.Error.Message)

	again, _ := prompt("[[finish never]]")
	res = s.post(t, chat(again, false))
	if body := bodyOf(t, res); res.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "agent_server_unavailable") {
		t.Errorf("while it is down: %s %s, want 503 agent_server_unavailable", res.Status, body)
	}

	s.agents.Restart(t)
	next, _ := prompt("[[finish Back again.]]")
	res = s.post(t, chat(next, false), "X-OpenHands-ServerConversation-ID", id)
	body := bodyOf(t, res)
	if res.StatusCode != http.StatusOK || !strings.Contains(body, "Back again.") {
		t.Errorf("after the restart: %s %s", res.Status, body)
	}
	if got := res.Header.Get("X-OpenHands-ServerConversation-ID"); got != id {
		t.Errorf("after the restart the conversation is %s, before it was %s", got, id)
	}
}
