package setup

import (
	"net/http"
	"net/url"

	"github.com/ohgw/ohgw/internal/loopback"
)

// OnThisMachine reports whether a URL leads nowhere else.
func OnThisMachine(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	return loopback.Host(u.Hostname())
}

// NoRedirect hands a redirect out as the answer that it is. A gateway and an
// agent-server send none, and a key must not follow one.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
