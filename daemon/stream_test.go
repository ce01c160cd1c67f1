package daemon_test

import (
	"bufio"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/sse"
)

// The first frame has the role and comes at once: voice clients give up after 5 s.
func TestTheFirstFrameComesBeforeTheAgentDoesAnything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Wait(time.Hour), daemontest.Finish("done"))
		g := serve(t, b)
		began := time.Now()
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("hi", streamed)))
		defer res.Body.Close()
		e, err := sse.NewReader(res.Body, 1<<20).Next()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first frame took %v", took)
		}
		if c := parseChunk(t, e.Data); *c.Choices[0].Delta.Role != "assistant" || *c.Choices[0].Delta.Content != "" {
			t.Errorf("first frame %s", e.Data)
		}
	})
}

// Every frame fits the schema and has the same id, time and model; reasoning comes
// before the answer and never with it; the finish comes once, [DONE] last.
func TestAStreamInFull(t *testing.T) {
	t.Parallel()
	g := serve(t, script(
		daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("go test ./..."), daemontest.Finish("The tests pass."),
	))
	res := g.chat(ask("do they pass?", streamed))
	f := parse(t, res)
	var got []string
	for i, c := range f.chunks {
		if !idForm.MatchString(c.ID) {
			t.Errorf("chunk %d: %s", i, c.raw)
		}
		equal(t, "c.ID", c.ID, f.chunks[0].ID)
		equal(t, "c.Created", c.Created, f.chunks[0].Created)
		equal(t, "c.Model", c.Model, "openhands_default")
		choice := c.Choices[0]
		line := ""
		switch {
		case choice.Delta.Role != nil:
			line = "role"
		case choice.Delta.Content != nil && choice.Delta.Reasoning != nil:
			t.Errorf("content and reasoning in %s", c.raw)
		case choice.Delta.Content != nil:
			line = "content " + *choice.Delta.Content
		case choice.Delta.Reasoning != nil:
			line = "reasoning " + *choice.Delta.Reasoning
		case choice.FinishReason != nil:
			line = "finish " + *choice.FinishReason
		}
		lacks(t, "c.raw", c.raw, `"usage"`)
		equal(t, "whether there is an extension", c.Extension != nil, choice.FinishReason != nil)
		got = append(got, line)
	}
	want := []string{"role", "content I will", "content  look.", "reasoning $ go test ./...\n", "content \n\nThe tests pass.", "finish stop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	equal(t, "the last frame", f.end, "[DONE]")
	if res.err != nil {
		t.Errorf("ended with %q, %v", f.end, res.err)
	}
	if before, _ := f.chunks[len(f.chunks)-1].Extension["text_before"].(float64); f.text()[int(before):] != "The tests pass." {
		t.Errorf("the chunk says that %v bytes of %q come before the answer", before, f.text())
	}
}

// Nothing but data lines with LF, no comment: some clients read nothing else.
func TestAStreamIsDataLinesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Wait(30*time.Second), daemontest.Say("a\r\nb\u2028c"), daemontest.Finish("")))
		res := g.chat(ask("go", streamed))
		if strings.ContainsAny(res.body, "\r\u2028") {
			t.Errorf("%q", res.body)
		}
		for frame := range strings.SplitSeq(strings.TrimSuffix(res.body, "\n\n"), "\n\n") {
			begins(t, "frame", frame, "data: ")
			lacks(t, "frame", frame, "\n")
		}
		if f := parse(t, res); f.text() != "a\r\nb\u2028c" {
			t.Errorf("text %q", f.text())
		}
	})
}

