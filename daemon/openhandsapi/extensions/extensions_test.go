package extensions_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/control"
	"github.com/ohgw/ohgw/daemon/openhandsapi/extensions"
	"github.com/ohgw/ohgw/daemon/openhandsapi/wire"
	"github.com/ohgw/ohgw/internal/openhands"
)

// store has one plugin, good.
type store struct {
	extensions.Store

	from  control.Plugin
	force bool
}

var good = openhands.Extension{Name: "good", Enabled: true, Source: "/x", InstalledAt: "now", Path: "/there/good"}

func (s *store) Install(_ context.Context, from control.Plugin, force bool) (openhands.Extension, error) {
	s.from, s.force = from, force
	if !force {
		return openhands.Extension{}, &openhands.Error{Kind: openhands.Taken, Msg: "taken"}
	}
	return good, nil
}

func (s *store) List(context.Context) ([]openhands.Extension, error) {
	return []openhands.Extension{good}, nil
}

func (s *store) Get(name string) (openhands.Extension, error) {
	if name != "good" {
		return openhands.Extension{}, &openhands.Error{Kind: openhands.NotFound, Msg: "gone"}
	}
	return good, nil
}

func (s *store) Enable(_ context.Context, name string, _ bool) error {
	_, err := s.Get(name)
	return err
}

func (s *store) Remove(_ context.Context, name string) error {
	_, err := s.Get(name)
	return err
}

func (s *store) Refresh(_ context.Context, name string) (openhands.Extension, error) {
	return s.Get(name)
}

const (
	shownSkill  = `{"name":"good","version":"","description":"","enabled":true,"source":"/x","resolved_ref":null,"repo_path":null,"installed_at":"now","install_path":"/there/good"}`
	shownPlugin = `{"name":"good","version":"","description":"","enabled":true,"source":"/x","resolved_ref":null,"repo_path":null,"installed_at":"now","install_path":"/there/good","skills":[{"name":"s","description":null}],"files":["f"]}`
)

