package tokens

import (
	"testing"
	"time"

	"github.com/ohgw/ohgw/internal/fault"
)

func TestExpiry(t *testing.T) {
	t.Parallel()
	east := time.FixedZone("east", 2*60*60)
	now := time.Date(2026, 11, 21, 15, 0, 0, 0, east)
	tests := []struct {
		text string
		want time.Time
	}{
		{"", time.Time{}},
		{"12h", now.Add(12 * time.Hour)},
		{"30d", time.Date(2026, 12, 21, 15, 0, 0, 0, east)},
		{"2026-11-21", time.Date(2026, 11, 22, 0, 0, 0, 0, east)}, // the whole day, here
		{"2026-11-21T14:00:00Z", time.Date(2026, 11, 21, 16, 0, 0, 0, east)},
	}
	for _, tt := range tests {
		if got, err := expiry(tt.text, now); err != nil || !got.Equal(tt.want) {
			t.Errorf("expiry(%q) = %v, %v; want %v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{"d", "-1d", "1.5d", "soon", "30", "2026-13-01", "2026-11-20", "0", "-1h", "99999999d"} {
		if got, err := expiry(text, now); fault.CodeOf(err) != fault.Usage {
			t.Errorf("expiry(%q) = %v, %v; want a usage error", text, got, err)
		}
	}
}
