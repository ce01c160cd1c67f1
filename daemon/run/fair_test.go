package run_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/ohgw/ohgw/daemon/run"
)

func (w *world) of(token, text string) *run.Attachment {
	w.t.Helper()
	req := ask(text)
	req.Token = token
	return w.submit(req)
}

// However much one token asks for, the next job of another one waits for one
// run to end.
func TestSlotsGoToTheTokenWithTheFewestRuns(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 2, MaxQueue: 64}, func(w *world) {
		var greedy []*run.Attachment
		for i := range 20 {
			greedy = append(greedy, w.of("greedy", fmt.Sprint("wait ", i)))
		}
		others := []*run.Attachment{w.of("a", "wait a"), w.of("b", "wait b"), w.of("a", "wait a2")}
		synctest.Wait()
		places := []int{greedy[0].Queue(), greedy[2].Queue(), greedy[3].Queue(), others[0].Queue(), others[1].Queue(), others[2].Queue()}
		if want := []int{0, 4, 5, 1, 2, 3}; !slices.Equal(places, want) {
			t.Errorf("places %v, want %v", places, want)
		}
		end := func(a *run.Attachment) {
			w.b.conv(a.ConversationID()).letGo()
			w.mustRead(a)
			a.Close()
			synctest.Wait()
		}
		end(greedy[0])
		if n := others[0].Queue(); n != 0 {
			t.Errorf("the first job of a has place %d after one run has ended", n)
		}
		end(greedy[1])
		if n := others[1].Queue(); n != 0 {
			t.Errorf("the first job of b has place %d after two runs have ended", n)
		}
		end(others[0])
		end(others[1])
		all := append(greedy[2:], others[2])
		for range all {
			synctest.Wait()
			i := slices.IndexFunc(all, func(a *run.Attachment) bool { return a.Queue() == 0 })
			end(all[i])
			all = slices.Delete(all, i, i+1)
		}
		w.wantRuns(23)
		if s := w.m.Stats(); s.Running != 0 || s.Queued != 0 {
			t.Errorf("the statistics = %+v, want no run", s)
		}
	})
}

// A backend with room for fewer runs than MaxRuns keeps the rest in the queue, also
// where it learns that late, and where there is more room again.
func TestJobsWaitForRoomOfTheBackend(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 8, MaxQueue: 64}, func(w *world) {
		var all []*run.Attachment
		submit := func(n int) {
			for range n {
				all = append(all, w.of("one", fmt.Sprint("wait ", len(all))))
			}
			synctest.Wait()
		}
		end := func(i int) {
			w.b.conv(all[i].ConversationID()).letGo()
			w.mustRead(all[i])
			all[i].Close()
			synctest.Wait()
		}
		want := func(running, queued int) {
			w.t.Helper()
			if s := w.m.Stats(); s.Running != running || s.Queued != queued {
				w.t.Errorf("the statistics = %+v, want %d running and %d queued", s, running, queued)
			}
		}
		submit(5)
		w.b.setRoom(3)
		submit(2)
		want(5, 2)
		if n := all[5].Queue(); n != 1 {
			w.t.Errorf("the first that waits has place %d", n)
		}
		end(0)
		end(1)
		want(3, 2) // those that ran stay, and none takes their places
		end(2)
		want(3, 1)
		w.b.setRoom(20)
		submit(6)
		want(8, 2)
		for i := 3; i < len(all); i++ {
			end(i)
		}
		want(0, 0)
	})
}

// A token that has filled all places keeps no other one out.
func TestPlacesAreSharedBetweenTokens(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 2, MaxQueue: 10}, func(w *world) {
		in := map[string]int{}
		for range 30 {
			for _, token := range []string{"greedy", "greedy", "greedy", "greedy", "greedy", "greedy", "a", "b"} {
				req := ask("wait")
				req.Token, req.Fingerprint = token, run.Fingerprint{byte(len(in)), byte(in[token])}
				a, err := w.m.Submit(t.Context(), req)
				if err != nil {
					if !errors.Is(err, run.ErrQueueFull) {
						t.Fatal(err)
					}
					continue
				}
				in[token]++
				defer a.Close()
			}
		}
		if in["greedy"] < 6 || in["a"] != 4 || in["b"] != 4 {
			t.Errorf("12 places went to %v; each of the others has a share of 4", in)
		}
	})
}

func TestWithoutAQueueThereAreNoMorePlacesForAnybody(t *testing.T) {
	t.Parallel()
	inBubble(t, run.Config{MaxRuns: 1, MaxQueue: -1}, func(w *world) {
		a := w.of("a", "wait")
		defer a.Close()
		req := ask("hi")
		req.Token = "b"
		if _, err := w.m.Submit(t.Context(), req); !errors.Is(err, run.ErrQueueFull) {
			t.Errorf("the error of another run: %v, want ErrQueueFull", err)
		}
	})
}
