// Package placementtest is the contract of placers as tests: those in files, in memory,
// and in a database pass it alike.
package placementtest

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/agentapi/pool/placement"
	"github.com/ohgw/ohgw/internal/uuid"
)

// Run checks placers that open makes. The two of a pair are over the same notes, which
// are empty; one that has nothing to share is given twice.
func Run(t *testing.T, open func(*testing.T) (a, b placement.Placer)) {
	t.Helper()
	for name, check := range map[string]func(t *testing.T, a, b placement.Placer){
		"APlacedConversationStays":         stays,
		"TogetherTheyAgree":                agree,
		"TheMostFreeServerIsTaken":         free,
		"AllFullTakesTheSmallestLoad":      full,
		"AServerWithoutRoomIsFull":         crowded,
		"ADrainedServerGetsNone":           drained,
		"ALostServerGetsNoneUntilItIsBack": lost,
		"ADrainOutlivesALoss":              outlives,
		"NoCandidateIsAnError":             none,
		"ANoteIsReplacedAndRemoved":        notes,
		"JoinKeepsWhatIsNoted":             joins,
		"UnknownIdsLeaveNothing":           unknown,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := open(t)
			must(t, a.Join(t.Context(), []placement.Server{
				{Name: "http://a0:8000", URL: "http://a0:8000", Slots: 4}, {Name: "http://a1:8000", URL: "http://a1:8000", Slots: 4},
			}))
			check(t, a, b)
		})
	}
}

const first, second = "http://a0:8000", "http://a1:8000"

