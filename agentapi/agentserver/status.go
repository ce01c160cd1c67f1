package agentserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi"
)

// serverInfo is what a server reports about itself without a key.
type serverInfo struct {
	Version string  `json:"version"`
	SDK     string  `json:"sdk_version"` // the same in every release; some builds know only one of them
	Uptime  float64 `json:"uptime"`      // whole seconds

	version version
}

// info is what the server said about itself not long ago.
func (b *Backend) info(ctx context.Context) (serverInfo, error) {
	b.mu.Lock()
	info, asked := b.server, b.asked
	b.mu.Unlock()
	if !asked.IsZero() && b.now().Sub(asked) < infoAge {
		return info, b.unversioned(info)
	}
	return b.askInfo(ctx)
}

func (b *Backend) askInfo(ctx context.Context) (serverInfo, error) {
	info, err := b.readInfo(ctx)
	if status := answered(err); status == http.StatusNotFound || status == http.StatusMethodNotAllowed {
		return info, b.silent(err)
	}
	if err == nil {
		err = b.unversioned(info)
	}
	return info, b.fault(ctx, "report its version", err)
}

// silent returns the error for a server without /server_info.
func (b *Backend) silent(err error) error {
	return &agentapi.Error{
		Kind: agentapi.ErrRefused, Err: err,
		Msg: fmt.Sprintf("What answers at %s has no /server_info: it is not an OpenHands agent-server, or a proxy hides that page; %s. Check the address: curl %s/server_info", b.address, testedWith, b.address),
	}
}

// unversioned refuses a server whose version cannot be read: only a try would show
// what it can do.
func (b *Backend) unversioned(info serverInfo) error {
	if info.version != 0 {
		return nil
	}
	return unsupported(fmt.Sprintf("The agent-server at %s does not tell its version: /server_info has version %q; %s. Install a released one: %s", b.address, info.shown(), testedWith, installNewest))
}

// readInfo asks like askInfo, and returns the error as it is.
func (b *Backend) readInfo(ctx context.Context) (serverInfo, error) {
	limited, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	info, _, err := b.client.serverInfo(limited)
	if err != nil {
		return serverInfo{}, err
	}
	if info.version = parseVersion(info.Version); info.version == 0 {
		info.version = parseVersion(info.SDK)
	}
	b.mu.Lock()
	b.server, b.asked = info, b.now()
	b.mu.Unlock()
	return info, nil
}

// statusTimeout is short: a person waits for the answer.
const statusTimeout = 5 * time.Second

// Status asks the server for its version and tries the key.
func (b *Backend) Status(ctx context.Context) agentapi.Status {
	ctx, cancel := context.WithTimeout(ctx, statusTimeout)
	defer cancel()
	st := agentapi.Status{Name: "agent-server", Address: b.address}
	info, err := b.askInfo(ctx)
	st.Version = info.Version
	if err != nil {
		st.Err = b.statusError(ctx, err)
		return st
	}
	st.Missing = missing(info.version)
	st.Err = b.statusError(ctx, b.usable(ctx, info))
	st.SharesFiles = st.Err == nil && b.sharesFiles(ctx)
	if st.Err == nil && info.version >= sinceProfiles && b.noCipher(ctx) {
		st.Missing = append(st.Missing, "No OH_SECRET_KEY is set: LLM keys are sent unencrypted between ohgw and the agent-server, and are lost when the agent-server restarts.")
	}
	return st
}

// statusError turns the deadline of Status itself into a sentence.
func (b *Backend) statusError(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && timedOut(err) {
		return b.unreachable(err)
	}
	return err
}

// usable reports why the server cannot be used with our key and our LLM.
func (b *Backend) usable(ctx context.Context, info serverInfo) error {
	if info.version < sinceTheFloor {
		return unsupported("ohgw needs agent-server 1.12 or later. " + info.remarks())
	}
	if info.version < sinceProfiles && b.llm == nil {
		return b.needsLLM()
	}
	_, err := b.client.do(ctx, request{method: http.MethodGet, path: "/api/conversations/count"})
	return b.fault(ctx, "count its conversations", err)
}

func (b *Backend) needsLLM() error {
	return unsupported("This agent-server is older than 1.22 and has no LLM profiles. Update it, or set a model and its key in [agent_server.llm] of ohgw's config file.")
}

// noCipher reports whether the server cannot encrypt secrets for the way.
func (b *Backend) noCipher(ctx context.Context) bool {
	_, err := b.client.do(ctx, request{method: http.MethodGet, path: "/api/settings", expose: exposeEncrypted})
	return isNoCipher(err)
}

// missing lists what a release lacks, for people.
func missing(v version) []string {
	var list []string
	for _, f := range []struct {
		since version
		what  string
	}{
		{sinceTags, "Before 1.16: the profile and the system message of a conversation are not stored."},
		{sinceDeltas, "Before 1.18.1: answers are not streamed; they arrive whole."},
		{sinceProfiles, "Before 1.22: no LLM profiles and no model changes; the only model is the one in ohgw's config file."},
		{sinceInterrupt, "Before 1.23: a stopped run finishes its current step first."},
		{sinceSafeStreaming, "Before 1.33: a message sent while the model writes waits until the model is done; the critics and sub-agents in the settings are not used."},
		{sinceTitles, "Before 1.34: no titles by the model."},
		{sinceConnections, "Before 1.43: no goals and no provider connections."},
	} {
		if v < f.since {
			list = append(list, f.what)
		}
	}
	return list
}

func isNoCipher(err error) bool {
	e, ok := errors.AsType[*answerError](err)
	return ok && e.status == http.StatusServiceUnavailable && strings.Contains(e.text, "OH_SECRET_KEY")
}

// startedAfter reports whether a server with this answer at the time now surely
// started after t. Its uptime is cut to whole seconds.
func (s serverInfo) startedAfter(now, t time.Time) bool {
	uptime := time.Duration((s.Uptime + 1) * float64(time.Second))
	return now.Add(-uptime).After(t)
}
