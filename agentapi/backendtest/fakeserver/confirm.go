package fakeserver

import (
	"encoding/json"
	"net/http"
)

// policy says which actions wait for a confirmation. Nothing rates their risk
// here, so a policy by risk has all of them wait.
type policy struct {
	Kind           string `json:"kind"`
	Threshold      string `json:"threshold,omitempty"`
	ConfirmUnknown bool   `json:"confirm_unknown,omitempty"`
}

func (p policy) asks() bool { return p.Kind == "AlwaysConfirm" || p.Kind == "ConfirmRisky" }

// MarshalJSON gives a conversation that was begun without a policy the default
// of OpenHands.
func (p policy) MarshalJSON() ([]byte, error) {
	type plain policy
	if p.Kind == "" {
		p.Kind = "NeverConfirm"
	}
	return json.Marshal(plain(p))
}

func (s *Server) setPolicy(w http.ResponseWriter, r *http.Request, c *conversation) {
	var in struct {
		Policy policy `json:"policy"`
	}
	if !decode(w, r, &in) {
		return
	}
	switch in.Policy.Kind {
	case "NeverConfirm", "ConfirmRisky", "AlwaysConfirm":
	default:
		refuse(w, 422, "policy")
		return
	}
	c.change(w, r, func() {
		c.policy = in.Policy
		c.update("confirmation_policy", c.policy)
	})
}

func (s *Server) setAnalyzer(w http.ResponseWriter, r *http.Request, c *conversation) {
	var in struct {
		Analyzer json.RawMessage `json:"security_analyzer"`
	}
	if !decode(w, r, &in) {
		return
	}
	c.change(w, r, func() {
		c.analyzer = in.Analyzer
		c.update("security_analyzer", c.analyzer)
	})
}

// change changes the state when no step holds the lock, as the real server does.
func (c *conversation) change(w http.ResponseWriter, r *http.Request, edit func()) {
	if c.hold(r.Context()) != nil {
		return
	}
	defer c.release()
	c.mu.Lock()
	defer c.mu.Unlock()
	edit()
	c.save()
	done(w)
}
