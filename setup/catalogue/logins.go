package catalogue

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/ohgw/ohgw/agentapi/engine/tool/mcp/oauth"
	"github.com/ohgw/ohgw/internal/openhands/files"
)

// Logins are the logins to MCP servers in OpenHands' settings, for the agents.
func Logins(kept *files.Logins) oauth.Store { return storedLogins{kept} }

// storedLogins are the logins to MCP servers in OpenHands' settings.
type storedLogins struct{ kept *files.Logins }

// Load implements [oauth.Store].
func (l storedLogins) Load(_ context.Context, url string) (oauth.State, bool, error) {
	data, known, err := l.kept.Get(url)
	if err != nil || !known || data == nil {
		return oauth.State{}, known, err
	}
	var state oauth.State
	if err := json.Unmarshal(data, &state); err != nil {
		return oauth.State{}, false, fmt.Errorf("read the login: %w", err)
	}
	return state, true, nil
}

// Save implements [oauth.Store].
func (l storedLogins) Save(ctx context.Context, url string, s oauth.State) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the login: %w", err)
	}
	return l.kept.Save(ctx, url, data)
}
