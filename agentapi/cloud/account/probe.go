package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
	v0 "github.com/ohgw/ohgw/agentapi/cloud/v0"
	v1 "github.com/ohgw/ohgw/agentapi/cloud/v1"
	"github.com/ohgw/ohgw/internal/optional"
)

// Kind is what a server is.
type Kind string

// The kinds of server.
const (
	KindCloud       Kind = "cloud"        // hosted, or an app-server of one's own
	KindAgentServer Kind = "agent-server" // one agent-server, which has no accounts
)

// Server is what Probe finds out.
type Server struct {
	URL          string           `json:"url"`
	Kind         Kind             `json:"kind"`
	V0           bool             `json:"v0"`
	V1           bool             `json:"v1"`
	AppMode      string           `json:"app_mode,omitempty"` // "oss" or "saas"; "" where the server does not say
	Owner        string           `json:"owner,omitempty"`    // of the key: an address or an id; "" where there are no users
	KeyName      string           `json:"key_name,omitempty"`
	Organization string           `json:"organization,omitempty"`
	Header       transport.Header `json:"header,omitempty"` // that the key was taken in
	Latency      time.Duration    `json:"latency,omitempty"`
}

// Probe finds out what the server is, which versions of the API it speaks, and
// whether it takes the key. An agent-server is not an error: see Kind.
func (c *Client) Probe(ctx context.Context) (Server, error) {
	s, err := probe{t: c.t, v0: c.v0, v1: c.v1}.run(ctx)
	if err != nil || s.Kind == KindAgentServer {
		return s, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	known := s
	c.server = &known
	return s, nil
}

// probe makes the calls that show what a server is.
type probe struct {
	t  *transport.Client
	v0 v0.API
	v1 v1.API
}

func (p probe) run(ctx context.Context) (Server, error) {
	s, err := p.recognize(ctx)
	if err != nil || s.Kind == KindAgentServer {
		return s, err
	}
	began := p.t.Now()
	if s.V1, err = p.accepts(ctx, func() error { _, err := p.v1.Count(ctx); return err }); err != nil {
		return s, err
	}
	s.Latency = p.t.Now().Sub(began)
	s.V0, err = p.accepts(ctx, func() error { return p.tryV0(ctx) })
	switch {
	case s.V1 && errors.Is(err, ErrWrongEndpoint), s.V1 && errors.Is(err, ErrUnauthorized):
		s.V0 = false // The key is good for V1.
	case err != nil:
		return s, err
	}
	if !s.V0 && !s.V1 {
		return s, fmt.Errorf("%s: %w: neither version of the API answers", s.URL, ErrWrongEndpoint)
	}
	s.Kind, s.Header = KindCloud, p.t.Header()
	if s.Header == "" {
		s.Header = transport.HeaderBearer
	}
	if s.V1 {
		p.owner(ctx, &s)
	}
	return s, nil
}

// recognize asks without the key what the server is.
func (p probe) recognize(ctx context.Context) (Server, error) {
	s := Server{URL: p.t.Root().String()}
	config, err := p.v1.WebClientConfig(ctx)
	switch {
	case err == nil && config.AppMode != "":
		s.Kind, s.AppMode = KindCloud, config.AppMode
		return s, nil
	case err != nil && !absent(err) && !errors.Is(err, ErrUnauthorized):
		return s, err
	}
	if info, err := p.v1.ServerInfo(ctx); err == nil && info.Version != "" {
		s.Kind = KindAgentServer
	}
	return s, nil
}

// accepts makes a call that proves a version. A key that is rejected is sent once
// more in the other header, if no header is known to work.
func (p probe) accepts(ctx context.Context, call func() error) (bool, error) {
	err := call()
	if errors.Is(err, ErrUnauthorized) && p.t.Header() == "" {
		p.t.SetHeader(transport.HeaderSession)
		if err = call(); err != nil {
			p.t.SetHeader("")
		}
	} else if err == nil && p.t.Header() == "" {
		p.t.SetHeader(transport.HeaderBearer)
	}
	if err != nil && absent(err) {
		return false, ctx.Err()
	}
	return err == nil, err
}

// tryV0 makes the two calls that prove V0: a key may pass the one and not the other.
func (p probe) tryV0(ctx context.Context) error {
	if _, err := p.v0.Models(ctx); err != nil {
		return err
	}
	_, err := p.v0.List(ctx, "", "", 1)
	return err
}

// absent reports whether the answer says that there is no such route.
func absent(err error) bool {
	if e, ok := errors.AsType[*transport.Error](err); ok && e.Status == 405 {
		return true
	}
	return errors.Is(err, ErrWrongEndpoint) || errors.Is(err, ErrNotFound)
}

// owner adds whose key it is, where the server has users.
func (p probe) owner(ctx context.Context, s *Server) {
	if key, err := p.v1.CurrentKey(ctx); err == nil {
		s.KeyName, s.Owner = key.Name, key.UserID
		s.Organization = first(optional.Value(key.BoundOrgID), optional.Value(key.OrgID))
	}
	if me, err := p.v1.Me(ctx); err == nil {
		s.Owner = first(optional.Value(me.Email), s.Owner, optional.Value(me.ID), optional.Value(me.Name))
	}
}

// known is what the server is, probed once.
func (c *Client) known(ctx context.Context) (Server, error) {
	c.mu.Lock()
	server := c.server
	c.mu.Unlock()
	if server != nil {
		return *server, nil
	}
	s, err := c.Probe(ctx)
	if err == nil && s.Kind == KindAgentServer {
		err = fmt.Errorf("%s: %w: it is an agent-server, which has no accounts", s.URL, ErrWrongEndpoint)
	}
	return s, err
}

// forget makes the next call probe again where the server is not what it was.
func (c *Client) forget(err error) error {
	if errors.Is(err, ErrWrongEndpoint) {
		c.mu.Lock()
		c.server = nil
		c.mu.Unlock()
	}
	return err
}

func first(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}
