package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/domstorage"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"
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

// Storage is what the sites have stored: all cookies, and the storage of the open pages.
func (s *Session) Storage(ctx context.Context) (string, error) {
	return s.act(ctx, func(ctx context.Context, _ *tab) (string, error) {
		cookies, err := storage.GetCookies().WithBrowserContextID(s.id).Do(cdp.WithExecutor(ctx, s.c.browser))
		if err != nil {
			return "", err
		}
		if cookies == nil {
			cookies = []*network.Cookie{}
		}
		origins := []origin{}
		s.mu.Lock()
		tabs := slices.Clone(s.tabs)
		s.mu.Unlock()
		for _, t := range tabs {
			var o origin
			if err := t.eval(ctx, storedScript, &o, maxStored); err != nil {
				return "", err
			}
			known := slices.ContainsFunc(origins, func(k origin) bool { return k.Origin == o.Origin })
			if len(o.Local)+len(o.Session) > 0 && !known {
				origins = append(origins, o)
			}
		}
		return indented(struct {
			Cookies []*network.Cookie `json:"cookies"`
			Origins []origin          `json:"origins"`
		}{cookies, origins})
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
	cookies := make([]*network.CookieParam, 0, len(given.Cookies))
	for _, data := range given.Cookies {
		c, err := cookie(data)
		if err != nil {
			return "", err
		}
		cookies = append(cookies, c)
	}
	return s.act(ctx, func(ctx context.Context, t *tab) (string, error) {
		if len(cookies) > 0 {
			if err := s.c.do(ctx, storage.SetCookies(cookies).WithBrowserContextID(s.id)); err != nil {
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

// cookie reads a cookie as browser_get_storage or Playwright writes it.
func cookie(data json.RawMessage) (*network.CookieParam, error) {
	var c struct {
		Name     string  `json:"name"`
		Value    string  `json:"value"`
		URL      string  `json:"url"`
		Domain   string  `json:"domain"`
		Path     string  `json:"path"`
		Secure   bool    `json:"secure"`
		HTTPOnly bool    `json:"httpOnly"`
		SameSite string  `json:"sameSite"`
		Expires  float64 `json:"expires"`
	}
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("a cookie of storage_state cannot be read: %w", err)
	}
	p := &network.CookieParam{
		Name: c.Name, Value: c.Value, URL: c.URL, Domain: c.Domain, Path: c.Path, Secure: c.Secure, HTTPOnly: c.HTTPOnly,
	}
	switch site := network.CookieSameSite(c.SameSite); site {
	case network.CookieSameSiteStrict, network.CookieSameSiteLax, network.CookieSameSiteNone:
		p.SameSite = site
	}
	if c.Expires > 0 {
		var at cdp.TimeSinceEpoch
		if err := at.UnmarshalJSON(fmt.Appendf(nil, "%f", c.Expires)); err == nil {
			p.Expires = &at
		}
	}
	return p, nil
}

// setItems sets the storage of a site.
func (t *tab) setItems(ctx context.Context, o origin) error {
	if o.Origin == "" {
		return nil
	}
	if err := t.do(ctx, domstorage.Enable()); err != nil {
		return err
	}
	defer func() { _ = t.do(ctx, domstorage.Disable()) }()
	for _, kind := range []struct {
		local bool
		items []item
	}{{true, o.Local}, {false, o.Session}} {
		at := &domstorage.StorageID{SecurityOrigin: o.Origin, IsLocalStorage: kind.local}
		for _, i := range kind.items {
			name := i.Key
			if name == "" {
				name = i.Name
			}
			if name == "" {
				continue
			}
			if err := t.do(ctx, domstorage.SetDOMStorageItem(at, name, i.Value)); err != nil {
				return fmt.Errorf("the storage of %s can only be set while a page of it is open in the current tab: %w", o.Origin, err)
			}
		}
	}
	return nil
}
