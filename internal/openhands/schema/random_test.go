package schema_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ohgw/ohgw/internal/openhands/jsonedit"
	"github.com/ohgw/ohgw/internal/openhands/schema"
)

// Values that differ from what the absence of the member means.
var (
	randomAgent = map[string][]string{
		"llm":           {`{"model":"openai/x","stream_idle_timeout":70}`, `{"model":"openai/x","reasoning_effort":"max"}`, `{"model":"openai/x","auth_type":"subscription"}`},
		"persona":       {`"p"`},
		"tools":         {`null`, `[]`, `[` + pinned + `]`, `[{"name":"glob","params":{"n":1.50}}]`, `[{"name":"ask_oracle","params":{}},{"name":"mine"},{"name":"switch_llm","params":{}}]`, `[{"name":"workflow","params":{}}]`, `[{"name":"ThinkTool","params":{}},{"name":"VisionInspectTool"},{"name":"glob"}]`},
		"condenser":     {`{"max_tokens":5}`, `{"keep_first":3}`},
		"agent_context": {`{"disabled_skills":["a"]}`, `{"load_memory":true}`},
		"mcp_config": {
			`{"s":{"url":"u","auth":{"strategy":"bearer","value":"t"}}}`, `{"s":{"url":"u","auth":{"strategy":"api_key","value":"k","header_name":"X"},"enabled":false}}`,
			`{"s":{"url":"u","auth":{"strategy":"basic","username":"u"}},"t":{"command":"c","env":{"A":"gAAAAABx"}}}`,
			`{"s":{"url":"u","auth":{"strategy":"oauth2","authentication":{"type":"oauth","client_id":"c"},"state":{"token_expires_at":1.50}}}}`,
		},
		"tool_concurrency_limit": {`3`},
		"acp_startup_timeout":    {`7.50`},
	}
	randomOthers = map[string][]string{
		"active_profile": {`"p"`}, "active_meta_profile": {`"m"`}, "misc_settings": {`{"a":1.50e0}`},
		"conversation_settings": {`{"schema_version":1,"max_iterations":5,"default_runtime":"docker"}`, `{"schema_version":1,"observability_tags":["a"]}`},
	}
	randomProfile = map[string][]string{
		"llm_profile_ref": {`"p"`}, "persona": {`"p"`}, "secret_refs": {`["A"]`}, "public_skills": {`[]`}, "meta_profile_ref": {`"m"`},
		"disabled_skills": {`["a"]`}, "enable_classify_and_switch_llm_tool": {`true`}, "acp_startup_timeout": {`7.50`},
		"tools": randomAgent["tools"],
	}
	randomLLM = map[string][]string{
		"stream_idle_timeout": {`70`}, "timeout": {`77`}, "reasoning_effort": {`"max"`, `"low"`},
		"auth_type": {`"subscription"`}, "api_mode": {`"responses"`}, "inline_image_urls": {`true`}, "api_key": {`"gAAAAABx"`}, "temperature": {`0.50`},
	}
	releases = []string{"1.21.0", "1.22.0", "1.24.0", "1.27.0", "1.28.0", "1.30.0", "1.31.0", "1.34.0", "1.37.0", "1.43.1", "1.48.0", "1.49.1", "1.51.0", "1.55.0", "1.56.0", "latest"}
)

// unknown is a member that no release knows, in a spelling of its own.
const unknown = `"mine" : [ 1.50e0, "\u00fc" ]`

// Settings that go down and up again have all that the oldest of the releases can hold.
// What changed was named on the way down. rapid prints the seed of a failure.
func TestSettingsThatGoDownAndUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		start := `{"schema_version":6,` + unknown + drawMembers(rt, randomOthers) + `,"agent_settings":{"schema_version":9,"agent_kind":"openhands",` + unknown + drawMembers(rt, randomAgent) + `}}`
		at := rapid.IntRange(0, len(releases)-1).Draw(rt, "low")
		low, walk := releases[at], walker{schema.Settings, 2}.walk
		down := walk(rt, start, low)
		up := walk(rt, text(down), rapid.SampledFrom(releases[at:]).Draw(rt, "up"))
		latest := walk(rt, text(up), "latest")
		again := walk(rt, text(latest), low)
		first, second := valueOf(rt, text(down)), valueOf(rt, text(again))
		if slices.ContainsFunc(down.Lost, func(l schema.Loss) bool { return l.Field == "agent_settings.tools" }) {
			// The way up makes the standard tools of a list that has become empty.
			delete(first["agent_settings"].(map[string]any), "tools")
			delete(second["agent_settings"].(map[string]any), "tools")
		}
		if diff := cmp.Diff(first, second); diff != "" {
			rt.Fatalf("%s: the first time down (-) and the second one (+):\n%s", low, diff)
		}
		before, after := valueOf(rt, start), valueOf(rt, text(latest))
		for name, value := range before {
			if name == "agent_settings" {
				for name, value := range value.(map[string]any) {
					named(rt, down, "agent_settings."+name, value, after["agent_settings"].(map[string]any)[name])
				}
			} else {
				named(rt, down, name, value, after[name])
			}
		}
	})
}

