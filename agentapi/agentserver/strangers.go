package agentserver

import (
	"context"
	"encoding/json"
	"time"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/control"
)

var _ agentapi.Marked = (*Backend)(nil)

// maxStrangers is how many conversations are looked at, the ones used last.
const maxStrangers = 20

// Strangers reports whether gateways with another state have used the server since then,
// by the notes in its conversations: its address, or nothing.
func (b *Backend) Strangers(ctx context.Context, state string, since time.Time) ([]string, error) {
	page, err := b.Library().List(ctx, control.ListQuery{Limit: maxStrangers, Order: control.ByUpdatedDesc})
	if err != nil {
		return nil, err
	}
	for _, c := range page.Records {
		var noted struct {
			Tags tags `json:"tags"`
		}
		if err := json.Unmarshal(c.Meta, &noted); err != nil {
			return nil, b.fault(ctx, "list its conversations", err)
		}
		if other := noted.Tags[tagState]; other != "" && other != state && c.Updated.After(since) {
			return []string{b.address}, nil
		}
	}
	return nil, nil
}
