package chart_test

import (
	"bytes"
	"context"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/yaml"
)

const dir = "../../deploy/helm/ohgw"

var update = flag.Bool("update", false, "write the rendered charts into testdata/golden")

// kubernetes is the oldest version that the chart is for.
var kubernetes = common.KubeVersion{Version: "v1.30.0", Major: "1", Minor: "30"}

// cases are the files of values, by name.
func cases(t *testing.T) map[string]map[string]any {
	t.Helper()
	names, err := filepath.Glob("testdata/values/*.yaml")
	if err != nil || len(names) < 4 {
		t.Fatalf("files of values: %v, %v", names, err)
	}
	all := map[string]map[string]any{}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimSuffix(filepath.Base(name), ".yaml")] = parse(t, string(text))
	}
	return all
}

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	if err := yaml.UnmarshalStrict([]byte(text), &values); err != nil {
		t.Fatalf("values %q: %v", text, err)
	}
	return values
}

// render gives the documents of the chart by file.
func render(ctx context.Context, values map[string]any) (map[string]string, error) {
	c, err := loader.Load(dir)
	if err != nil {
		return nil, err
	}
	capabilities := common.DefaultCapabilities.Copy()
	capabilities.KubeVersion = kubernetes
	all, err := util.ToRenderValues(c, values, common.ReleaseOptions{Name: "ohgw", Namespace: "agents", Revision: 1, IsInstall: true}, capabilities)
	if err != nil {
		return nil, err
	}
	return engine.Engine{Strict: true}.RenderWithContext(ctx, c, all)
}

// documents are the rendered files in order, without those that are empty.
func documents(t *testing.T, values map[string]any) string {
	t.Helper()
	files, err := render(t.Context(), values)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		text := strings.TrimSpace(files[name])
		if strings.HasSuffix(name, ".txt") || strings.HasPrefix(filepath.Base(name), "_") || text == "" {
			continue
		}
		b.WriteString("---\n# " + name + "\n" + strings.TrimPrefix(text, "---\n") + "\n")
	}
	return b.String()
}

func TestTheChartRendersAsBefore(t *testing.T) {
	t.Parallel()
	for name, values := range cases(t) {
		got, path := documents(t, values), "testdata/golden/"+name+".yaml"
		if *update {
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s has changed; run (cd tools/chart && go test ./... -update) (-want +got):\n%s", path, diff)
		}
	}
}

func TestTheLinterFindsNothing(t *testing.T) {
	t.Parallel()
	for name, values := range cases(t) {
		found := lint.RunAll(dir, values, "agents", lint.WithKubeVersion(&kubernetes))
		for _, m := range found.Messages {
			if m.Severity > support.InfoSev {
				t.Errorf("values %s: %v", name, m)
			}
		}
	}
}

func TestWrongValuesAreRefused(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"replica: 3":        "replica",
		"replicas: 0":       "replicas",
		"drainSeconds: 10m": "drainSeconds",
		"state: {url: 'postgres://ohgw:secret@db/ohgw'}": "url",
		"state: {url: ''}": "state",
		"state: {session: 'postgres://ohgw:secret@db/ohgw'}":       "session",
		"migrate: {url: 'postgres://owner:secret@db/ohgw'}":        "url",
		"settings: {max_runs: '8'}":                                "max_runs",
		"settings: {OHGW_MAX_RUNS: 8}":                             "OHGW_MAX_RUNS",
		"settings: {OHGW_AGENT_SERVER_KEY: sk-1}":                  "OHGW_AGENT_SERVER_KEY",
		"settings: {OHGW_API_KEYS: sk-1}":                          "OHGW_API_KEYS",
		"agentServers: {urls: ['http://user:secret@agents:8000']}": "urls",
		"agents: {discovery: srv}":                                 "discovery",
		"agents: {enabled: false}":                                 "agentServers.urls",
		"ingress: {enabled: true}":                                 "set hosts",
	} {
		_, err := render(t.Context(), parse(t, text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("values {%s}: error %v, want one about %s", text, err, want)
		}
	}
}

// TestTheNotesNameACommand keeps the text after an installation to what the golden
// files cannot show.
func TestTheNotesNameACommand(t *testing.T) {
	t.Parallel()
	files, err := render(t.Context(), parse(t, "hosts: [agents.example.org]"))
	if err != nil {
		t.Fatal(err)
	}
	notes := files["ohgw/templates/NOTES.txt"]
	for _, part := range []string{"exec deployment/ohgw -- /usr/bin/ohgw tokens create", "http://ohgw.agents.svc:80/v1", "https://agents.example.org/v1"} {
		if !strings.Contains(notes, part) {
			t.Errorf("the notes have no %q:\n%s", part, notes)
		}
	}
	if regexp.MustCompile(`(?i)password|<no value>`).MatchString(notes) {
		t.Errorf("the notes show what they should not:\n%s", notes)
	}
}
