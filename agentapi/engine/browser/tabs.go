package browser

import (
	"context"
	"fmt"
	"slices"
)

// newTab opens an empty tab, which becomes the current one.
func (s *Session) newTab(ctx context.Context) (*tab, error) {
	s.attaching.Lock()
	defer s.attaching.Unlock()
	if s.full() {
		return nil, fmt.Errorf("%d tabs are open, which is the limit. Close one with browser_close_tab", maxTabs)
	}
	var made struct {
		ID string `json:"targetId"`
	}
	err := s.c.do(ctx, "Target.createTarget", object{"url": "about:blank", "newWindow": true, "browserContextId": s.id}, &made)
	if err != nil {
		return nil, err
	}
	t, err := s.attach(ctx, s.c, made.ID)
	if err != nil {
		return nil, err
	}
	s.show(t)
	return t, nil
}

// show makes a tab the current one.
func (s *Session) show(t *tab) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current = t
}

func (s *Session) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.tabs) >= maxTabs
}

// find returns a tab that is attached to already.
func (s *Session) find(id string) *tab {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tabs {
		if t.id == id {
			return t
		}
	}
	return nil
}

// attach takes control of a page. Dialogs and crashes are the only events of it.
func (s *Session) attach(ctx context.Context, c *chromium, id string) (*tab, error) {
	var attached struct {
		Session string `json:"sessionId"`
	}
	if err := c.do(ctx, "Target.attachToTarget", object{"targetId": id, "flatten": true}, &attached); err != nil {
		return nil, err
	}
	t := &tab{s: s, c: c, id: id, session: attached.Session}
	c.mu.Lock()
	c.tabs[t.session] = t
	c.mu.Unlock()
	for _, on := range []string{"Page.enable", "Inspector.enable"} {
		if err := t.do(ctx, on, nil, nil); err != nil {
			return nil, err
		}
	}
	s.mu.Lock()
	s.tabs = append(s.tabs, t)
	s.mu.Unlock()
	return t, nil
}

// opened takes a page that a page has opened. Of too many the newest is closed.
func (s *Session) opened(c *chromium, id string) {
	s.attaching.Lock() // newTab attaches its own
	defer s.attaching.Unlock()
	s.mu.Lock()
	current := s.c == c
	s.mu.Unlock()
	if !current || s.find(id) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), pingLimit)
	defer cancel()
	if s.full() {
		_ = c.do(ctx, "Target.closeTarget", object{"targetId": id}, nil)
		s.note(fmt.Sprintf("A page opened more than %d tabs; the newest was closed.", maxTabs))
		return
	}
	if t, err := s.attach(ctx, c, id); err == nil {
		s.note("A page opened a new tab, " + t.short() + ".")
	}
}

// gone takes that a page was closed.
func (s *Session) gone(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.tabs, func(t *tab) bool { return t.id == id })
	if i < 0 {
		return
	}
	t := s.tabs[i]
	s.tabs = slices.Delete(s.tabs, i, i+1)
	if s.current == t {
		s.current = nil
		if len(s.tabs) > 0 {
			s.current = s.tabs[len(s.tabs)-1]
		}
	}
}

// listed is a tab in the list for the model.
type listed struct {
	ID    string `json:"tab_id"`
	URL   string `json:"url"`
	Title string `json:"title"`
}

// list lists the open tabs.
func (s *Session) list(ctx context.Context) ([]listed, error) {
	var found struct {
		Targets []info `json:"targetInfos"`
	}
	if err := s.c.do(ctx, "Target.getTargets", nil, &found); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	list := []listed{}
	for _, t := range s.tabs {
		i := slices.IndexFunc(found.Targets, func(i info) bool { return i.ID == t.id })
		if i >= 0 {
			list = append(list, listed{t.short(), cut(found.Targets[i].URL, maxAddress), cut(found.Targets[i].Title, maxTitle)})
		}
	}
	return list, nil
}

// Tabs lists the open tabs.
func (s *Session) Tabs(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		list, err := s.list(ctx)
		if err != nil {
			return "", err
		}
		return indented(list)
	})
}

// noTab begins as OpenHands says it.
const noTab = "No TargetID found ending in tab_id=...%s: browser_list_tabs lists the tabs"

// byName finds a tab by the id that the model has.
func (s *Session) byName(id string) (*tab, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tabs {
		if t.short() == id {
			return t, nil
		}
	}
	return nil, fmt.Errorf(noTab, cut(id, 20)) //nolint:staticcheck // OpenHands begins it with a capital
}

// SwitchTab makes a tab the one that actions are for.
func (s *Session) SwitchTab(ctx context.Context, id string) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		t, err := s.byName(id)
		if err != nil {
			return "", err
		}
		if err := s.c.do(ctx, "Target.activateTarget", object{"targetId": t.id}, nil); err != nil {
			return "", err
		}
		s.show(t)
		at, err := s.address(ctx, t)
		return t.titled(ctx, "Switched to tab "+id+": "+at), err
	})
}

// address is where a tab is.
func (s *Session) address(ctx context.Context, t *tab) (string, error) {
	list, err := s.list(ctx)
	for _, one := range list {
		if one.ID == t.short() {
			return one.URL, err
		}
	}
	return blankPage, err
}

// CloseTab closes a tab.
func (s *Session) CloseTab(ctx context.Context, id string) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		t, err := s.byName(id)
		if err != nil {
			return "", err
		}
		if err := s.c.do(ctx, "Target.closeTarget", object{"targetId": t.id}, nil); err != nil {
			return "", err
		}
		s.gone(t.id)
		now, err := s.ready(ctx)
		if err != nil {
			return "", err
		}
		at, err := s.address(ctx, now)
		return now.titled(ctx, "Closed tab # "+id+", now on "+at), err
	})
}
