package conversations_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi/conversations"
)

// TestWhatClientsHaveStartedEnds removes a conversation, and closes all of them. What
// belongs to a conversation ends while the conversation is there.
func TestWhatClientsHaveStartedEnds(t *testing.T) {
	t.Parallel()
	var a *api
	var ended []string
	a = newAPI(t, func(c *conversations.Config) {
		c.Ended = func(id string) {
			if _, err := a.engine.Log(id); err != nil && id != "" {
				t.Errorf("%s is removed already", id)
			}
			ended = append(ended, id)
		}
	})
	path, _ := a.begin()
	a.want(http.StatusNoContent, http.MethodPost, "/api/conversations/prepare-for-sandbox-pause", "", nil)
	a.want(http.StatusOK, http.MethodDelete, path, "", nil)
	if want := []string{"", path[strings.LastIndex(path, "/")+1:]}; !slices.Equal(ended, want) {
		t.Errorf("ended: %q, want %q", ended, want)
	}
}
