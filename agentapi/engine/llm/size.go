package llm

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine/llm/window"
	"github.com/ohgw/ohgw/agentapi/engine/llm/wire"
	"github.com/ohgw/ohgw/internal/optional"
)

// Sizer is a [Model] whose server may tell the size of its context.
type Sizer interface {
	// FindSize asks the server, if that may be a local one and was not asked of late.
	// It takes sizeWait at most. What it finds is in [Info] afterwards.
	FindSize(ctx context.Context)
	// AwaitLoaded waits while the server loads the model, if FindSize has found that it
	// does, and finds the size then: at most as long as the profile lets a provider be
	// silent. onDelta is told the phase.
	AwaitLoaded(ctx context.Context, onDelta func(Delta))
	// Count is how many tokens the server counts in a request; ok is false where the
	// server does not count, or not in time.
	Count(ctx context.Context, req Request) (tokens int64, ok bool)
}

// A local server answers these questions in milliseconds. One that does not answer is
// busy, or none of these.
const (
	sizeWait = 2 * time.Second
	askAgain = 5 * time.Minute // a server may be started again with another context
	tryAgain = 30 * time.Second
	maxTold  = 4 << 20 // bytes; a list of models, or a prompt with its tokens
)

// FindSize asks the server of the model for the size of its context.
func (m *model) FindSize(ctx context.Context) {
	if m.cfg.Windows == nil || !m.route.mayBeLocal() {
		return
	}
	now := m.cfg.Now()
	known := m.cfg.Windows.Look(m.sizeKey())
	if now.Before(known.Next) {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, sizeWait)
	defer cancel()
	found, err := m.findSize(ctx, known.Server)
	_, refused := errors.AsType[*wire.Failure](err)
	found.Next = now.Add(askAgain)
	switch {
	case ctx.Err() != nil:
		found.Next = now.Add(tryAgain)
	case isLoading(err), err != nil && !refused: // no server listens yet
		found.Next = now
	case found.Tokens == 0 && (found.Server == window.Ollama || found.Server == window.LMStudio || found.Server == window.LlamaCpp):
		found.Next = now // it says the size when the model is loaded
	}
	m.cfg.Windows.Told(m.sizeKey(), found)
}

// AwaitLoaded waits for a server that loads the model, and asks it for the size then.
func (m *model) AwaitLoaded(ctx context.Context, onDelta func(Delta)) {
	w := wait{out: &relay{onDelta: onDelta}}
	for waited := time.Duration(0); m.isLoading() && waited < m.loadingLimit(); waited += loadingPause {
		w.loading()
		if sleep(ctx, loadingPause) != nil {
			return
		}
		m.FindSize(ctx)
	}
}

// Serving is what is known of the server of a model: which program it is, and the context
// that it gives the model.
func Serving(m Model) window.Known {
	one, ok := m.(*model)
	if !ok || one.cfg.Windows == nil {
		return window.Known{}
	}
	return one.cfg.Windows.Look(one.sizeKey())
}

// sizeKey is the model in the book of sizes.
func (m *model) sizeKey() window.Key { return window.Key{URL: m.route.url, Model: m.route.model} }

// findSize asks in the way of the server that it is, as far as the list of models says.
func (m *model) findSize(ctx context.Context, server window.Server) (window.Known, error) {
	name := m.route.model
	tokens, cold := int64(0), false
	if strings.HasPrefix(m.route.provider.prefix, "ollama") {
		server = window.Ollama
	}
	if server != window.Ollama {
		body, err := m.tell(ctx, http.MethodGet, m.route.listURL(), nil)
		if isLoading(err) {
			return window.Known{Server: window.LlamaCpp, Loading: true}, err
		}
		if err != nil {
			return window.Known{Server: server}, err
		}
		server, tokens = window.List(body, name)
	}
	root := m.route.root()
	switch server {
	case window.LlamaCpp:
		body, err := m.tell(ctx, http.MethodGet, root+"/props", nil)
		if isLoading(err) { // its list came all the same: llama.cpp of 2025
			return window.Known{Server: server, Tokens: tokens, Loading: true}, err
		}
		if slot := window.Props(body); slot > 0 { // what one request has
			tokens = slot
		}
	case window.Ollama:
		tokens, cold = m.ollamaSize(ctx, root, name)
	case window.LMStudio:
		if body, err := m.tell(ctx, http.MethodGet, root+"/api/v0/models", nil); err == nil {
			tokens, cold = window.Loaded(body, name)
		}
	case window.VLLM, window.Other:
	}
	return window.Known{Server: server, Tokens: tokens, Cold: cold}, nil
}

