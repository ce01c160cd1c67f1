package account_test

import (
	"testing"

	"github.com/ohgw/ohgw/agentapi/cloud/account"
)

func TestAHybridServerListsEachVersionByItsOwnRoute(t *testing.T) {
	t.Parallel()
	server := newReplay(t, map[string][]recording{
		"GET /api/v1/web-client/config":        {{file: "live_v1_web_client_config.json"}},
		"GET /api/v1/app-conversations/count":  {{file: "live_v1_count_zero.json"}},
		"GET /api/options/models":              {{file: "v0_options_models.json"}},
		"GET /api/conversations":               {{file: "v0_conversations_page1.json"}, {file: "v0_conversations_page1.json"}, {file: "v0_conversations_last_page.json"}},
		"GET /api/v1/app-conversations/search": {{file: "v1_app_conversations_search.json"}, {body: `{"items":[null],"next_page_id":null}`}},
	})
	c := newClient(t, server.URL+"/api/")
	var got []string
	for conv, err := range c.All(t.Context(), account.ListQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, conv.ID[:4]+" "+string(conv.Version)+" "+string(conv.State))
	}
	want := []string{"4e5f V1 running", "2c3d V1 asleep", "1b2c V1 archived", "0a1b V0 running", "1b2c V0 asleep"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("conversation %d is %q, want %q", i, got[i], want[i])
		}
	}
}
