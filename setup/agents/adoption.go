package agents

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/ohgw/ohgw/internal/answers"
	"github.com/ohgw/ohgw/internal/listener"
	"github.com/ohgw/ohgw/setup"
)

// adoption decides whether an agent-server may have keys of the user. One that the
// user has named may. One that was found at the usual address may if the user has
// agreed to the program that listens there; it is looked at again before each key, so
// that what takes the port later gets none. See [listener.Process.Identity] for what
// that holds against.
type adoption struct {
	named   bool
	address string
	agreed  answers.Store[agreedJSON] // the programs that were agreed to
	stored  func(context.Context) bool
	now     func() time.Time

	thisRun atomic.Pointer[string] // what was agreed to now, as runKey gives it
}

// agreedJSON is an answer.
type agreedJSON struct {
	Identity string    `json:"identity"`
	Address  string    `json:"address"`
	Program  string    `json:"program,omitempty"`
	Since    time.Time `json:"since"`
}

// newAdoption is that of the agent-server at address.
func newAdoption(env *setup.Env, address string, named bool) (*adoption, error) {
	dirs, err := env.Dirs()
	if err != nil {
		return nil, err
	}
	return &adoption{named: named, address: address, agreed: answers.In[agreedJSON](dirs, "agent-servers.jsonl"), now: env.Now}, nil
}

// may reports whether the server may have keys now.
func (a *adoption) may() bool {
	if a.named {
		return true
	}
	p := a.process()
	now := a.thisRun.Load()
	return now != nil && *now == runKey(p) || a.has(p.Identity())
}

// runKey stands for a program in this run: where it is not known, for its user.
func runKey(p listener.Process) string { return cmp.Or(p.Identity(), "user "+strconv.Itoa(p.UID)) }

// process finds the process that listens at the address, as far as that is known. The
// zero Process would be one of root.
func (a *adoption) process() listener.Process {
	unknown := listener.Process{UID: -1}
	u, err := url.Parse(a.address)
	if err != nil {
		return unknown
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	if err != nil {
		return unknown
	}
	if p, known := listener.On(uint16(port)); known {
		return p
	}
	return unknown
}

func (a *adoption) has(identity string) bool {
	return identity != "" && a.agreed.Any(func(l agreedJSON) bool { return l.Identity == identity })
}

// offer asks the user whether the server may have the stored keys, if there are any and
// the user has not agreed to that before. Where there is no user to ask, it notes how
// to name the server.
func (a *adoption) offer(ctx context.Context, env *setup.Env, version string) {
	if a.may() || !a.stored(ctx) {
		return
	}
	host := a.address
	if u, err := url.Parse(a.address); err == nil {
		host = u.Host
	}
	if env.Ask == nil || !env.CanAsk() {
		env.Note("note: the agent-server at %s was found, not named: it gets none of your stored keys; to name it, set OHGW_AGENT_SERVER_URL=%s, or agent_server.url in the config file, or pass --agent-server to ohgw serve", host, a.address)
		return
	}
	p := a.process()
	about := "version " + setup.Clean(version)
	if text := p.String(); text != "" {
		about += ", " + setup.Clean(text)
	} else if p.UID >= 0 {
		about += ", of user " + strconv.Itoa(p.UID)
	}
	if !env.Ask(ctx, fmt.Sprintf("An agent-server answers at %s (%s). May it have the keys of your profiles?", host, about), "It gets none of your stored keys.") {
		return
	}
	key := runKey(p)
	a.thisRun.Store(&key)
	identity := p.Identity()
	if identity == "" {
		return // a program that is not known cannot be recognized later
	}
	if err := a.agreed.Add(ctx, agreedJSON{Identity: identity, Address: a.address, Program: p.Executable, Since: a.now().UTC().Truncate(time.Second)}); err != nil {
		env.Note("warning: your answer was not stored, so you will be asked again: %v", err)
	}
}
