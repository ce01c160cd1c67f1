package serving

import (
	"errors"
	"testing"
	"time"

	"github.com/ohgw/ohgw/daemon/gate"
	"github.com/ohgw/ohgw/internal/token"
)

// The keys of OHGW_API_KEYS take the place of the stored tokens, and revoke none of them.
func TestKeysOfTheEnvironmentRevokeNoToken(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	made, err := token.NewStore(token.Config{Dir: dir, Now: time.Now}).Create(t.Context(), token.Spec{Name: "guest"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		keys []string
		id   string
		want error
	}{
		"a stored token":     {nil, made.ID, nil},
		"a revoked token":    {nil, "0123456789abcdef", gate.ErrUnknownKey},
		"replaced by a key":  {[]string{"key-0123456789"}, made.ID, errReplaced},
		"another id, a key":  {[]string{"key-0123456789"}, "0123456789abcdef", errReplaced},
		"no id, a stored id": {nil, "", gate.ErrUnknownKey},
	} {
		client, err := checker{token.NewStore(token.Config{Dir: dir, Now: time.Now, Keys: tt.keys})}.ByID(tt.id)
		if !errors.Is(err, tt.want) || err == nil && client.Name != "guest" {
			t.Errorf("%s: the client is %+v, %v; want the error %v", name, client, err, tt.want)
		}
	}
}