// A silent agent's stream has an empty chunk every four seconds.
func TestSilenceIsBrokenEveryFourSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const beats = 400
		g := serve(t, script(daemontest.Wait(beats*4*time.Second+2*time.Second), daemontest.Say("x"), daemontest.Wait(5*time.Second), daemontest.Finish("done")))
		began := time.Now()
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("slow", streamed)))
		defer res.Body.Close()
		r := sse.NewReader(res.Body, 1<<20)
		var at []time.Duration
		for {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if string(e.Data) == "[DONE]" {
				break
			}
			c := parseChunk(t, e.Data)
			if strings.Contains(c.raw, `"delta":{},"logprobs":null,"finish_reason":null`) {
				at = append(at, time.Since(began))
			}
		}
		if len(at) != beats+1 {
			t.Fatalf("%d heartbeats, want %d", len(at), beats+1)
		}
		for i, got := range at[:beats] {
			if want := time.Duration(i+1) * 4 * time.Second; got != want {
				t.Fatalf("heartbeat %d after %v, want %v", i, got, want)
			}
		}
		// The word begins the silence again.
		if want := (beats*4 + 2 + 4) * time.Second; at[beats] != want {
			t.Errorf("last heartbeat after %v, want %v", at[beats], want)
		}
	})
}

// With the text held back the stream is no less alive than without.
func TestHeldBackTextIsNoHeartbeat(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for range 21 {
			steps = append(steps, daemontest.Wait(time.Second), daemontest.Delta("word "))
		}
		g := serve(t, script(append(steps, daemontest.Finish("done"))...), func(c *daemon.Config) { c.AnswerOnly = true })
		f := parse(t, g.chat(ask("slow", streamed)))
		size(t, "chunks", f.chunks, 3+5) // role, 5 heartbeats in 21 s, content, finish
		equal(t, "the text", f.text(), "done")
	})
}

func TestHeartbeatsCanBeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := serve(t, script(daemontest.Wait(time.Hour), daemontest.Finish("done")), func(c *daemon.Config) { c.Heartbeat = -1 })
		if f := parse(t, g.chat(ask("slow", streamed))); len(f.chunks) != 3 {
			t.Errorf("%d chunks, want role, content, finish", len(f.chunks))
		}
	})
}

// Without include_usage no chunk has the key; with it one frame without choices
// comes after the finish.
func TestUsageIsSentOnRequestOnly(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Say("a"), daemontest.Tool("ls"), daemontest.Finish("done")))
	for _, body := range []string{ask("go", streamed), ask("go", streamed, `"stream_options":{"include_usage":false}`), ask("go", streamed, `"stream_options":null`)} {
		f := parse(t, g.chat(body))
		for _, c := range f.chunks {
			lacks(t, "c.raw", c.raw, "usage")
			equal(t, "len(c.Choices)", len(c.Choices), 1)
		}
	}
	f := parse(t, g.chat(ask("go", streamed, `"stream_options":{"include_usage":true}`)))
	last := len(f.chunks) - 1
	for i, c := range f.chunks[:last] {
		if !strings.Contains(c.raw, `],"usage":null`) {
			t.Errorf("chunk %d: %s", i, c.raw)
		}
	}
	if f.chunks[last-1].Choices[0].FinishReason == nil {
		t.Errorf("before the usage: %s", f.chunks[last-1].raw)
	}
	want := usage{Prompt: 100, Completion: 20, Total: 120}
	want.Details.Cached, want.Reasoning.Tokens = 40, 5
	if u := f.chunks[last]; len(u.Choices) != 0 || u.Usage == nil {
		t.Errorf("usage chunk %s", u.raw)
	} else if diff := cmp.Diff(want, *u.Usage); diff != "" {
		t.Error(diff)
	}
}

