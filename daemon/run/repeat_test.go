package run

import (
	"testing"
	"time"
)

func TestJoins(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	tests := []struct {
		name             string
		h                history
		plain, asARepeat bool
	}{
		{"runs, client connected", history{connected: true}, false, true},
		{"runs, client gone", history{}, true, true},
		{"ended, never delivered, 29 s ago", history{ended: true, endedAt: ago(29 * time.Second)}, true, true},
		{"ended, never delivered, 31 s ago", history{ended: true, endedAt: ago(31 * time.Second)}, false, true},
		{"ended, never delivered, 11 min ago", history{ended: true, endedAt: ago(11 * time.Minute)}, false, false},
		{"delivered just now", history{ended: true, deliveries: 1, lastDeliver: ago(time.Second)}, false, true},
		{"delivered 31 s ago", history{ended: true, deliveries: 1, lastDeliver: ago(31 * time.Second)}, false, false},
		{"we stopped it", history{ended: true, abandoned: true, endedAt: now}, false, false},
		{
			"failure delivered 9 s ago",
			history{ended: true, failed: true, deliveries: 1, firstDeliver: ago(9 * time.Second), lastDeliver: ago(9 * time.Second)},
			true, true,
		},
		{
			"failure delivered 11 s ago",
			history{ended: true, failed: true, deliveries: 1, firstDeliver: ago(11 * time.Second), lastDeliver: ago(11 * time.Second)},
			false, false,
		},
		{
			"failure delivered for the second time 19 s ago",
			history{ended: true, failed: true, deliveries: 2, firstDeliver: ago(20 * time.Second), lastDeliver: ago(19 * time.Second)},
			true, true,
		},
		{
			"failure delivered often, 79 s ago",
			history{ended: true, failed: true, deliveries: 9, firstDeliver: ago(4 * time.Minute), lastDeliver: ago(79 * time.Second)},
			true, true,
		},
		{
			"failure delivered often, 81 s ago",
			history{ended: true, failed: true, deliveries: 9, firstDeliver: ago(4 * time.Minute), lastDeliver: ago(81 * time.Second)},
			false, false,
		},
		{
			"failure repeated for 5 minutes",
			history{ended: true, failed: true, deliveries: 99, firstDeliver: ago(5 * time.Minute), lastDeliver: ago(time.Second)},
			false, false,
		},
		{
			"failure under another profile",
			history{ended: true, failed: true, deliveries: 1, revision: "old", firstDeliver: now, lastDeliver: now},
			false, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := tt.h.joins(false, "", now); got != tt.plain {
				t.Errorf("a plain request joins: %v, want %v", got, tt.plain)
			}
			if got := tt.h.joins(true, "", now); got != tt.asARepeat {
				t.Errorf("a marked repeat joins: %v, want %v", got, tt.asARepeat)
			}
			if k := tt.h.keep(now); tt.h.ended && (tt.plain || tt.asARepeat) && k <= 0 {
				t.Errorf("it is forgotten (%s) while it still answers", k)
			}
		})
	}
}
