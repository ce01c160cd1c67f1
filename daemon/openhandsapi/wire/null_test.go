package wire_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands/pydantic"
)

// TestABodyThatIsNull reads null where an object, a list or JSON is wanted.
func TestABodyThatIsNull(t *testing.T) {
	t.Parallel()
	var object struct{ Name string }
	var members map[string]any
	var list []string
	var raw json.RawMessage
	for _, tt := range []struct {
		into     any
		optional bool
		want     string // the type of the fault
	}{
		{&object, false, "model_attributes_type"},
		{&members, false, "model_attributes_type"},
		{&list, false, "list_type"},
		{&raw, false, ""},
		{&object, true, ""},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", strings.NewReader(" null\n"))
		err := wire.ReadBody(r, tt.into, tt.optional)
		refused, _ := errors.AsType[*pydantic.Error](err)
		if tt.want == "" && err != nil || tt.want != "" && (refused == nil || refused.Faults[0].Type != tt.want) {
			t.Errorf("%T: %v, want %q", tt.into, err, tt.want)
		}
	}
}