func both(runsOfFirst, runsOfSecond int) []placement.Candidate {
	return []placement.Candidate{{Name: first, Runs: runsOfFirst}, {Name: second, Runs: runsOfSecond}}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// place places a conversation, which must work.
func place(t *testing.T, p placement.Placer, id string, among []placement.Candidate) string {
	t.Helper()
	at, err := p.Place(t.Context(), id, among)
	must(t, err)
	return at
}

// only checks that new conversations all go to one server.
func only(t *testing.T, p placement.Placer, server string) {
	t.Helper()
	for range 20 {
		if at := place(t, p, uuid.New(), both(0, 0)); at != server {
			t.Fatalf("a new conversation went to %s", at)
		}
	}
}

func find(t *testing.T, p placement.Placer, id, want string) {
	t.Helper()
	if at, err := p.Find(t.Context(), id); err != nil || at != want {
		t.Errorf("Find: %q, %v, want %q", at, err, want)
	}
}

func stays(t *testing.T, a, b placement.Placer) {
	id := uuid.New()
	at := place(t, a, id, both(0, 0))
	find(t, b, id, at)
	if again := place(t, b, id, both(100, 100)); again != at {
		t.Errorf("placed again at %s, not %s", again, at)
	}
	must(t, a.Drain(t.Context(), first, true))
	must(t, a.Drain(t.Context(), second, true))
	if again := place(t, b, id, both(0, 0)); again != at {
		t.Errorf("placed again at %s, not %s, while it drains", again, at)
	}
}

func agree(t *testing.T, a, b placement.Placer) {
	for range 10 {
		id := uuid.New()
		var wg sync.WaitGroup
		at := make([]string, 8)
		for i := range at {
			wg.Go(func() { at[i], _ = []placement.Placer{a, b}[i%2].Place(t.Context(), id, both(0, 0)) })
		}
		wg.Wait()
		for _, other := range at {
			if other == "" || other != at[0] {
				t.Fatalf("the conversation is at %q", at)
			}
		}
	}
}

func free(t *testing.T, a, _ placement.Placer) {
	for range 20 {
		if at := place(t, a, uuid.New(), both(4, 0)); at != second {
			t.Fatalf("a full server was given a conversation: %s", at)
		}
	}
}

func crowded(t *testing.T, a, _ placement.Placer) {
	among := both(2, 3)
	among[0].Room = 2
	for range 20 {
		if at := place(t, a, uuid.New(), among); at != second {
			t.Fatalf("a server without room was given a conversation: %s", at)
		}
	}
}

func full(t *testing.T, a, _ placement.Placer) {
	if at := place(t, a, uuid.New(), both(9, 8)); at != second {
		t.Errorf("with all full, %s was taken", at)
	}
	if at := place(t, a, uuid.New(), both(8, 9)); at != first {
		t.Errorf("with all full, %s was taken", at)
	}
}

func state(t *testing.T, p placement.Placer, server string, want agentapi.MemberState) {
	t.Helper()
	list, err := p.Servers(t.Context())
	must(t, err)
	for _, s := range list {
		if s.Name == server {
			if s.State != want {
				t.Errorf("%s is %s, want %s", server, s.State, want)
			}
			return
		}
	}
	t.Errorf("%s is not in the list", server)
}

func drained(t *testing.T, a, b placement.Placer) {
	must(t, a.Drain(t.Context(), first, true))
	state(t, b, first, agentapi.MemberDraining)
	only(t, b, second)
	must(t, b.Drain(t.Context(), first, false))
	state(t, a, first, agentapi.MemberUp)
	if at := place(t, a, uuid.New(), both(0, 4)); at != first {
		t.Errorf("a server that is up again is not taken: %s", at)
	}
	if err := a.Drain(t.Context(), "http://stranger:1", true); !errors.Is(err, placement.ErrUnknown) {
		t.Errorf("drain of an unknown server: %v", err)
	}
}

func lost(t *testing.T, a, b placement.Placer) {
	for i := range placement.MaxMisses {
		state(t, b, first, agentapi.MemberUp)
		must(t, []placement.Placer{a, b}[i%2].Seen(t.Context(), first, "connection refused"))
	}
	state(t, b, first, agentapi.MemberLost)
	only(t, b, second)
	must(t, a.Seen(t.Context(), first, ""))
	state(t, b, first, agentapi.MemberUp)
	must(t, a.Seen(t.Context(), first, "connection refused"))
	state(t, b, first, agentapi.MemberUp)
	list, err := b.Servers(t.Context())
	must(t, err)
	if list[0].Err != "connection refused" || list[0].Checked.IsZero() {
		t.Errorf("the server is %+v", list[0])
	}
}

func outlives(t *testing.T, a, _ placement.Placer) {
	must(t, a.Drain(t.Context(), first, true))
	for range placement.MaxMisses {
		must(t, a.Seen(t.Context(), first, "connection refused"))
	}
	must(t, a.Seen(t.Context(), first, ""))
	state(t, a, first, agentapi.MemberDraining)
	only(t, a, second)
}

func none(t *testing.T, a, _ placement.Placer) {
	id := uuid.New()
	for what, among := range map[string][]placement.Candidate{"no candidates": nil, "an unknown one": {{Name: "http://stranger:1"}}} {
		if at, err := a.Place(t.Context(), id, among); !errors.Is(err, placement.ErrNone) {
			t.Errorf("place with %s = %q, %v, want ErrNone", what, at, err)
		}
	}
	find(t, a, id, "")
}

func notes(t *testing.T, a, b placement.Placer) {
	id := uuid.New()
	must(t, a.Put(t.Context(), id, first))
	find(t, b, id, first)
	must(t, b.Put(t.Context(), id, second))
	find(t, a, id, second)
	must(t, a.Remove(t.Context(), id, first)) // which it is not at any more
	find(t, a, id, second)
	must(t, b.Remove(t.Context(), id, second))
	find(t, a, id, "")
	must(t, b.Remove(t.Context(), id, second))
}

func joins(t *testing.T, a, b placement.Placer) {
	must(t, a.Drain(t.Context(), first, true))
	must(t, b.Join(t.Context(), []placement.Server{{Name: first, URL: "http://10.0.0.7:8000", Slots: 2}, {Name: "http://a2:8000", URL: "http://a2:8000", Slots: 3}}))
	list, err := a.Servers(t.Context())
	must(t, err)
	want := []placement.Server{
		{Name: first, URL: "http://10.0.0.7:8000", State: agentapi.MemberDraining, Slots: 2},
		{Name: second, URL: second, State: agentapi.MemberUp, Slots: 4},
		{Name: "http://a2:8000", URL: "http://a2:8000", State: agentapi.MemberUp, Slots: 3},
	}
	if diff := cmp.Diff(want, list, cmpopts.IgnoreFields(placement.Server{}, "Checked")); diff != "" {
		t.Error(diff)
	}
}

func unknown(t *testing.T, a, _ placement.Placer) {
	for i := range 50 {
		find(t, a, uuid.New(), "")
		find(t, a, "../"+strconv.Itoa(i), "")
		find(t, a, "", "")
		must(t, a.Remove(t.Context(), uuid.New(), first))
	}
}
