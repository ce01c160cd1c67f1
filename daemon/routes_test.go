package daemon_test

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/daemon/daemontest"
	"github.com/ohgw/ohgw/daemon/openhandsapi"
	"github.com/ohgw/ohgw/daemon/openhandsapi/boxpool"
	"github.com/ohgw/ohgw/daemon/openhandsapi/live"
	"github.com/ohgw/ohgw/daemon/openhandsapi/logins"
	apiprobes "github.com/ohgw/ohgw/daemon/openhandsapi/probes"
	apisession "github.com/ohgw/ohgw/daemon/openhandsapi/session"
	"github.com/ohgw/ohgw/daemon/openhandsapi/settings"
	"github.com/ohgw/ohgw/daemon/openhandsapi/shell"
)

var update = flag.Bool("update", false, "write docs/routes.tsv again")

// docs/routes.tsv has the routes of both APIs on one screen.
func TestTheListOfRoutes(t *testing.T) {
	t.Parallel()
	const name = "../docs/routes.tsv"
	lines := []string{"api\tmethod\tpath\tsummary"}
	for _, route := range serve(t, daemontest.New()).daemon.Routes() {
		method, path, _ := strings.Cut(route, " ")
		if !slices.Contains([]string{"/{$}", "/health", "/healthz", "/readyz", "/metrics"}, path) {
			path = "/v1" + path
		}
		lines = append(lines, fmt.Sprintf("ohgw\t%s\t%s\t", method, strings.TrimSuffix(path, "{$}")))
	}
	native := openhandsapi.Over(openhandsapi.Parts{
		Boxes: boxpool.New(boxpool.Config{}), Logins: logins.New(logins.Config{}), Cookies: apisession.New(time.Now), Probes: apiprobes.Config{Now: time.Now},
		Commands: shell.New(shell.Config{Dir: t.TempDir(), Now: time.Now}), Events: live.New(live.Config{Now: time.Now}), Settings: settings.Config{Store: struct{ settings.Store }{}},
	})
	var theirs []string
	for _, route := range native.List() {
		theirs = append(theirs, fmt.Sprintf("OpenHands\t%s\t%s\t%s", route.Method, route.Path, route.Summary))
	}
	slices.SortFunc(theirs, func(a, b string) int {
		x, y := strings.Split(a, "\t"), strings.Split(b, "\t")
		return strings.Compare(x[2]+x[1], y[2]+y[1])
	})
	list := strings.Join(append(lines, theirs...), "\n") + "\n"
	if *update {
		if err := os.WriteFile(name, []byte(list), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), list); diff != "" {
		t.Errorf("docs/routes.tsv is not the list of routes; go test ./daemon -run TestTheListOfRoutes -update writes it\n%s", diff)
	}
}
