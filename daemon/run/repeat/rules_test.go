package repeat

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
		h                History
		plain, asARepeat bool
	}{
		{"runs, client connected", History{}, false, true},
		{"runs, client gone", History{Owed: 1}, true, true},
		{"runs, client gone, another came back for it", History{}, false, true},
		{"ended, is being delivered", History{Ended: true, EndedAt: ago(time.Minute)}, false, true},
		{"ended, is being delivered to one of two clients that went", History{Ended: true, Owed: 1, EndedAt: now}, true, true},
		{"ended, delivered to one of two clients that went", History{Ended: true, Owed: 1, Deliveries: 1, EndedAt: now, LastDeliver: now}, true, true},
		{"ended, never delivered, 29 s ago", History{Ended: true, Owed: 1, EndedAt: ago(29 * time.Second)}, true, true},
		{"ended, never delivered, 31 s ago", History{Ended: true, Owed: 1, EndedAt: ago(31 * time.Second)}, false, true},
		{"ended, never delivered, 11 min ago", History{Ended: true, Owed: 1, EndedAt: ago(11 * time.Minute)}, false, false},
		{"delivered just now", History{Ended: true, Deliveries: 1, LastDeliver: ago(time.Second)}, false, true},
		{"delivered 31 s ago", History{Ended: true, Deliveries: 1, LastDeliver: ago(31 * time.Second)}, false, false},
		{"is being stopped", History{Stopped: true}, false, false},
		{"is being stopped for nobody", History{Stopped: true, Owed: 1}, false, false},
		{"was stopped", History{Ended: true, Stopped: true, Owed: 1, EndedAt: now}, false, false},
		{
			"failure delivered 9 s ago",
			History{Ended: true, Failed: true, Deliveries: 1, FirstDeliver: ago(9 * time.Second), LastDeliver: ago(9 * time.Second)},
			true, true,
		},
		{
			"failure delivered 11 s ago",
			History{Ended: true, Failed: true, Deliveries: 1, FirstDeliver: ago(11 * time.Second), LastDeliver: ago(11 * time.Second)},
			false, false,
		},
		{
			"failure delivered for the second time 19 s ago",
			History{Ended: true, Failed: true, Deliveries: 2, FirstDeliver: ago(20 * time.Second), LastDeliver: ago(19 * time.Second)},
			true, true,
		},
		{
			"failure delivered often, 79 s ago",
			History{Ended: true, Failed: true, Deliveries: 9, FirstDeliver: ago(4 * time.Minute), LastDeliver: ago(79 * time.Second)},
			true, true,
		},
		{
			"failure delivered often, 81 s ago",
			History{Ended: true, Failed: true, Deliveries: 9, FirstDeliver: ago(4 * time.Minute), LastDeliver: ago(81 * time.Second)},
			false, false,
		},
		{
			"failure repeated for 5 minutes",
			History{Ended: true, Failed: true, Deliveries: 99, FirstDeliver: ago(5 * time.Minute), LastDeliver: ago(time.Second)},
			false, false,
		},
		{
			"failure under another profile",
			History{Ended: true, Failed: true, Deliveries: 1, Revision: "old", FirstDeliver: now, LastDeliver: now},
			false, false,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := joins([]History{tt.h}, Question{}, now) == 0; got != tt.plain {
				t.Errorf("a plain request joins: %v, want %v", got, tt.plain)
			}
			if got := joins([]History{tt.h}, Question{Retry: true}, now) == 0; got != tt.asARepeat {
				t.Errorf("a marked repeat joins: %v, want %v", got, tt.asARepeat)
			}
			if k := tt.h.Keep(now); tt.h.Ended && (tt.plain || tt.asARepeat) && k <= 0 {
				t.Errorf("it is forgotten (%s) while it still answers", k)
			}
		})
	}
}

func TestWhichOfSeveralJobsIsJoined(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failed := History{Ended: true, Failed: true, Deliveries: 1, FirstDeliver: now, LastDeliver: now}
	repaired := failed
	repaired.Revision = "2"
	tests := []struct {
		name string
		jobs []History
		q    Question
		want int
	}{
		{"none", nil, Question{Retry: true}, -1},
		{"the newest whose client went", []History{{Owed: 1}, {Owed: 1}, {}}, Question{}, 1},
		{"the one whose client went, before a newer one that is meant less", []History{{Owed: 1}, {}}, Question{Retry: true}, 0},
		{"the newest by a mark", []History{{}, {}}, Question{Retry: true}, 1},
		{"none by the mark of a request that was refused", []History{{}, {}}, Question{Retry: true, Refused: true}, -1},
		{"an answer that is owed, also then", []History{{Owed: 1}, {}}, Question{Retry: true, Refused: true}, 0},
		{"a failure, also then", []History{failed, {}}, Question{Retry: true, Refused: true}, 0},
		{"no failure under another revision", []History{repaired}, Question{Retry: true}, -1},
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