// ollamaSize asks for the context of the model that Ollama has loaded, or with which it
// would load it: cold.
func (m *model) ollamaSize(ctx context.Context, root, name string) (tokens int64, cold bool) {
	if body, err := m.tell(ctx, http.MethodGet, root+"/api/ps", nil); err == nil {
		tokens, loaded := window.Running(body, name)
		if tokens > 0 {
			return tokens, false
		}
		cold = !loaded
	}
	question, err := json.Marshal(map[string]string{"model": name})
	if err != nil {
		return 0, cold
	}
	body, err := m.tell(ctx, http.MethodPost, root+"/api/show", question)
	if err != nil {
		return 0, cold
	}
	return window.Shown(body), cold
}

// Count has the server count the tokens of a request: llama.cpp and vLLM do.
func (m *model) Count(ctx context.Context, req Request) (tokens int64, ok bool) {
	if m.cfg.Windows == nil || m.route.style != chatStyle {
		return 0, false
	}
	server := m.cfg.Windows.Look(m.sizeKey()).Server
	if server != window.LlamaCpp && server != window.VLLM {
		return 0, false
	}
	ctx, cancel := context.WithTimeout(ctx, sizeWait)
	defer cancel()
	body, err := m.dialect.Body(m.prepare(req))
	if err != nil {
		return 0, false
	}
	var answer struct {
		Prompt string            `json:"prompt"` // llama.cpp
		Tokens []json.RawMessage `json:"tokens"` // llama.cpp
		Count  int64             `json:"count"`  // vLLM
	}
	ask := func(path string, question []byte) bool {
		body, err := m.tell(ctx, http.MethodPost, m.route.root()+path, question)
		return err == nil && json.Unmarshal(body, &answer) == nil
	}
	if server == window.VLLM {
		return answer.Count, ask("/tokenize", body) && answer.Count > 0
	}
	if !ask("/apply-template", body) || answer.Prompt == "" {
		return 0, false
	}
	question, err := json.Marshal(map[string]any{"content": answer.Prompt, "add_special": true, "parse_special": true})
	if err != nil || !ask("/tokenize", question) {
		return 0, false
	}
	return int64(len(answer.Tokens)), len(answer.Tokens) > 0
}

// tell makes one request to the server beside its calls.
func (m *model) tell(ctx context.Context, method, address string, question []byte) ([]byte, error) {
	if address == "" {
		return nil, ErrNoList
	}
	keys, err := m.credentials(ctx)
	if err != nil {
		return nil, err
	}
	return m.exchange(ctx, method, address, question, &keys, maxTold)
}

// root is the address of the server without the path of its API.
func (r *route) root() string {
	return strings.TrimSuffix(r.api(), "/v1")
}

// mayBeLocal reports whether the server may be one that the user runs. Only such a one
// is asked anything beside calls: a provider may count a question, or take it amiss.
func (r *route) mayBeLocal() bool {
	return (r.style == chatStyle || r.style == responsesStyle) && MayBeLocal(r.url)
}

// MayBeLocal reports whether an address is on this machine or in this network.
func MayBeLocal(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.IsLoopback() || ip.IsPrivate() || ip.IsLinkLocalUnicast()
	}
	host = strings.ToLower(host)
	for _, end := range []string{".localhost", ".local", ".lan", ".internal", ".home.arpa"} {
		if strings.HasSuffix(host, end) {
			return true
		}
	}
	return host != "" && !strings.Contains(host, ".")
}

// learnSize keeps what a refusal says of the size of the context, and puts its numbers
// into the error. The size that a provider in the cloud names is in the catalogue.
func (m *model) learnSize(failed *Error, err error) {
	refusal, ok := errors.AsType[*wire.Failure](err)
	if !ok || failed.Code != CodeContextWindow {
		return
	}
	failed.Prompt, failed.Window = window.Refusal(refusal.Message)
	if failed.Window > 0 && m.cfg.Windows != nil && (m.route.mayBeLocal() || m.route.provider.local) {
		m.cfg.Windows.Refused(m.sizeKey(), failed.Window)
	}
}

// size is the size of the context, and whether it is the one that the server gives the
// model: as the server says, or the profile of a local one. A smaller one in the profile
// is the user's wish.
func (m *model) size() (tokens int64, served bool) {
	if m.cfg.Windows == nil {
		return m.window, false
	}
	known, limit := m.cfg.Windows.Look(m.sizeKey()).Tokens, optional.Or(m.cfg.Profile.MaxInputTokens, 0)
	switch {
	case known == 0:
		return m.window, limit > 0 && m.route.mayBeLocal()
	case limit > 0 && limit < known:
		return limit, true
	}
	return known, true
}
