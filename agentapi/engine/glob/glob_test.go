package glob_test

import (
	"strings"
	"testing"

	"github.com/ohgw/ohgw/agentapi/engine/glob"
)

func TestPatternsMatchPaths(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"*.go", "a.go", true},
		{"*.go", "x/y/a.go", true},
		{"*.go", "a.gox", false},
		{"src/*.go", "src/a.go", true},
		{"src/*.go", "src/x/a.go", false},
		{"src/**/*.go", "src/a.go", true},
		{"src/**/*.go", "src/x/y/a.go", true},
		{"**/test_?.py", "x/test_1.py", true},
		{"**/test_?.py", "x/test_12.py", false},
		{"*.{json,y{a,}ml}", "c.yaml", true},
		{"*.{json,y{a,}ml}", "c.yml", true},
		{"*.{json,y{a,}ml}", "c.toml", false},
		{"[a-c].txt", "b.txt", true},
		{"[!a-c].txt", "b.txt", false},
		{"[!a-c].txt", "d.txt", true},
		{"[]x].txt", "].txt", true},
		{`\[x\].txt`, "[x].txt", true},
		{"a+(b).txt", "a+(b).txt", true},
		{"a,b", "a,b", true},
		{"ä*", "x/äö", true},
	} {
		re, err := glob.Full(c.pattern)
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		} else if re.MatchString(c.path) != c.want {
			t.Errorf("%s matches %s: %v", c.pattern, c.path, !c.want)
		}
	}
}

func TestPlainPatternsHaveNoClasses(t *testing.T) {
	t.Parallel()
	re, err := glob.Plain("app/[id]/{a}.tsx")
	if err != nil || !re.MatchString("app/[id]/{a}.tsx") || re.MatchString("app/i/a.tsx") {
		t.Error(re, err)
	}
}

func TestPatternsThatCannotBe(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"{a", "[", "[a", "[!", "[z-a]", strings.Repeat("a", 5000)} {
		if re, err := glob.Full(pattern); err == nil {
			t.Errorf("%.20s is %s", pattern, re)
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("a{b,[c-d]}**/*.go", "a/b.go")
	f.Fuzz(func(_ *testing.T, pattern, path string) {
		if re, err := glob.Full(pattern); err == nil {
			re.MatchString(path)
		}
	})
}
