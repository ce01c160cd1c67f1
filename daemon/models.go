package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/daemon/openai"
)

const (
	// modelPrefix makes a model id of a profile's name.
	modelPrefix = "openhands_"
	// modelActive is the profile that is active at the moment.
	modelActive = "openhands"
	ownedBy     = "openhands"

	// freshFor is how long a list of profiles is taken without asking again.
	freshFor = 2 * time.Second
	// staleWait is how long a request waits for a newer list before it takes
	// the old one: enough for a server on this machine.
	staleWait = 20 * time.Millisecond
	// listWait is how long GET /v1/models waits where the backend does not
	// answer. UIs ask all their servers at once and wait for the slowest.
	listWait = 900 * time.Millisecond
	// refreshTimeout bounds one question to the backend.
	refreshTimeout = 5 * time.Second
)

// catalogue is the list of profiles, kept so that neither a list nor a run has
// to wait for the backend. At most one question to the backend is under way.
type catalogue struct {
	backend agentapi.Backend
	now     func() time.Time
	life    context.Context
	end     context.CancelFunc
	wg      sync.WaitGroup

	mu     sync.Mutex
	seen   bool // there is a list
	list   []agentapi.Profile
	at     time.Time     // of the last question that was answered or failed
	err    error         // of that question
	flight chan struct{} // closed when the one under way has ended; nil if none is
}

func newCatalogue(b agentapi.Backend, now func() time.Time) *catalogue {
	c := &catalogue{backend: b, now: now}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

func (c *catalogue) close() {
	c.end()
	c.wg.Wait()
}

// refresh asks the backend, or joins the question that is under way. The
// channel is closed when the answer is there.
func (c *catalogue) refresh(ctx context.Context) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flight != nil {
		return c.flight
	}
	done := make(chan struct{})
	c.flight = done
	c.wg.Go(func() { // ends with the question, at the latest after refreshTimeout
		// Whoever asked first may go before the answer is there.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refreshTimeout)
		defer cancel()
		defer context.AfterFunc(c.life, cancel)() //nolint:contextcheck // it ends with the catalogue
		list, err := c.backend.Profiles(ctx)
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.at, c.err = c.now(), err; err == nil {
			c.list, c.seen = list, true
		}
		c.flight = nil
		close(done)
	})
	return done
}

// profiles is the list as it is known, after at most wait. The error is why
// the last question failed; the list may be there all the same.
func (c *catalogue) profiles(ctx context.Context, wait time.Duration) (list []agentapi.Profile, seen bool, err error) {
	c.mu.Lock()
	asked, good := !c.at.IsZero(), c.err == nil
	fresh := asked && good && c.now().Sub(c.at) < freshFor
	c.mu.Unlock()
	if !fresh {
		if asked && good {
			wait = min(wait, staleWait)
		}
		if err := await(ctx, c.refresh(ctx), wait); err != nil {
			return nil, false, err
		}
	}
	return c.known()
}

// newest is the list that the backend has now; the one known if it does not
// say in time.
func (c *catalogue) newest(ctx context.Context) ([]agentapi.Profile, error) {
	if err := await(ctx, c.refresh(ctx), listWait); err != nil {
		return nil, err
	}
	list, _, err := c.known()
	return list, err
}

func (c *catalogue) known() (list []agentapi.Profile, seen bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err = c.err; err == nil && !c.seen {
		err = &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent server does not answer; nothing was started."}
	}
	return c.list, c.seen, err
}

// ready tells whether the backend answers now, without asking it more often
// than any other use of the list.
func (c *catalogue) ready(ctx context.Context) error {
	c.mu.Lock()
	fresh := !c.at.IsZero() && c.err == nil && c.now().Sub(c.at) < freshFor
	c.mu.Unlock()
	if fresh {
		return nil
	}
	done := c.refresh(ctx)
	if err := await(ctx, done, backendTimeout); err != nil {
		return err
	}
	select {
	case <-done:
		_, _, err := c.known()
		return err
	default:
		return &agentapi.Error{Kind: agentapi.ErrUnavailable, Msg: "The agent server does not answer."}
	}
}

