package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
)

// maxStored bounds the values of one page's storage, in characters.
const maxStored = 1 << 20

// item is an entry of a page's storage.
type item struct {
	Name  string `json:"name"`
	Key   string `json:"key,omitempty"` // in what is set; the same
	Value string `json:"value"`
}

// origin is the storage of a site.
type origin struct {
	Origin  string `json:"origin"`
	Local   []item `json:"localStorage,omitempty"`
	Session []item `json:"sessionStorage,omitempty"`
}

const storedScript = `limit => {
  const items = storage => {
    const list = [];
    for (let i = 0; i < storage.length && limit > 0; i++) {
      const name = storage.key(i), value = storage.getItem(name);
      limit -= name.length + value.length;
      if (limit > 0) list.push({name, value});
    }
    return list;
  };
  try {
    return {origin: location.origin, localStorage: items(localStorage), sessionStorage: items(sessionStorage)};
  } catch (e) {
    return {origin: ''};
  }
}`

// Storage returns what the sites have stored: all cookies, and the storage of the open
// pages.
func (s *Session) Storage(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		stored := struct {
			Cookies []json.RawMessage `json:"cookies"`
			Origins []origin          `json:"origins"`
		}{[]json.RawMessage{}, []origin{}}
		if err := s.c.do(ctx, "Storage.getCookies", object{"browserContextId": s.id}, &stored); err != nil {
			return "", err
		}
		s.mu.Lock()
		tabs := slices.Clone(s.tabs)
		s.mu.Unlock()
		for _, t := range tabs {
			var o origin
			if err := t.eval(ctx, storedScript, &o, maxStored); err != nil {
				return "", err
			}
			known := slices.ContainsFunc(stored.Origins, func(k origin) bool { return k.Origin == o.Origin })
			if len(o.Local)+len(o.Session) > 0 && !known {
				stored.Origins = append(stored.Origins, o)
			}
		}
		return indented(stored)
	})
}

// SetStorage sets what sites have stored. The storage of a site can only be set while
// a page of it is open.
func (s *Session) SetStorage(ctx context.Context, state json.RawMessage) (string, error) {
	var given struct {
		Cookies []json.RawMessage `json:"cookies"`
		Origins []origin          `json:"origins"`
	}
	if err := json.Unmarshal(state, &given); err != nil {
		return "", fmt.Errorf("storage_state has another form than browser_get_storage gives: %w", err)
	}
	cookies := make([]cookie, 0, len(given.Cookies))
	for _, data := range given.Cookies {
		c, err := readCookie(data)
		if err != nil {
			return "", err
		}
		cookies = append(cookies, c)
	}
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		if len(cookies) > 0 {
			if err := s.c.do(ctx, "Storage.setCookies", object{"cookies": cookies, "browserContextId": s.id}, nil); err != nil {
				return "", err
			}
		}
		for _, o := range given.Origins {
			if err := t.setItems(ctx, o); err != nil {
				return "", err
			}
		}
		return "Storage set successfully", nil
	})
}

// cookie is what is read of a cookie, as browser_get_storage or Playwright writes it.
type cookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	URL      string  `json:"url,omitempty"`
	Domain   string  `json:"domain,omitempty"`
	Path     string  `json:"path,omitempty"`
	Secure   bool    `json:"secure,omitempty"`
	HTTPOnly bool    `json:"httpOnly,omitempty"`
	SameSite string  `json:"sameSite,omitempty"`
	Expires  float64 `json:"expires,omitempty"`
}

// readCookie reads a cookie. One without an end is that of the session.
func readCookie(data json.RawMessage) (c cookie, err error) {
	if err := json.Unmarshal(data, &c); err != nil {
		return c, fmt.Errorf("a cookie of storage_state cannot be read: %w", err)
	}
	if !slices.Contains([]string{"Strict", "Lax", "None"}, c.SameSite) {
		c.SameSite = ""
	}
	c.Expires = max(c.Expires, 0)
	return c, nil
}

// setItems sets the storage of a site.
func (t *tab) setItems(ctx context.Context, o origin) error {
	if o.Origin == "" {
		return nil
	}
	if err := t.do(ctx, "DOMStorage.enable", nil, nil); err != nil {
		return err
	}
	defer func() { _ = t.do(ctx, "DOMStorage.disable", nil, nil) }()
	for _, kind := range []struct {
		local bool
		items []item
	}{{true, o.Local}, {false, o.Session}} {
		at := object{"securityOrigin": o.Origin, "isLocalStorage": kind.local}
		for _, i := range kind.items {
			name := i.Key
			if name == "" {
				name = i.Name
			}
			if name == "" {
				continue
			}
			if err := t.do(ctx, "DOMStorage.setDOMStorageItem", object{"storageId": at, "key": name, "value": i.Value}, nil); err != nil {
				return fmt.Errorf("the storage of %s can only be set while a page of it is open in the current tab: %w", o.Origin, err)
			}
		}
	}
	return nil
}
