package account

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

// Get reads one conversation, by its id in any form.
func (c *Client) Get(ctx context.Context, id string) (Conversation, error) {
	server, err := c.known(ctx)
	if err != nil {
		return Conversation{}, err
	}
	hex := transport.Hex(id)
	if server.V1 && len(hex) == idLength {
		found, err := c.v1.Get(ctx, hex)
		if err != nil {
			return Conversation{}, c.forget(err)
		}
		for _, a := range found {
			if transport.Hex(a.ID) == hex {
				return fromV1(c.t.Root(), a), nil
			}
		}
	}
	if !server.V0 {
		return Conversation{}, missing(id)
	}
	found, err := c.v0.Get(ctx, hex)
	if err != nil && (server.V1 && absent(err) || errors.Is(err, ErrNotFound)) {
		return Conversation{}, missing(id)
	}
	if err != nil {
		return Conversation{}, c.forget(err)
	}
	return fromV0(c.t.Root(), found), nil
}

const idLength = 32

func missing(id string) error { return fmt.Errorf("conversation %.40s: %w", id, ErrNotFound) }

// maxCandidates is how many conversations an ambiguous prefix lists.
const maxCandidates = 10

// AmbiguousError is a prefix of several ids. It is ErrAmbiguous.
type AmbiguousError struct {
	Prefix     string
	Candidates []Conversation // the newest ones
}

// Error names the candidates.
func (e *AmbiguousError) Error() string {
	ids := make([]string, len(e.Candidates))
	for i, c := range e.Candidates {
		ids[i] = c.ID
	}
	return fmt.Sprintf("%v: %s…: %s", ErrAmbiguous, e.Prefix, strings.Join(ids, ", "))
}

// Is reports ErrAmbiguous.
func (e *AmbiguousError) Is(target error) bool { return target == ErrAmbiguous }

// Find looks up the conversation with this id, or the only one whose id begins so. A
// prefix of digits is a prefix.
func (c *Client) Find(ctx context.Context, prefix string) (Conversation, error) {
	plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(prefix), "-", ""))
	switch {
	case plain == "":
		return Conversation{}, fmt.Errorf("%w: the id is empty", ErrRefused)
	case len(plain) >= idLength, strings.Trim(plain, "0123456789abcdef") != "":
		return c.Get(ctx, prefix)
	}
	var found []Conversation
	for conv, err := range c.All(ctx, ListQuery{}) {
		if err != nil {
			return Conversation{}, err
		}
		if strings.HasPrefix(conv.ID, plain) {
			found = append(found, conv)
		}
		if len(found) == maxCandidates {
			break
		}
	}
	switch len(found) {
	case 0:
		return Conversation{}, missing(prefix)
	case 1:
		return found[0], nil
	}
	return Conversation{}, &AmbiguousError{Prefix: prefix, Candidates: found}
}
