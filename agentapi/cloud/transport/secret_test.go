package transport_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/cloud/transport"
)

func TestASecretPrintsAsRedacted(t *testing.T) {
	t.Parallel()
	const key = "very-secret-value"
	s := transport.Secret(key)
	data, err := json.Marshal(struct{ Key transport.Secret }{s})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "key", s, "in", struct{ K transport.Secret }{s})
	for _, text := range []string{fmt.Sprint(s), fmt.Sprintf("%s %v %q %x %d %#v %+v", s, s, s, s, s, s, struct{ K transport.Secret }{s}), string(data), log.String()} {
		if strings.Contains(text, key) || strings.Contains(text, fmt.Sprintf("%x", key)) || !strings.Contains(text, "[redacted]") {
			t.Errorf("printed %s", text)
		}
	}
	if s.Reveal() != key {
		t.Error("Reveal() is not the key")
	}
}
