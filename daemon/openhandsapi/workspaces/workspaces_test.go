package workspaces_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/workspaces"
)

func TestTheListOfWorkspaces(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "openhands")
	api := openhandsapi.New(openhandsapi.Config{Routes: workspaces.Routes(workspaces.Config{Dir: dir})})
	do := func(method, path, body string) string {
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
		return http.StatusText(w.Code) + " " + w.Body.String()
	}
	const a, b = `{"id":"/a","name":"a","path":"/a"}`, `{"id":"/b","name":"b","path":"/b","parentPath":"/"}`
	for _, tt := range []struct{ method, path, body, want string }{
		{"GET", "", "", `OK {"workspaceParents":[],"workspaces":[]}`},
		{"POST", "", `{"workspaces":[` + a + `,` + a + `]}`, `OK {"workspaceParents":[],"workspaces":[` + a + `]}`},
		{"POST", "", `{"workspaces":[` + b + `]}`, `OK {"workspaceParents":[],"workspaces":[` + a + `,` + b + `]}`},
		{"POST", "/parents", `{"parents":[` + b + `]}`, `OK {"workspaceParents":[{"id":"/b","name":"b","path":"/b"}],"workspaces":[` + a + `,` + b + `]}`},
		{"DELETE", "?path=/a", "", `OK {"deleted":true}`},
		{"DELETE", "?path=/a", "", `Not Found {"detail":"Workspace not found"}`},
		{"DELETE", "/parents?path=/c", "", `Not Found {"detail":"Workspace parent not found"}`},
		{"DELETE", "", "", `Unprocessable Entity {"detail":[{"type":"missing","loc":["query","path"],"msg":"Field required","input":null}]}`},
		{"POST", "", `{}`, `Unprocessable Entity {"detail":[{"type":"missing","loc":["body","workspaces"],"msg":"Field required","input":{}}]}`},
		{"POST", "", `{"workspaces":[{"id":"","name":1}]}`, `Unprocessable Entity {"detail":[` +
			`{"type":"string_too_short","loc":["body","workspaces",0,"id"],"msg":"String should have at least 1 character","input":"","ctx":{"min_length":1}},` +
			`{"type":"string_type","loc":["body","workspaces",0,"name"],"msg":"Input should be a valid string","input":1},` +
			`{"type":"missing","loc":["body","workspaces",0,"path"],"msg":"Field required","input":{"id":"","name":1}}]}`},
		{"GET", "", "", `OK {"workspaceParents":[{"id":"/b","name":"b","path":"/b"}],"workspaces":[` + b + `]}`},
	} {
		if got := do(tt.method, "/api/workspaces"+tt.path, tt.body); got != tt.want {
			t.Errorf("%s %s: answer = %s\nwant %s", tt.method, tt.path, got, tt.want)
		}
	}
	for _, broken := range []string{"{", `{"schema_version":2}`} {
		if err := os.WriteFile(filepath.Join(dir, "workspaces.json"), []byte(broken), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, method := range []string{"GET", "POST"} {
			if got := do(method, "/api/workspaces", `{"workspaces":[]}`); got != `Conflict {"detail":"Workspaces file is corrupted"}` {
				t.Errorf("%s with %s: %s", method, broken, got)
			}
		}
		if data, err := os.ReadFile(filepath.Join(dir, "workspaces.json")); err != nil || string(data) != broken {
			t.Errorf("it was written over: %s, %v", data, err)
		}
	}
}