// A frame has at most 64 KiB and whole characters: aiohttp reads no longer line.
func TestNoFrameIsTooLongAndNoCharacterCut(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("😀\x01", 60_000)
	g := serve(t, script(daemontest.Finish(want)))
	res := g.chat(ask("go", streamed, `"stream_options":{"include_usage":true}`))
	f := parse(t, res)
	for line := range strings.Lines(res.body) {
		if len(line) > 64<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	for _, c := range f.chunks {
		if !utf8.ValidString(c.content()) || strings.ContainsRune(c.content(), utf8.RuneError) {
			t.Errorf("a character is cut in %.100q", c.content())
		}
	}
	if f.text() != want {
		t.Errorf("%d bytes, want %d", len(f.text()), len(want))
	}
}

// A failure in mid-stream is one frame with the error; [DONE] does not follow.
func TestAFailureInAStreamIsOneFrameAndNothingAfterIt(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Say("So far."), daemontest.Fail("LLMAuthenticationError", "the key sk-abcdefghijklmnop is wrong")))
	res := g.chat(ask("go", streamed, `"stream_options":{"include_usage":true}`))
	f := parse(t, res)
	e := frameError(t, []byte(f.end), "llm_error", "")
	equal(t, `e["type"]`, e["type"], "server_error")
	lacks(t, "fmt.Sprint(e)", fmt.Sprint(e), "abcdefghijklmnop")
	contains(t, "fmt.Sprint(e)", fmt.Sprint(e), "is wrong")
	equal(t, "the text", f.text(), "So far.")
	equal(t, "strings.Count(res.body, `\"error\"`)", strings.Count(res.body, `"error"`), 1)
	lacks(t, "the body", res.body, "[DONE]")
	ends(t, "the body", res.body, "}}\n\n")
	if res.err != nil {
		t.Errorf("%s, %v", res.body, res.err)
	}
}

// Proxies are asked not to buffer, to transform or to compress a stream.
func TestAStreamAsksProxiesNotToBuffer(t *testing.T) {
	t.Parallel()
	g := serve(t, daemontest.New("default"))
	res := g.chat(ask("go", streamed), "Accept-Encoding", "gzip, br")
	parse(t, res)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"Content-Encoding": "", "Content-Length": "", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.header.Get(name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if !uuidForm.MatchString(res.header.Get("X-OpenHands-ServerConversation-ID")) || !requestForm.MatchString(res.header.Get("X-Request-Id")) {
		t.Errorf("headers %v", res.header)
	}
}

// Every frame must leave at once, not with the next one.
func TestEachPieceIsFlushed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []daemontest.Step
		for i := range 20 {
			steps = append(steps, daemontest.Delta(fmt.Sprintf("w%d ", i)), daemontest.Wait(100*time.Millisecond))
		}
		g := serve(t, script(append(steps, daemontest.Finish("end"))...))
		began := time.Now()
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("slow", streamed)))
		defer res.Body.Close()
		r := sse.NewReader(res.Body, 1<<20)
		for i := range 21 {
			e, err := r.Next()
			if err != nil {
				t.Fatal(err)
			}
			if want := time.Duration(max(0, i-1)) * 100 * time.Millisecond; time.Since(began) != want {
				t.Errorf("frame %d after %v, want %v: %s", i, time.Since(began), want, e.Data)
			}
		}
	})
}

// The text of a stream is that of the same run's answer in one piece, or ends with
// it.
func TestStreamedTextAgreesWithThePlainAnswer(t *testing.T) {
	t.Parallel()
	steps := []daemontest.Step{daemontest.Delta("I will "), daemontest.Say("I will look."), daemontest.Tool("ls"), daemontest.Delta("There "), daemontest.Finish("There are two files.")}
	live := serve(t, script(steps...))
	plain := completed(t, live.chat(ask("go"))).text()
	if got := parse(t, live.chat(ask("go", streamed))).text(); got != "I will look.\n\n"+plain {
		t.Errorf("live: %q, plain %q", got, plain)
	}
	answer := serve(t, script(steps...), func(c *daemon.Config) { c.AnswerOnly = true })
	if got := parse(t, answer.chat(ask("go", streamed))).text(); got != plain {
		t.Errorf("answer: %q, plain %q", got, plain)
	}
}

