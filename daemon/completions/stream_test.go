package completions_test

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
	"github.com/ohgw/ohgw/daemon/apitest"
	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/internal/sse"
)

// The first frame has the role and comes at once: voice clients give up after 5 s.
func TestTheFirstFrameComesBeforeTheAgentDoesAnything(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Wait(time.Hour), daemontest.Finish("done"))
		g := apitest.Serve(t, b)
		began := time.Now()
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("hi", apitest.Streamed)))
		defer res.Body.Close()
		e, err := sse.NewReader(res.Body, 1<<20).Next()
		if err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("the first frame took %v", took)
		}
		if c := apitest.ParseChunk(t, e.Data); *c.Choices[0].Delta.Role != "assistant" || *c.Choices[0].Delta.Content != "" {
			t.Errorf("first frame %s", e.Data)
		}
	})
}

// Every frame fits the schema and has the same id, time and model; reasoning comes
// before the answer and never with it; the finish comes once, [DONE] last.
func TestAStreamInFull(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(
		daemontest.Delta("I will"), daemontest.Delta(" look."), daemontest.Say("I will look."), daemontest.Tool("go test ./..."), daemontest.Finish("The tests pass."),
	))
	res := g.Chat(apitest.Ask("do they pass?", apitest.Streamed))
	f := apitest.Parse(t, res)
	var got []string
	for i, c := range f.Chunks {
		if !idForm.MatchString(c.ID) {
			t.Errorf("chunk %d: %s", i, c.Raw)
		}
		apitest.Equal(t, "c.ID", c.ID, f.Chunks[0].ID)
		apitest.Equal(t, "c.Created", c.Created, f.Chunks[0].Created)
		apitest.Equal(t, "c.Model", c.Model, "openhands_default")
		choice := c.Choices[0]
		line := ""
		switch {
		case choice.Delta.Role != nil:
			line = "role"
		case choice.Delta.Content != nil && choice.Delta.Reasoning != nil:
			t.Errorf("content and reasoning in %s", c.Raw)
		case choice.Delta.Content != nil:
			line = "content " + *choice.Delta.Content
		case choice.Delta.Reasoning != nil:
			line = "reasoning " + *choice.Delta.Reasoning
		case choice.FinishReason != nil:
			line = "finish " + *choice.FinishReason
		}
		apitest.Lacks(t, "c.raw", c.Raw, `"usage"`)
		apitest.Equal(t, "whether there is an extension", c.Extension != nil, choice.FinishReason != nil)
		got = append(got, line)
	}
	want := []string{"role", "content I will", "content  look.", "reasoning $ go test ./...\n", "content \n\nThe tests pass.", "finish stop"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	apitest.Equal(t, "the last frame", f.End, "[DONE]")
	if res.Err != nil {
		t.Errorf("ended with %q, %v", f.End, res.Err)
	}
	if before, _ := f.Chunks[len(f.Chunks)-1].Extension["text_before"].(float64); f.Text()[int(before):] != "The tests pass." {
		t.Errorf("the chunk says that %v bytes of %q come before the answer", before, f.Text())
	}
}

// Nothing but data lines with LF, no comment: some clients read nothing else.
func TestAStreamIsDataLinesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(30*time.Second), daemontest.Say("a\r\nb\u2028c"), daemontest.Finish("")))
		res := g.Chat(apitest.Ask("go", apitest.Streamed))
		if strings.ContainsAny(res.Body, "\r\u2028") {
			t.Errorf("the stream = %q, want no CR and no U+2028", res.Body)
		}
		for frame := range strings.SplitSeq(strings.TrimSuffix(res.Body, "\n\n"), "\n\n") {
			apitest.Begins(t, "frame", frame, "data: ")
			apitest.Lacks(t, "frame", frame, "\n")
		}
		if f := apitest.Parse(t, res); f.Text() != "a\r\nb\u2028c" {
			t.Errorf("text %q", f.Text())
		}
	})
}

// A silent agent's stream has an empty chunk every four seconds.
func TestSilenceIsBrokenEveryFourSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const beats = 400
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(beats*4*time.Second+2*time.Second), daemontest.Say("x"), daemontest.Wait(5*time.Second), daemontest.Finish("done")))
		began := time.Now()
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("slow", apitest.Streamed)))
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
			c := apitest.ParseChunk(t, e.Data)
			if strings.Contains(c.Raw, `"delta":{},"logprobs":null,"finish_reason":null`) {
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
		g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("done"))...), func(c *daemon.Config) { c.AnswerOnly = true })
		f := apitest.Parse(t, g.Chat(apitest.Ask("slow", apitest.Streamed)))
		apitest.Size(t, "chunks", f.Chunks, 3+5) // role, 5 heartbeats in 21 s, content, finish
		apitest.Equal(t, "the text", f.Text(), "done")
	})
}

func TestHeartbeatsCanBeOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := apitest.Serve(t, apitest.Script(daemontest.Wait(time.Hour), daemontest.Finish("done")), func(c *daemon.Config) { c.Heartbeat = -1 })
		if f := apitest.Parse(t, g.Chat(apitest.Ask("slow", apitest.Streamed))); len(f.Chunks) != 3 {
			t.Errorf("%d chunks, want role, content, finish", len(f.Chunks))
		}
	})
}

// Without include_usage no chunk has the key; with it one frame without choices
// comes after the finish.
func TestUsageIsSentOnRequestOnly(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Say("a"), daemontest.Tool("ls"), daemontest.Finish("done")))
	for _, body := range []string{apitest.Ask("go", apitest.Streamed), apitest.Ask("go", apitest.Streamed, `"stream_options":{"include_usage":false}`), apitest.Ask("go", apitest.Streamed, `"stream_options":null`)} {
		f := apitest.Parse(t, g.Chat(body))
		for _, c := range f.Chunks {
			apitest.Lacks(t, "c.raw", c.Raw, "usage")
			apitest.Equal(t, "len(c.Choices)", len(c.Choices), 1)
		}
	}
	f := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed, `"stream_options":{"include_usage":true}`)))
	last := len(f.Chunks) - 1
	for i, c := range f.Chunks[:last] {
		if !strings.Contains(c.Raw, `],"usage":null`) {
			t.Errorf("chunk %d: %s", i, c.Raw)
		}
	}
	if f.Chunks[last-1].Choices[0].FinishReason == nil {
		t.Errorf("before the usage: %s", f.Chunks[last-1].Raw)
	}
	want := apitest.Usage{Prompt: 100, Completion: 20, Total: 120}
	want.Details.Cached, want.Reasoning.Tokens = 40, 5
	if u := f.Chunks[last]; len(u.Choices) != 0 || u.Usage == nil {
		t.Errorf("usage chunk %s", u.Raw)
	} else if diff := cmp.Diff(want, *u.Usage); diff != "" {
		t.Error(diff)
	}
}

// A frame has at most 64 KiB and whole characters: aiohttp reads no longer line.
func TestNoFrameIsTooLongAndNoCharacterCut(t *testing.T) {
	t.Parallel()
	want := strings.Repeat("😀\x01", 60_000)
	g := apitest.Serve(t, apitest.Script(daemontest.Finish(want)))
	res := g.Chat(apitest.Ask("go", apitest.Streamed, `"stream_options":{"include_usage":true}`))
	f := apitest.Parse(t, res)
	for line := range strings.Lines(res.Body) {
		if len(line) > 64<<10 {
			t.Errorf("a line of %d bytes", len(line))
		}
	}
	for _, c := range f.Chunks {
		if !utf8.ValidString(c.Content()) || strings.ContainsRune(c.Content(), utf8.RuneError) {
			t.Errorf("a character is cut in %.100q", c.Content())
		}
	}
	if f.Text() != want {
		t.Errorf("%d bytes, want %d", len(f.Text()), len(want))
	}
}

// A failure in mid-stream is one frame with the error; [DONE] does not follow.
func TestAFailureInAStreamIsOneFrameAndNothingAfterIt(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Say("So far."), daemontest.Fail("LLMAuthenticationError", "the key sk-abcdefghijklmnop is wrong")))
	res := g.Chat(apitest.Ask("go", apitest.Streamed, `"stream_options":{"include_usage":true}`))
	f := apitest.Parse(t, res)
	e := apitest.FrameError(t, []byte(f.End), "llm_error", "")
	apitest.Equal(t, `e["type"]`, e["type"], "server_error")
	apitest.Lacks(t, "fmt.Sprint(e)", fmt.Sprint(e), "abcdefghijklmnop")
	apitest.Contains(t, "fmt.Sprint(e)", fmt.Sprint(e), "is wrong")
	apitest.Equal(t, "the text", f.Text(), "So far.")
	apitest.Equal(t, "strings.Count(res.body, `\"error\"`)", strings.Count(res.Body, `"error"`), 1)
	apitest.Lacks(t, "the body", res.Body, "[DONE]")
	apitest.Ends(t, "the body", res.Body, "}}\n\n")
	if res.Err != nil {
		t.Errorf("the body = %s, the error = %v", res.Body, res.Err)
	}
}

