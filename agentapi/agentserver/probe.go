package agentserver

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ohgw/ohgw/internal/netcause"
)

// Info is what an agent-server says about itself to anybody.
type Info struct {
	Version string
	Clock   time.Time // its clock when it answered; zero if it does not say
}

// Probe asks the agent-server at address for its version, without a key. ctx
// limits the time; get sends the request and should follow no redirect.
func Probe(ctx context.Context, get *http.Client, address string) (Info, error) {
	base, err := url.Parse(strings.TrimRight(address, "/"))
	if err != nil {
		return Info{}, fmt.Errorf("parse agent-server address: %w", netcause.Of(err))
	}
	c := &client{base: base, key: func() string { return "" }, shared: get, fresh: get}
	info, clock, err := c.serverInfo(ctx)
	if err == nil && info.Version == "" {
		err = fmt.Errorf("GET %s: %w: no version", infoPath, errGarbled)
	}
	return Info{Version: info.Version, Clock: clock}, err
}

// infoPath is what a server answers without a key.
const infoPath = "/server_info"

// serverInfo asks the server about itself. clock is zero if the answer has no
// date.
func (c *client) serverInfo(ctx context.Context) (info serverInfo, clock time.Time, err error) {
	var header http.Header
	if _, err := c.do(ctx, request{method: http.MethodGet, path: infoPath, out: &info, header: &header}); err != nil {
		return serverInfo{}, time.Time{}, err
	}
	if at, err := http.ParseTime(header.Get("Date")); err == nil {
		clock = at
	}
	return info, clock, nil
}
