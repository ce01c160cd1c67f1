package backendtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/agentapi"
	"github.com/ohgw/ohgw/internal/uuid"
)

func profiles() []behaviour {
	return []behaviour{
		{name: "StatusTellsWhatItIs", check: func(t *testing.T, s *Setup) {
			st := s.Backend.Status(within(t, patience))
			if st.Err != nil || st.Name == "" || st.Version == "" {
				t.Errorf("Status() = %+v", st)
			}
		}},
		{name: "ProfilesAreListedByName", check: checkProfiles},
		{name: "UnknownProfileIsNamed", check: func(t *testing.T, s *Setup) {
			id := uuid.New()
			_, err := s.Backend.Open(within(t, patience), agentapi.OpenRequest{
				ID: id, New: true, Profile: "no-such-profile", Workspace: s.Workspace,
			})
			wantKind(t, err, agentapi.ErrProfileNotFound)
			if msg := agentapi.PublicMessage(err, ""); !strings.Contains(msg, "no-such-profile") {
				t.Errorf("the message does not name the profile: %s", msg)
			}
			wantKind(t, s.Backend.Remove(within(t, patience), id), agentapi.ErrConversationNotFound)
		}},
	}
}

func checkProfiles(t *testing.T, s *Setup) {
	ctx := within(t, patience)
	list, err := s.Backend.Profiles(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.IsSortedFunc(list, func(a, b agentapi.Profile) int { return strings.Compare(a.Name, b.Name) }) {
		t.Errorf("the profiles are not in the order of their names: %+v", list)
	}
	again, err := s.Backend.Profiles(ctx)
	if err != nil {
		t.Fatal(err)
	}
	models := map[string]string{s.Profile: "test"}
	if s.Other != "" {
		models[s.Other] = "other"
	}
	for name, model := range models {
		named := func(p agentapi.Profile) bool { return p.Name == name }
		at := slices.IndexFunc(list, named)
		if at < 0 {
			t.Errorf("no profile %q", name)
			continue
		}
		p := list[at]
		if !strings.HasSuffix(p.Model, model) || p.Revision == "" {
			t.Errorf("profile %+v", p)
		}
		if at = slices.IndexFunc(again, named); at >= 0 {
			if diff := cmp.Diff(p, again[at]); diff != "" {
				t.Errorf("the profile changed by being looked at:\n%s", diff)
			}
		}
	}
}