// The same with the files of profiles. Agents have lists of tools from 1.31
// on: below it the standard tools are made of every list.
func TestProfilesThatGoDownAndUp(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		convert convert
		oldest  string
		members map[string][]string
		start   string
	}{
		"agents": {schema.AgentProfile, "1.30.0", randomProfile, `"schema_version":4,"agent_kind":"openhands","name":"a","revision":2,`},
		"LLMs":   {schema.LLMProfile, "1.22.0", randomLLM, `"model":"openai/x",`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			releases := releases[slices.Index(releases, tt.oldest):]
			rapid.Check(t, func(rt *rapid.T) {
				start := `{` + tt.start + unknown + drawMembers(rt, tt.members) + `}`
				at := rapid.IntRange(0, len(releases)-1).Draw(rt, "low")
				low, walk := releases[at], walker{tt.convert, 1}.walk
				down := walk(rt, start, low)
				up := walk(rt, text(down), rapid.SampledFrom(releases[at:]).Draw(rt, "up"))
				latest := walk(rt, text(up), "latest")
				first, second := valueOf(rt, text(down)), valueOf(rt, text(walk(rt, text(latest), low)))
				if slices.ContainsFunc(down.Lost, func(l schema.Loss) bool { return strings.HasPrefix(l.Field, "tools") }) {
					delete(first, "tools") // as above
					delete(second, "tools")
				}
				if diff := cmp.Diff(first, second); diff != "" {
					rt.Fatalf("%s: the first time down (-) and the second one (+):\n%s", low, diff)
				}
				before, after := valueOf(rt, start), valueOf(rt, text(latest))
				for name, value := range before {
					named(rt, down, name, value, after[name])
				}
			})
		})
	}
}

// named fails if a member has changed that the way down has not named.
func named(t *rapid.T, down schema.Result, field string, before, after any) {
	if cmp.Equal(before, after) {
		return
	}
	for _, l := range down.Lost {
		if l.Field == field || strings.HasPrefix(l.Field, field+".") {
			return
		}
	}
	t.Fatalf("%s has changed and is not named: %v, then %v", field, before, after)
}

func drawMembers(t *rapid.T, from map[string][]string) string {
	var b strings.Builder
	for _, name := range rapid.Permutation(slices.Sorted(maps.Keys(from))).Draw(t, "order") {
		if rapid.Bool().Draw(t, name) {
			b.WriteString(`,"` + name + `":` + rapid.SampledFrom(from[name]).Draw(t, name+" value"))
		}
	}
	return b.String()
}

func text(r schema.Result) string { return string(r.Doc.Bytes()) }

// walker brings one kind of files to releases.
type walker struct {
	convert convert
	unknown int // members that no release knows
}

// walk brings the text to a release, and looks that unknown members keep their bytes.
func (w walker) walk(t *rapid.T, src, version string) schema.Result {
	to, err := schema.ParseRelease(version)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonedit.Parse([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	r, err := w.convert(doc, to)
	if err != nil {
		t.Fatalf("%s to %s: %v", src, version, err)
	}
	if n := bytes.Count(r.Doc.Bytes(), []byte(unknown)); n != w.unknown {
		t.Fatalf("%d unknown members in %s", n, r.Doc.Bytes())
	}
	return r
}

func valueOf(t *rapid.T, src string) map[string]any {
	var v map[string]any
	if err := json.Unmarshal([]byte(src), &v); err != nil {
		t.Fatal(err)
	}
	return v
}
