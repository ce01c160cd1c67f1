package conversations_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestAConversationNamesItsParts asks for them in each way: alone, by ids, and in a list.
func TestAConversationNamesItsParts(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	path, _ := a.begin()
	parent := strings.TrimPrefix(path, "/api/conversations/")
	want := make([]string, 0, 2)
	for range 2 {
		var part struct {
			ID       string
			Parent   string   `json:"parent_conversation_id"`
			Children []string `json:"sub_conversation_ids"`
		}
		a.want(http.StatusCreated, http.MethodPost, "/api/conversations", strings.TrimSuffix(minimal, "}")+`,"parent_conversation_id":"`+parent+`"}`, &part)
		if part.Parent != parent || part.Children == nil || len(part.Children) != 0 {
			t.Errorf("a part: %+v", part)
		}
		want = append(want, part.ID)
	}
	type info struct {
		ID       string
		Children []string `json:"sub_conversation_ids"`
	}
	var alone info
	a.want(http.StatusOK, http.MethodGet, path, "", &alone)
	var page struct{ Items []info }
	a.want(http.StatusOK, http.MethodGet, "/api/conversations/search?sort_order=CREATED_AT", "", &page)
	var batch []*info
	a.want(http.StatusOK, http.MethodGet, "/api/conversations?ids=7f1c0f7e-5a3b-4d51-9c43-0a7d5c2f8b11&ids="+want[0]+"&ids="+parent, "", &batch)
	if len(batch) != 3 || batch[0] != nil || batch[1] == nil || len(batch[1].Children) != 0 || batch[2] == nil {
		t.Fatalf("by ids: %+v", batch)
	}
	for how, got := range map[string]info{"alone": alone, "in a list": page.Items[0], "by ids": *batch[2]} {
		if got.ID != parent || !slices.Equal(got.Children, want) {
			t.Errorf("%s: conversation = %+v, want the children %v", how, got, want)
		}
	}
	a.want(http.StatusOK, http.MethodDelete, "/api/conversations/"+want[0], "", nil)
	a.want(http.StatusOK, http.MethodGet, path, "", &alone)
	if !slices.Equal(alone.Children, want[1:]) {
		t.Errorf("with one removed: %v, want %v", alone.Children, want[1:])
	}
}