func TestAnswerOnlyKeepsTheNotice(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Say("May I?"), daemontest.Confirm("make")), func(c *daemon.Config) { c.AnswerOnly = true })
	if got := parse(t, g.chat(ask("go", streamed))).text(); !strings.HasPrefix(got, "May I?\n\nThe agent waits for your confirmation") {
		t.Errorf("%q", got)
	}
}

func TestALongActionIsShownWholeBeforeAYes(t *testing.T) {
	t.Parallel()
	command := "echo ```\n" + strings.Repeat("true; ", 100) + "rm -rf ~"
	for _, answerOnly := range []bool{false, true} {
		g := serve(t, script(daemontest.Say("May I?"), daemontest.Confirm(command)), func(c *daemon.Config) { c.AnswerOnly = answerOnly })
		plain := completed(t, g.chat(ask("go")))
		streamedText := parse(t, g.chat(ask("go again", streamed))).text()
		for _, got := range []string{plain.text(), streamedText} {
			if !strings.Contains(got, "````\n"+command+"\n````\n\nThe agent waits for your confirmation") {
				t.Errorf("%q", got)
			}
		}
	}
}

// A reader that stops reading must not hold its run, nor the daemon.
func TestADeadReaderIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := script(daemontest.Say(strings.Repeat("x", 1<<20)), daemontest.Finish("done"))
		g := serve(t, b)
		res := g.send(g.request(http.MethodPost, "/v1/chat/completions", ask("go", streamed)))
		defer res.Body.Close()
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(g.logs.String(), `"path":"/v1/chat/completions"`) {
			t.Errorf("the request still goes on: %s", g.logs)
		}
	})
}

// A client that knows ohgw gets what the wire has no other place for.
func TestTheEndTellsTheCostAndWhatWaits(t *testing.T) {
	t.Parallel()
	g := serve(t, script(daemontest.Spend(0.5), daemontest.Confirm("rm -rf build"), daemontest.Spend(0.0125), daemontest.Finish("done")))
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	end := func(prompt string) map[string]any {
		f := parse(t, g.chat(ask(prompt, streamed), "X-OpenHands-ServerConversation-ID", id))
		return f.chunks[len(f.chunks)-1].Extension
	}
	waiting := end("clean up")
	want := []any{map[string]any{"tool": "terminal", "line": "$ rm -rf build"}}
	if diff := cmp.Diff(want, waiting["waiting"]); diff != "" || waiting["cost"] != 0.5 {
		t.Errorf("cost %v, waiting %s", waiting["cost"], diff)
	}
	if diff := cmp.Diff(map[string]any{"run_status": "finished", "cost": 0.0125}, end("yes")); diff != "" {
		t.Errorf("the cost of this turn only: %s", diff)
	}
}

func TestAWaitingRequestKnowsItsPlace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		gate := make(chan struct{})
		b := daemontest.New("default")
		b.Script = func(prompt string) []daemontest.Step {
			if prompt == "hold" {
				return []daemontest.Step{daemontest.Until(gate), daemontest.Finish("held")}
			}
			return []daemontest.Step{daemontest.Wait(4 * time.Second), daemontest.Finish("done")}
		}
		g := serve(t, b, func(c *daemon.Config) { c.MaxRuns = 1 })
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, prompt := range []string{"hold", "second"} {
			wg.Go(func() { g.chat(ask(prompt, streamed)) })
			synctest.Wait()
		}
		var places []any
		wg.Go(func() {
			for _, c := range parse(t, g.chat(ask("third", streamed))).chunks {
				if strings.Contains(c.raw, `"delta":{},"logprobs":null,"finish_reason":null`) {
					places = append(places, c.Extension["queue"])
				}
			}
		})
		time.Sleep(6500 * time.Millisecond)
		close(gate)
		wg.Wait()
		// At once and after 4 s; after 8 s one run is over; after 12 s it runs.
		if diff := cmp.Diff([]any{2., 2., 1., nil}, places); diff != "" {
			t.Error(diff)
		}
	})
}
