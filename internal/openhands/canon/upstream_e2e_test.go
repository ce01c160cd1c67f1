//go:build e2e

package canon_test

import (
	"encoding/json"
	mrand "math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ohgw/ohgw/internal/openhands/canon"
	"github.com/ohgw/ohgw/internal/testkit/agentservertest"
	"github.com/ohgw/ohgw/internal/testkit/sdktest"
)

// upstream applies OpenHands' own rule to a list of [model, base_url] and
// gives [model, base_url or null] or null where it raises.
const upstream = `
import json, sys
from openhands.sdk.llm.utils.openhands_provider import canonicalize_openhands_llm_payload as f
from openhands.sdk.llm.utils.verified_models import VERIFIED_MODELS
out = []
for model, url in json.load(open(sys.argv[1])):
    try:
        r = f({"model": model, "base_url": url})
        out.append([r["model"], r.get("base_url")])
    except ValueError:
        out.append(None)
print("RESULT" + json.dumps({"rows": out, "models": VERIFIED_MODELS["openhands"]}))
`

// OpenHands changes the same entries in the same way, and raises where we say
// that the URL is bad.
func TestUpstreamDecidesTheSame(t *testing.T) {
	random := mrand.New(mrand.NewPCG(9, 7))
	models := []string{
		"openhands/gpt-5.6", "openhands/", "litellm_proxy/" + current, "litellm_proxy/" + retired,
		"litellm_proxy/nobody", "litellm_proxy/", "anthropic/x", "OpenHands/x", "litellm_proxy", "gpt-5.5",
	}
	var cases [][2]string
	for range 20_000 {
		cases = append(cases, [2]string{models[random.IntN(len(models))], mutate(random)})
	}
	t.Setenv("OHGW_AGENT_SERVER_VERSION", agentservertest.Newest) // whose models are in models.json
	dir := t.TempDir()
	content, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "cases"), content, 0o600); err != nil {
		t.Fatal(err)
	}
	var theirs struct {
		Rows   []*[2]*string
		Models []string
	}
	if err := json.Unmarshal(sdktest.Result(t, sdktest.Run(t, dir, upstream, "cases")), &theirs); err != nil {
		t.Fatal(err)
	}
	list := canon.Embedded()
	counts := map[canon.Action]int{}
	for i, c := range cases {
		got := list.Decide(entry(c[0], text(c[1])))
		counts[got.Action]++
		switch row := theirs.Rows[i]; {
		case row == nil:
			if got.Action != canon.ErrorBadURL {
				t.Errorf("%q: OpenHands raises, we say %s", c, got.Action)
			}
		case got.Action == canon.ErrorBadURL:
			t.Errorf("%q: we say %s, OpenHands does not raise", c, got.Action)
		case *row[0] != got.Model || (row[1] == nil) != got.DropURL:
			t.Errorf("%q: OpenHands makes it %q (URL stays: %v), we %+v", c, *row[0], row[1] != nil, got)
		}
	}
	t.Logf("%v", counts)

	ours := list.Current()
	slices.Sort(ours)
	slices.Sort(theirs.Models)
	if diff := cmp.Diff(theirs.Models, ours); diff != "" {
		t.Errorf("list of models (-OpenHands +ours):\n%s", diff)
	}
}

func mutate(random *mrand.Rand) string {
	bases := []string{
		"https://llm-proxy.app.all-hands.dev", "https://llm-proxy.app.all-hands.dev/v1/", "http://[::1]:4000/v1",
		"https://[v1.a]/", "https://u:p@[fe80::1%25x]:1/", "https://proxy.example.com", "",
	}
	inserts := []rune("/?#:@[]%.v1 \t\n\r\x00\x1c\x1f\u0085\u00a0\u3000\u200b\u2100\uff0f\uff0eA;\\ſK")
	url := []rune(bases[random.IntN(len(bases))])
	for range random.IntN(4) {
		if len(url) == 0 {
			return ""
		}
		at := random.IntN(len(url) + 1)
		if random.IntN(3) == 0 {
			at = random.IntN(2) * len(url)
		}
		switch {
		case random.IntN(5) == 0 && at < len(url):
			url = append(url[:at:at], url[at+1:]...)
		default:
			url = append(url[:at:at], append([]rune{inserts[random.IntN(len(inserts))]}, url[at:]...)...)
		}
	}
	return string(url)
}
