package cloud_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/backendtest/fakecloud"
	"github.com/ohgw/ohgw/agentapi/cloud"
	"github.com/ohgw/ohgw/agentapi/turn"
	"github.com/ohgw/ohgw/internal/testkit/llmtest"
	"github.com/ohgw/ohgw/internal/uuid"
)

const patience = time.Minute

// place is a backend over a fake cloud.
type place struct {
	*cloud.Backend

	server *fakecloud.Server
	llm    *llmtest.Server
}

func newPlace(t *testing.T) *place {
	t.Helper()
	llm := llmtest.New(t)
	server := newCloud(t, fakecloud.Options{Key: "sk-cloud"}, llm.URL)
	return &place{newBackend(t, server.URL, "sk-cloud"), server, llm}
}

func (p *place) open(t *testing.T, req agentapi.OpenRequest) (agentapi.Conversation, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	req.Workspace = workspace
	c, err := p.Open(ctx, req)
	if err == nil {
		t.Cleanup(func() {
			if err := c.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return c, err
}

// begin makes a conversation in which one turn is over.
func (p *place) begin(t *testing.T) agentapi.Conversation {
	t.Helper()
	c, err := p.open(t, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast"})
	if err != nil {
		t.Fatal(err)
	}
	p.llm.Reply(llmtest.Text("begun"))
	if answer, err := say(t, c, "begin"); err != nil || answer != "begun" {
		t.Fatalf("the first turn: %q, %v", answer, err)
	}
	return c
}

func say(t *testing.T, c agentapi.Conversation, text string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	r, err := turn.Run(ctx, c, turn.Input{Message: agentapi.Message{Text: text}, Emit: func(turn.Update) {}})
	return r.Answer, err
}

// TestASandboxThatStopsInARunWakesWithTheNextMessage: the run ends with one error
// that says what became of the sandbox, and nothing is said or started twice.
func TestASandboxThatStopsInARunWakesWithTheNextMessage(t *testing.T) {
	t.Parallel()
	for name, moves := range map[string]bool{"in its place": false, "elsewhere with another key": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			c := p.begin(t)
			id := c.Info().ID
			p.llm.Reply(llmtest.Reply{Feed: make(chan string)}, llmtest.Text("back"))
			var lost error
			var running sync.WaitGroup
			running.Go(func() { _, lost = say(t, c, "lose this") })
			p.llm.Await(t, 2)
			p.server.Sleep(id, moves)
			running.Wait()
			if !errors.Is(lost, agentapi.ErrLost) || !strings.Contains(agentapi.PublicMessage(lost, ""), "it wakes with the next message") {
				t.Fatalf("the run that was lost: %v", lost)
			}
			if answer, err := say(t, c, "go on"); err != nil || answer != "back" {
				t.Fatalf("the next turn: %q, %v", answer, err)
			}
			told := 0
			for _, m := range p.llm.Await(t, 3).Messages {
				if strings.Contains(m.Text, "lose this") {
					told++
				}
			}
			if told != 1 || len(p.llm.Requests()) != 3 || p.server.Sandboxes() != 1 || len(p.server.Calls("POST", "/resume")) != 1 {
				t.Errorf("the lost message was told %d times in %d requests; %d sandboxes, %d resumes", told, len(p.llm.Requests()), p.server.Sandboxes(), len(p.server.Calls("POST", "/resume")))
			}
		})
	}
}

// TestASandboxThatIsGone: one that failed is not archived; one that was deleted is.
func TestASandboxThatIsGone(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		end     func(*fakecloud.Server, string)
		says    string
		resumes int
	}{
		"failed":  {(*fakecloud.Server).Break, "has failed and does not come back", 1},
		"deleted": {(*fakecloud.Server).Lose, "is archived", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			id := p.begin(t).Info().ID
			tt.end(p.server, id)
			var steps []string
			_, err := p.open(t, agentapi.OpenRequest{ID: id, Existing: true, Progress: func(line string) { steps = append(steps, line) }})
			if !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(agentapi.PublicMessage(err, ""), tt.says) {
				t.Errorf("Open() = %v", err)
			}
			if n := len(p.server.Calls("POST", "/resume")); n != tt.resumes {
				t.Errorf("%d resumes", n)
			}
			if waited := strings.Join(steps, ", "); tt.resumes > 0 && waited != "Waiting for the sandbox" {
				t.Errorf("progress %q", waited)
			}
			if page, err := p.Events(t.Context(), id, agentapi.EventQuery{}); err != nil {
				t.Errorf("Events() = %+v, %v", page, err)
			}
		})
	}
}

// TestAStartWhoseAnswerIsLostIsFound: it is not sent again.
func TestAStartWhoseAnswerIsLostIsFound(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.server.LoseAnswer("POST", "/api/v1/app-conversations", 1)
	p.begin(t)
	if n := len(p.server.Calls("POST", "/api/v1/app-conversations")); n != 1 || p.server.Sandboxes() != 1 {
		t.Errorf("%d starts, %d sandboxes", n, p.server.Sandboxes())
	}
}

// TestAFailedStartLeavesNoSandbox: the error is the server's reason.
func TestAFailedStartLeavesNoSandbox(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.server.StartsThrough("WORKING", "WAITING_FOR_SANDBOX", "SETTING_UP_SKILLS")
	p.server.FailStart("no room for it")
	var steps []string
	_, err := p.open(t, agentapi.OpenRequest{ID: uuid.New(), New: true, Profile: "fast", Progress: func(line string) { steps = append(steps, line) }})
	if !errors.Is(err, agentapi.ErrRefused) || !strings.Contains(agentapi.PublicMessage(err, ""), "no room for it") || p.server.Sandboxes() != 0 {
		t.Errorf("Open() = %v, and %d sandboxes are left", err, p.server.Sandboxes())
	}
	if got := strings.Join(steps, ", "); got != "Starting a sandbox, Waiting for the sandbox, Loading the skills" {
		t.Errorf("progress %q", got)
	}
}

// TestAPageInPlaceOfAnAnswer: hosts of the web app answer so for what they do not know.
func TestAPageInPlaceOfAnAnswer(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	id := p.begin(t).Info().ID
	p.server.ShowPage("GET", "/api/v1/app-conversations", 1)
	if _, err := p.open(t, agentapi.OpenRequest{ID: id, Existing: true}); !errors.Is(err, agentapi.ErrRefused) {
		t.Errorf("Open() = %v", err)
	}
	if _, err := p.open(t, agentapi.OpenRequest{ID: id, Existing: true}); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}