func TestAnswers(t *testing.T) {
	t.Parallel()
	plugins := &store{}
	mux := http.NewServeMux()
	for _, route := range extensions.Routes(extensions.Config{
		Plugins: plugins, Skills: &store{},
		Contents: func(dir string) (openhands.PluginInfo, bool) {
			return openhands.PluginInfo{Skills: []openhands.PluginSkill{{Name: "s"}}, Files: []string{"f"}}, dir == "/there/good"
		},
		Available: func(project string, own bool) []openhands.PluginInfo {
			if project == "" && !own {
				return nil
			}
			return []openhands.PluginInfo{{Name: project}}
		},
		Fetch: func(_ context.Context, from control.Plugin) (openhands.FetchedPlugin, error) {
			if code, ok := strings.CutPrefix(from.Source, "/fail/"); ok {
				return openhands.FetchedPlugin{}, &extensions.FetchError{Code: code, Msg: "It's " + code + "."}
			}
			return openhands.FetchedPlugin{Path: from.Source, Manifest: []byte(`{"name":"x"}`), Skills: []string{}, Commands: []string{}}, nil
		},
	}) {
		mux.Handle(route.Method+" "+route.Path, wire.Answer(slog.New(slog.DiscardHandler), route.Handle))
	}
	for _, try := range []struct {
		method, path, body string
		status             int
		want               string // a part of the answer
	}{
		{"POST", "/api/plugins/install", `{"source":"/x","force":true,"ref":"v1","repo_path":"a"}`, 200, shownPlugin},
		{"POST", "/api/plugins/install", `{"source":"/x"}`, 409, `{"detail":"taken"}`},
		{"POST", "/api/plugins/install", `{}`, 422, `"missing","loc":["body","source"]`},
		{"POST", "/api/plugins/install", `{"source":""}`, 422, `"string_too_short"`},
		{"POST", "/api/plugins/install", `{"source":1}`, 422, `{"detail":[{"type":"string_type","loc":["body","source"],"msg":"Input should be a valid string","input":1}]}`},
		{"POST", "/api/plugins/install", `{"source":null}`, 422, `"string_type"`},
		{"POST", "/api/plugins/install", `{"source":"/x","force":"odd"}`, 422, `"bool_parsing"`},
		{"GET", "/api/plugins/installed", ``, 200, `{"plugins":[` + shownPlugin + `]}`},
		{"GET", "/api/plugins/installed/good", ``, 200, shownPlugin},
		{"GET", "/api/plugins/installed/none", ``, 404, `{"detail":"gone"}`},
		{"GET", "/api/plugins/installed/UP", ``, 422, `"loc":["path","plugin_name"],"msg":"String should match pattern '^[a-z0-9]+(?:-[a-z0-9]+)*$'","input":"UP"`},
		{"PATCH", "/api/plugins/installed/good", `{"enabled":false}`, 200, `{"name":"good","enabled":false}`},
		{"PATCH", "/api/plugins/installed/good", `{}`, 422, `"missing"`},
		{"PATCH", "/api/plugins/installed/none", `{"enabled":true}`, 404, `gone`},
		{"DELETE", "/api/plugins/installed/good", ``, 200, `{"message":"Plugin 'good' uninstalled"}`},
		{"DELETE", "/api/plugins/installed/none", ``, 404, `gone`},
		{"POST", "/api/plugins/installed/good/refresh", ``, 200, `{"message":"Plugin 'good' updated","plugin":` + shownPlugin + `}`},
		{"POST", "/api/plugins/installed/none/refresh", ``, 404, `gone`},
		{"POST", "/api/skills/install", `{"source":"/x","force":true}`, 200, shownSkill},
		{"GET", "/api/skills/installed", ``, 200, `{"skills":[` + shownSkill + `]}`},
		{"GET", "/api/skills/installed/UP", ``, 422, `"loc":["path","skill_name"]`},
		{"POST", "/api/skills/installed/good/refresh", ``, 200, `{"message":"Skill 'good' updated","skill":` + shownSkill + `}`},
		{"POST", "/api/plugins", `{"load_user":false,"load_project":false,"project_dir":"/p"}`, 200, `{"plugins":[]}`},
		{"POST", "/api/plugins", `{"load_user":false,"project_dir":"/p"}`, 200, `"name":"/p"`},
		{"POST", "/api/plugins", `{"load_user":"odd"}`, 422, `"bool_parsing"`},
		{"POST", "/api/plugins/fetch", `{"source":"/a${X}","repo_path":"p","secrets":{"X":{"kind":"StaticSecret","value":"b"}}}`, 200, `{"path":"/ab","resolved_ref":null,"source":"/a${X}","repo_path":"p","manifest":{"name":"x"},"skills":[],"commands":[]}`},
		{"POST", "/api/plugins/fetch", `{"source":"/a${X:-b}"}`, 422, `{"detail":{"code":"missing_secret","message":"Missing secret: X"}}`},
		{"POST", "/api/plugins/fetch", `{"source":"/fail/ref_not_found"}`, 422, `{"detail":{"code":"ref_not_found","message":"It's ref_not_found."}}`},
		{"POST", "/api/plugins/fetch", `{"source":"/fail/${X}","secrets":{"X":{"value":"hunter2"}}}`, 422, `"message":"It's ****."`},
		{"POST", "/api/plugins/fetch", `{"source":"/fail/source_unavailable"}`, 502, `"exception":"502: {'code': 'source_unavailable', 'message': 'It\\'s source_unavailable.'}"`},
		{"POST", "/api/plugins/fetch", `{"source":"/fail/timeout"}`, 504, `"detail":"Internal Server Error"`},
		{"POST", "/api/plugins/fetch", `{"source":"/x","timeout":0}`, 422, `"greater_than_equal"`},
		{"POST", "/api/plugins/fetch", `{"source":"/x","timeout":601}`, 422, `"less_than_equal"`},
		{"POST", "/api/plugins/fetch", `{"source":"/x","secrets":1}`, 422, `"dict_type"`},
	} {
		req := httptest.NewRequestWithContext(t.Context(), try.method, try.path, strings.NewReader(try.body))
		rec := httptest.NewRecorder()
		mux.ServeHTTP(rec, req)
		if rec.Code != try.status || !strings.Contains(rec.Body.String(), try.want) {
			t.Errorf("%s %s %s: status = %d, body = %s, want %d %s", try.method, try.path, try.body, rec.Code, rec.Body, try.status, try.want)
		}
		if try.want == shownPlugin && try.method == "POST" && (plugins.from != control.Plugin{Source: "/x", Ref: "v1", Path: "a"} || !plugins.force) {
			t.Errorf("the plugin's source = %+v, forced = %t", plugins.from, plugins.force)
		}
	}
}
