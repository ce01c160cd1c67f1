//go:build unix

package catalogue

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ohgw/ohgw/agentapi/engine"
	"github.com/ohgw/ohgw/daemon/openhandsapi/catalogue"
	"github.com/ohgw/ohgw/internal/openhands/files"
	"github.com/ohgw/ohgw/internal/profile"
	"github.com/ohgw/ohgw/internal/sandbox"
	"github.com/ohgw/ohgw/setup"
)

// TestTheLogHasWhatATriedServerPrinted has an MCP server that prints why it ends. Its words
// are in the log, as the answer says, and not in the answer.
func TestTheLogHasWhatATriedServerPrinted(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	ciphers := profile.FindCiphers(profile.CipherSources{LookupEnv: func(string) (string, bool) { return "", false }})
	tried := NewTrial(
		&setup.Env{Now: time.Now, Getenv: os.Getenv, Environ: os.Environ},
		files.New(files.Config{Profiles: profile.Open(profile.Config{Base: t.TempDir(), Ciphers: ciphers}), Ciphers: ciphers, Now: time.Now}),
		func(context.Context, engine.BoxEnv) (sandbox.Box, error) {
			return sandbox.Outside(sandbox.External, sandbox.Mark{}), nil
		},
		slog.New(slog.NewTextHandler(&log, nil)),
	)
	server := json.RawMessage(`{"command":"sh","args":["-c","echo the port is taken >&2; exit 1"]}`)
	_, err := tried.run(t.Context(), catalogue.Trial{Name: "broken", Server: server}, nil)
	if err == nil || strings.Contains(err.Error(), "taken") || !strings.Contains(err.Error(), "the log of ohgw serve has what it printed") {
		t.Errorf("the answer is %v", err)
	}
	if !strings.Contains(log.String(), "the port is taken") || !strings.Contains(log.String(), "broken") {
		t.Errorf("the log has %q", log.String())
	}
}
