package browser

import (
	"encoding/json"

	"github.com/ohgw/ohgw/agentapi/engine/browser/cdp"
)

// event takes what happens in Chromium. It must not wait.
func (c *chromium) event(e cdp.Event) {
	if e.Session != "" {
		c.mu.Lock()
		t := c.tabs[e.Session]
		c.mu.Unlock()
		if t != nil {
			t.event(e)
		}
		return
	}
	switch e.Method {
	case "Target.targetCreated":
		var p struct {
			Target info `json:"targetInfo"`
		}
		if json.Unmarshal(e.Params, &p) == nil && p.Target.Type == "page" {
			if s := c.session(p.Target.Context); s != nil {
				c.later(func() { s.opened(c, p.Target.ID) })
			}
		}
	case "Target.targetDestroyed":
		var p struct {
			ID string `json:"targetId"`
		}
		if json.Unmarshal(e.Params, &p) == nil {
			for _, s := range c.all() {
				s.gone(p.ID)
			}
		}
	default:
		c.downloading(e)
	}
}

// downloading takes what happens to downloads, of which Chromium does not say whose they are.
func (c *chromium) downloading(e cdp.Event) {
	var begun downloadBegin
	var now downloadProgress
	switch {
	case e.Method == "Browser.downloadWillBegin" && json.Unmarshal(e.Params, &begun) == nil:
		for _, s := range c.all() {
			s.downloadBegins(begun)
		}
	case e.Method == "Browser.downloadProgress" && json.Unmarshal(e.Params, &now) == nil:
		for _, s := range c.all() {
			s.downloadGoesOn(now)
		}
	}
}

// info is a page as Chromium lists it.
type info struct {
	ID      string `json:"targetId"`
	Type    string `json:"type"`
	Title   string `json:"title"`
	URL     string `json:"url"`
	Context string `json:"browserContextId"`
}

// enter has a session get the events of a browser context.
func (c *chromium) enter(id string, s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sessions[id] = s
}

// leave ends what enter and attach have begun.
func (c *chromium) leave(s *Session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.sessions, s.id)
	for id, t := range c.tabs {
		if t.s == s {
			delete(c.tabs, id)
		}
	}
}

func (c *chromium) session(id string) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

func (c *chromium) all() []*Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	list := make([]*Session, 0, len(c.sessions))
	for _, s := range c.sessions {
		list = append(list, s)
	}
	return list
}