// Proxies are asked not to buffer, to transform or to compress a stream.
func TestAStreamAsksProxiesNotToBuffer(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, daemontest.New("default"))
	res := g.Chat(apitest.Ask("go", apitest.Streamed), "Accept-Encoding", "gzip, br")
	apitest.Parse(t, res)
	for name, want := range map[string]string{
		"Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no",
		"Content-Encoding": "", "Content-Length": "", "X-Content-Type-Options": "nosniff",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s: header = %q, want %q", name, got, want)
		}
	}
	if !apitest.UUIDForm.MatchString(res.Header.Get("X-OpenHands-ServerConversation-ID")) || !requestForm.MatchString(res.Header.Get("X-Request-Id")) {
		t.Errorf("headers %v", res.Header)
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
		g := apitest.Serve(t, apitest.Script(append(steps, daemontest.Finish("end"))...))
		began := time.Now()
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("slow", apitest.Streamed)))
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
	live := apitest.Serve(t, apitest.Script(steps...))
	plain := apitest.Completed(t, live.Chat(apitest.Ask("go"))).Text()
	if got := apitest.Parse(t, live.Chat(apitest.Ask("go", apitest.Streamed))).Text(); got != "I will look.\n\n"+plain {
		t.Errorf("live: %q, plain %q", got, plain)
	}
	answer := apitest.Serve(t, apitest.Script(steps...), func(c *daemon.Config) { c.AnswerOnly = true })
	if got := apitest.Parse(t, answer.Chat(apitest.Ask("go", apitest.Streamed))).Text(); got != plain {
		t.Errorf("answer: %q, plain %q", got, plain)
	}
}

func TestAnswerOnlyKeepsTheNotice(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Say("May I?"), daemontest.Confirm("make")), func(c *daemon.Config) { c.AnswerOnly = true })
	if got := apitest.Parse(t, g.Chat(apitest.Ask("go", apitest.Streamed))).Text(); !strings.HasPrefix(got, "May I?\n\nThe agent waits for your confirmation") {
		t.Errorf("the text = %q", got)
	}
}

func TestALongActionIsShownWholeBeforeAYes(t *testing.T) {
	t.Parallel()
	command := "echo ```\n" + strings.Repeat("true; ", 100) + "rm -rf ~"
	for _, answerOnly := range []bool{false, true} {
		g := apitest.Serve(t, apitest.Script(daemontest.Say("May I?"), daemontest.Confirm(command)), func(c *daemon.Config) { c.AnswerOnly = answerOnly })
		plain := apitest.Completed(t, g.Chat(apitest.Ask("go")))
		streamedText := apitest.Parse(t, g.Chat(apitest.Ask("go again", apitest.Streamed))).Text()
		for _, got := range []string{plain.Text(), streamedText} {
			if !strings.Contains(got, "````\n"+command+"\n````\n\nThe agent waits for your confirmation") {
				t.Errorf("the text = %q", got)
			}
		}
	}
}

// A reader that stops reading must not hold its run, nor the daemon.
func TestADeadReaderIsDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := apitest.Script(daemontest.Say(strings.Repeat("x", 1<<20)), daemontest.Finish("done"))
		g := apitest.Serve(t, b)
		res := g.Send(g.Request(http.MethodPost, "/v1/chat/completions", apitest.Ask("go", apitest.Streamed)))
		defer res.Body.Close()
		if _, err := bufio.NewReader(res.Body).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if !strings.Contains(g.Logs.String(), `"path":"/v1/chat/completions"`) {
			t.Errorf("the request still goes on: %s", g.Logs)
		}
	})
}

// A client that knows ohgw gets what the wire has no other place for.
func TestTheEndTellsTheCostAndWhatWaits(t *testing.T) {
	t.Parallel()
	g := apitest.Serve(t, apitest.Script(daemontest.Spend(0.5), daemontest.Confirm("rm -rf build"), daemontest.Spend(0.0125), daemontest.Finish("done")))
	const id = "0198c9d2-f0a5-4b1c-8e3d-4f5a6b7c8d9e"
	end := func(prompt string) map[string]any {
		f := apitest.Parse(t, g.Chat(apitest.Ask(prompt, apitest.Streamed), "X-OpenHands-ServerConversation-ID", id))
		return f.Chunks[len(f.Chunks)-1].Extension
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
		g := apitest.Serve(t, b, func(c *daemon.Config) { c.MaxRuns = 1 })
		var wg sync.WaitGroup
		defer wg.Wait()
		for _, prompt := range []string{"hold", "second"} {
			wg.Go(func() { g.Chat(apitest.Ask(prompt, apitest.Streamed)) })
			synctest.Wait()
		}
		var places []any
		wg.Go(func() {
			for _, c := range apitest.Parse(t, g.Chat(apitest.Ask("third", apitest.Streamed))).Chunks {
				if strings.Contains(c.Raw, `"delta":{},"logprobs":null,"finish_reason":null`) {
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
