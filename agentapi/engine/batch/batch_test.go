package batch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi/engine/batch"
	"github.com/ohgw/ohgw/agentapi/engine/tool"
	"github.com/ohgw/ohgw/agentapi/event"
)

// clock is a tool whose calls take a second each; it records when they begin.
type clock struct {
	needs []string
	start time.Time
	now   *atomic.Int32
	most  *atomic.Int32
}

func (c clock) Definition() tool.Definition    { return tool.Definition{Name: "clock"} }
func (c clock) Locks(json.RawMessage) []string { return c.needs }
func (c clock) Close() error                   { return nil }

func (c clock) Run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if n := c.now.Add(1); n > c.most.Load() {
		c.most.Store(n)
	}
	defer c.now.Add(-1)
	began := time.Since(c.start)
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return tool.Result{}, ctx.Err()
	}
	return tool.Result{Content: []event.Content{event.Text(fmt.Sprintf("%s at %v", call.ID, began))}}, nil
}

// run runs calls with these needs and gives when each began.
func run(ctx context.Context, limit int, needs ...[]string) (began []string, most int32, results []batch.Result) {
	c := clock{start: time.Now(), now: new(atomic.Int32), most: new(atomic.Int32)}
	calls := make([]batch.Call, len(needs))
	for i, n := range needs {
		one := c
		one.needs = n
		calls[i] = batch.Call{Tool: one, Call: tool.Call{ID: strconv.Itoa(i)}}
	}
	results = batch.Run(ctx, calls, limit)
	for _, r := range results {
		if len(r.Result.Content) > 0 {
			began = append(began, r.Result.Content[0].Text)
		}
	}
	return began, c.most.Load(), results
}

func TestCallsRunWhenWhatTheyNeedIsFree(t *testing.T) {
	t.Parallel()
	free, a, b, ab := []string{}, []string{"a"}, []string{"b"}, []string{"a", "b"}
	for name, tt := range map[string]struct {
		limit int
		needs [][]string
		want  []string
		most  int32
	}{
		"one at a time":           {1, [][]string{free, free}, []string{"0 at 0s", "1 at 1s"}, 1},
		"free ones together":      {3, [][]string{free, free, free}, []string{"0 at 0s", "1 at 0s", "2 at 0s"}, 3},
		"no more than allowed":    {2, [][]string{free, free, free}, []string{"0 at 0s", "1 at 0s", "2 at 1s"}, 2},
		"same need in order":      {3, [][]string{a, a, b}, []string{"0 at 0s", "1 at 1s", "2 at 0s"}, 2},
		"two needs wait for both": {3, [][]string{a, b, ab, a}, []string{"0 at 0s", "1 at 0s", "2 at 1s", "3 at 2s"}, 2},
		"a tool without word":     {3, [][]string{nil, nil}, []string{"0 at 0s", "1 at 1s"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				got, most, _ := run(t.Context(), tt.limit, tt.needs...)
				if diff := cmp.Diff(tt.want, got); diff != "" || most > tt.most {
					t.Errorf("at most %d at once, want %d; began (-want +got):\n%s", most, tt.most, diff)
				}
			})
		})
	}
}

func TestInterruptedCallsHaveNoResult(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 2} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
			defer cancel()
			_, _, results := run(ctx, limit, []string{"a"}, []string{"a"}, []string{"a"})
			var got []bool
			for _, r := range results {
				got = append(got, r.Interrupted)
			}
			if diff := cmp.Diff([]bool{false, true, true}, got); diff != "" {
				t.Errorf("limit %d, interrupted (-want +got):\n%s", limit, diff)
			}
		})
	}
}

func TestCallThatCannotBeMadeKeepsItsPlace(t *testing.T) {
	t.Parallel()
	bad := errors.New("no such tool")
	for _, limit := range []int{1, 4} {
		results := batch.Run(t.Context(), []batch.Call{{Err: bad}, {Err: bad}}, limit)
		for _, r := range results {
			if !errors.Is(r.Err, bad) {
				t.Errorf("result %+v", r)
			}
		}
	}
}