// await waits for done, no longer than wait. Its error is ctx's.
func await(ctx context.Context, done <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	case <-ctx.Done():
		return fmt.Errorf("wait for the list of models: %w", ctx.Err())
	}
	return nil
}

// find is the profile that a model id names.
func find(list []agentapi.Profile, id string) (agentapi.Profile, bool) {
	name, named := strings.CutPrefix(id, modelPrefix)
	for _, p := range list {
		if named && p.Name == name || id == modelActive && p.Active {
			return p, true
		}
	}
	return agentapi.Profile{}, false
}

// resolve finds the profile of a model that the client may use. A backend that
// is known to be down is an error now, while the status is still open.
func (d *Daemon) resolve(ctx context.Context, client Client, model string) (agentapi.Profile, error) {
	list, _, err := d.models.profiles(ctx, refreshTimeout)
	if err != nil {
		return agentapi.Profile{}, err
	}
	p, ok := find(list, model)
	if !ok { // made a moment ago?
		if list, err = d.models.newest(ctx); err != nil {
			return agentapi.Profile{}, err
		}
		p, ok = find(list, model)
	}
	if !ok || !client.allows(model, modelPrefix+p.Name) {
		return agentapi.Profile{}, modelNotFound(model)
	}
	return p, nil
}

func modelNotFound(id string) error {
	return newProblem(codeModelNotFound, fmt.Sprintf("The model '%s' does not exist or you do not have access to it.", logPath(id)), nil).about("model")
}

// visible are the models that a client may use, sorted by id.
func (d *Daemon) visible(ctx context.Context, client Client) ([]openai.Model, error) {
	list, seen, err := d.models.profiles(ctx, listWait)
	if err != nil && !seen {
		return nil, err
	}
	models := make([]openai.Model, 0, len(list)+1)
	for _, p := range list {
		if p.Active && client.allows(modelActive, modelPrefix+p.Name) {
			models = append(models, d.model(modelActive, "OpenHands", p))
		}
	}
	for _, p := range list {
		if client.allows(modelPrefix + p.Name) {
			models = append(models, d.model(modelPrefix+p.Name, "OpenHands ("+p.Name+")", p))
		}
	}
	return models, nil
}

// model is a profile as a model.
func (d *Daemon) model(id, name string, p agentapi.Profile) openai.Model {
	created := p.Modified
	if created.Unix() <= 0 { // unknown, and clients insist on a time
		created = d.began
	}
	// "anthropic/claude" reads "anthropic claude".
	description := strings.Replace(p.Model, "/", " ", 1)
	return openai.Model{
		ID: id, Object: "model", Created: created.Unix(), OwnedBy: ownedBy, Name: name, Description: description,
		Info:      openai.ModelInfo{Meta: openai.ModelMeta{Description: description, Capabilities: openai.Capabilities{Usage: true}}},
		Extension: openai.ModelExtension{Kind: "agent", Profile: p.Name, LLM: p.Model},
	}
}

func (d *Daemon) listModels() handler {
	return func(x *exchange, r *http.Request) error {
		models, err := d.visible(r.Context(), x.client)
		if err != nil {
			return err
		}
		return x.encode(openai.ModelList{Object: "list", Data: models})
	}
}

func (d *Daemon) getModel() handler {
	return func(x *exchange, r *http.Request) error {
		models, err := d.visible(r.Context(), x.client)
		if err != nil {
			return err
		}
		id := r.PathValue("id")
		for _, m := range models {
			if m.ID == id {
				return x.encode(m)
			}
		}
		return modelNotFound(id)
	}
}

// encode answers with a value.
func (x *exchange) encode(v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return x.writeJSON(http.StatusOK, append(body, '\n'))
}
