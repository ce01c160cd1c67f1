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
		{"runs, client connected", history{}, false, true},
		{"runs, client gone", history{owed: 1}, true, true},
		{"runs, client gone, another came back for it", history{}, false, true},
		{"ended, is being delivered", history{ended: true, endedAt: ago(time.Minute)}, false, true},
		{"ended, is being delivered to one of two clients that went", history{ended: true, owed: 1, endedAt: now}, true, true},
		{"ended, delivered to one of two clients that went", history{ended: true, owed: 1, deliveries: 1, endedAt: now, lastDeliver: now}, true, true},
		{"ended, never delivered, 29 s ago", history{ended: true, owed: 1, endedAt: ago(29 * time.Second)}, true, true},
		{"ended, never delivered, 31 s ago", history{ended: true, owed: 1, endedAt: ago(31 * time.Second)}, false, true},
		{"ended, never delivered, 11 min ago", history{ended: true, owed: 1, endedAt: ago(11 * time.Minute)}, false, false},
		{"delivered just now", history{ended: true, deliveries: 1, lastDeliver: ago(time.Second)}, false, true},
		{"delivered 31 s ago", history{ended: true, deliveries: 1, lastDeliver: ago(31 * time.Second)}, false, false},
		{"is being stopped", history{stopped: true}, false, false},
		{"is being stopped for nobody", history{stopped: true, owed: 1}, false, false},
		{"was stopped", history{ended: true, stopped: true, owed: 1, endedAt: now}, false, false},
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
			if got := joins([]history{tt.h}, question{}, now) == 0; got != tt.plain {
				t.Errorf("a plain request joins: %v, want %v", got, tt.plain)
			}
			if got := joins([]history{tt.h}, question{retry: true}, now) == 0; got != tt.asARepeat {
				t.Errorf("a marked repeat joins: %v, want %v", got, tt.asARepeat)
			}
			if k := tt.h.keep(now); tt.h.ended && (tt.plain || tt.asARepeat) && k <= 0 {
				t.Errorf("it is forgotten (%s) while it still answers", k)
			}
		})
	}
}

func TestWhichOfSeveralJobsIsJoined(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failed := history{ended: true, failed: true, deliveries: 1, firstDeliver: now, lastDeliver: now}
	tests := []struct {
		name string
		jobs []history
		q    question
		want int
	}{
		{"none", nil, question{retry: true}, -1},
		{"the newest whose client went", []history{{owed: 1}, {owed: 1}, {}}, question{}, 1},
		{"the one whose client went, before a newer one that is meant less", []history{{owed: 1}, {}}, question{retry: true}, 0},
		{"the newest by a mark", []history{{}, {}}, question{retry: true}, 1},
		{"none by the mark of a request that was refused", []history{{}, {}}, question{retry: true, refused: true}, -1},
		{"an answer that is owed, also then", []history{{owed: 1}, {}}, question{retry: true, refused: true}, 0},
		{"a failure, also then", []history{failed, {}}, question{retry: true, refused: true}, 0},
		{"no failure under another revision", []history{failed}, question{retry: true, revision: "2"}, -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := joins(tt.jobs, tt.q, now); got != tt.want {
				t.Errorf("joins = %d, want %d", got, tt.want)
			}
		})
	}
}
